// SPDX-License-Identifier: Apache-2.0
// Retrievals of the protocols of this folder: queries to all servers, and more of them while liars are not
// told apart.
#include <algorithm>

#include "client_messages.h"
#include "client_plan.h"
#include "pirx/database/key_filter.h"
#include "pirx/itpir/vertical.h"
#include "src/base/guarded.h"
#include "src/base/wanted_keys.h"
#include "src/database/stand_in.h"

namespace pirx::itpir {
namespace {

/// As many as unique decoding corrects, and at least one where one can be noticed at all.
unsigned default_liars(const SharesClient& client) {
  const unsigned redundant = client.servers() - client.needed();
  return std::max(redundant / 2, std::min(redundant, 1u));
}

struct RetrievingClient final : AnyClient {
  RetrievingClient(std::shared_ptr<const SharesClient> of, std::optional<VerticalClient> buckets)
      : own(std::move(of)), vertical(std::move(buckets)), client(vertical ? vertical->client() : *own) {}
  Result<std::unique_ptr<Retrieval>> retrieve(std::span<const std::uint64_t> positions,
                                              const RetrieveOptions& options, Rng rng) const override;
  Result<std::unique_ptr<Retrieval>> retrieve(std::span<const std::string> keys,
                                              const RetrieveOptions& options, Rng rng) const override;

  std::shared_ptr<const SharesClient> own;  ///< if there is no code
  std::optional<VerticalClient> vertical;   ///< if there is a code
  const SharesClient& client;               ///< of the two, the one that there is
};

/// Rounds of queries for the same wishes, decoded together. Derived classes know the wishes.
class SharesRetrieval : public Retrieval {
 public:
  SharesRetrieval(const SharesClient& client, const RetrieveOptions& options, Rng rng)
      : client_(client),
        options_(options),
        liars_(options.liars.value_or(default_liars(client))),
        rng_(std::move(rng)) {}

 protected:
  const SharesClient& client() const { return client_; }
  const RetrieveOptions& options() const { return options_; }
  Rng& rng() { return rng_; }
  virtual Result<Query> query() = 0;
  virtual std::uint64_t reply_bytes() const = 0;
  /// Makes records of what is found (DecodeOptions::read), and whether that checks digests.
  virtual ReadRecords reader() const { return {}; }
  virtual bool reader_checks() const { return false; }
  /// An error if the queries were for others than the wishes.
  virtual Result<void> check_wanted() const { return {}; }

 private:
  Result<std::vector<Request>> next() override {
    if (collector_) {
      // Errors of more than t servers may depend on the wish, for example if they answer from a database of
      // which they changed some rows. So what errors are like must not show in the number of rounds: there is
      // one if few servers lied, as one query tells them apart whatever they do, and otherwise there are all.
      if (round_ == 1) {
        const auto decoded = collector_->decode();
        // Out of time counts as nobody told apart: the number of rounds must not show how long decoding took.
        const bool late = !decoded && decoded.error().code() == ErrorCode::kUndecodable;
        if (!decoded && !late) return tl::unexpected(decoded.error());
        const auto spare = usable_ - std::min<std::size_t>(usable_, client_.needed());
        asks_again_ =
            decoded && decoded->status == DecodeStatus::kOk ? decoded->accused > spare / 2 : spare >= 2;
      }
      if (!asks_again_ || round_ >= options_.rounds.value_or(kUsualRounds)) return std::vector<Request>();
    }
    PIRX_ASSIGN(auto query, this->query());
    if (collector_) {
      PIRX_TRY(collector_->ask_again(std::move(query.state)));
    } else {
      collector_ = client_.collect(std::move(query.state), {options_.liars, reader(), reader_checks(),
                                                            options_.believe, options_.stop});
    }
    ++round_;
    usable_ = locked_out_ = 0;
    std::vector<Request> requests;
    for (std::size_t i = 0; i < query.requests.size(); ++i) {
      requests.push_back({i, std::move(query.requests[i]), reply_bytes()});
    }
    return requests;
  }
  Result<void> take(std::size_t server, ByteSpan reply) override {
    PIRX_TRY(collector_->add(server, reply));
    ++usable_;
    return {};
  }
  void miss(std::size_t server, const Error& why) override {
    if (why.code() == ErrorCode::kUnauthenticated) ++locked_out_;
    collector_->set_missing(server, status_of(why));
  }
  bool enough() const override { return !options_.wait_for_all && collector_->settled(liars_); }
  Result<Answer> conclude() override {
    auto answer = std::move(*collector_).finish();
    if (answer) {
      PIRX_TRY(check_wanted());
      // A fingerprint that fits is evidence; one that does not is none.
      if (!answer->missing.empty() && answer->certainty == Certainty::kProbable) {
        answer->certainty = Certainty::kUnverified;
      }
      return answer;
    }
    if (answer.error().code() != ErrorCode::kUndecodable || usable_ >= client_.needed() ||
        usable_ + locked_out_ < client_.needed()) {
      return answer;
    }
    return too_few_trust(usable_, client_.servers(), client_.needed(), locked_out_);
  }

  const SharesClient& client_;
  const RetrieveOptions options_;
  const unsigned liars_;
  Rng rng_;
  std::unique_ptr<ReplyCollector> collector_;
  unsigned round_ = 0;
  bool asks_again_ = false;
  std::size_t usable_ = 0, locked_out_ = 0;  // in the last round: usable replies; servers that we do not
                                             // trust or that do not trust us
};

class ByPosition final : public SharesRetrieval {
 public:
  ByPosition(const SharesClient& client, std::span<const std::uint64_t> positions,
             const RetrieveOptions& options, Rng rng)
      : SharesRetrieval(client, options, std::move(rng)),
        positions_(positions),
        asked_(database::with_stand_ins(positions, client.geometry())) {}

 private:
  Result<Query> query() override { return client().query(asked_.expose(), rng()); }
  std::uint64_t reply_bytes() const override { return client().reply_bytes(positions_.size()); }
  Result<void> check_wanted() const override {
    return database::check_in_range(positions_.expose(), client().geometry());
  }
  const SecretVector<std::uint64_t> positions_;
  SecretVector<std::uint64_t> asked_;
};

/// By position from the buckets of a vertical batch code.
class FromBuckets final : public SharesRetrieval {
 public:
  FromBuckets(const VerticalClient& vertical, std::span<const std::uint64_t> positions,
              VerticalClient::Wish wish, Result<void> planned, const RetrieveOptions& options, Rng rng)
      : SharesRetrieval(vertical.client(), options, std::move(rng)),
        vertical_(vertical),
        positions_(positions),
        wish_(std::move(wish)),
        planned_(std::move(planned)) {}

 private:
  Result<Query> query() override { return client().query(wish_.rows(), rng()); }
  std::uint64_t reply_bytes() const override { return client().reply_bytes(wish_.rows().size()); }
  ReadRecords reader() const override {
    return [this](std::size_t, std::span<const Bytes> rows) { return vertical_.records(wish_, rows); };
  }
  bool reader_checks() const override { return vertical_.layout().plain.spec().digests; }
  Result<void> check_wanted() const override {
    PIRX_TRY(database::check_in_range(positions_.expose(), vertical_.layout().plain));
    return planned_;
  }
  const VerticalClient& vertical_;
  const SecretVector<std::uint64_t> positions_;
  const VerticalClient::Wish wish_;
  const Result<void> planned_;  ///< the error, if wish_ is for other records
};

/// By key: the slots of a key's column in three rows, which add up to its record.
class ByKey final : public SharesRetrieval {
 public:
  ByKey(const SharesClient& client, database::KeyFilter filter, std::span<const std::string> keys,
        const RetrieveOptions& options, Rng rng)
      : SharesRetrieval(client, options, std::move(rng)),
        filter_(std::move(filter)),
        keys_(keys),
        rows_(keys.size()),
        offsets_(keys.size()) {
    for (std::size_t i = 0; i < keys.size(); ++i) {
      const auto place = filter_.place(keys[i]);
      rows_.expose()[i] = place.rows;
      offsets_.expose()[i] = place.offset;
    }
  }

 private:
  Result<Query> query() override {
    return client().query_sums(std::as_const(rows_).expose(), rng(), std::as_const(offsets_).expose());
  }
  std::uint64_t reply_bytes() const override {
    return client().reply_bytes(keys_.size(), QueryKind::kRowSums);
  }
  ReadRecords reader() const override {
    return [this](std::size_t first, std::span<const Bytes> slots) -> Result<Records> {
      Records records;
      for (std::size_t i = 0; i < slots.size(); ++i) {
        PIRX_ASSIGN(records.emplace_back(), filter_.read_slot(keys_[first + i], slots[i]));
      }
      return records;
    };
  }
  bool reader_checks() const override { return true; }
  const database::KeyFilter filter_;
  const WantedKeys keys_;
  SecretVector<std::array<std::uint64_t, kSummedRows>> rows_;
  SecretVector<std::uint64_t> offsets_;  ///< of the keys' slots in these rows
};

Result<void> check_options(const SharesClient& client, const RetrieveOptions& options) {
  const unsigned redundant = client.servers() - client.needed();
  if (options.liars && *options.liars > redundant) {
    return invalid("of " + std::to_string(client.servers()) + " servers, of which " +
                   std::to_string(client.needed()) + " must answer, at most " + std::to_string(redundant) +
                   " liars can be noticed, not " + std::to_string(*options.liars));
  }
  if (options.rounds && (*options.rounds < 1 || *options.rounds > kMaxRounds)) {
    return invalid("rounds are 1 to " + std::to_string(kMaxRounds));
  }
  return {};
}

Result<std::unique_ptr<Retrieval>> RetrievingClient::retrieve(std::span<const std::uint64_t> positions,
                                                              const RetrieveOptions& options, Rng rng) const {
  return guarded([&]() -> Result<std::unique_ptr<Retrieval>> {
    PIRX_TRY(check_wishes(positions.size()));
    PIRX_TRY(check_options(client, options));
    if (!vertical) {
      PIRX_TRY(database::check_by_position(client.geometry()));
      return std::make_unique<ByPosition>(client, positions, options, std::move(rng));
    }
    const auto asked = database::with_stand_ins(positions, vertical->layout().plain);
    auto wish = vertical->plan(asked.expose());
    Result<void> planned;
    if (!wish) {  // Servers must not see that there is no plan for these records: ask for others.
      planned = tl::unexpected(wish.error());
      wish = vertical->stand_in(positions.size());
    }
    if (!wish) return tl::unexpected(wish.error());
    return std::make_unique<FromBuckets>(*vertical, positions, std::move(*wish), std::move(planned), options,
                                         std::move(rng));
  });
}

Result<std::unique_ptr<Retrieval>> RetrievingClient::retrieve(std::span<const std::string> keys,
                                                              const RetrieveOptions& options, Rng rng) const {
  return guarded([&]() -> Result<std::unique_ptr<Retrieval>> {
    PIRX_TRY(check_wishes(keys.size()));
    PIRX_TRY(check_options(client, options));
    PIRX_ASSIGN(auto filter, database::KeyFilter::create(client.geometry()));
    return std::make_unique<ByKey>(client, std::move(filter), keys, options, std::move(rng));
  });
}

}  // namespace

Result<std::unique_ptr<AnyClient>> make_shares_client(const SharesPlan::Spec& spec,
                                                      const ClientOptions& options) {
  if (spec.code.empty()) {
    PIRX_ASSIGN(auto client, spec.client(spec.geometry, spec.version, options));
    return std::make_unique<RetrievingClient>(std::move(client), std::nullopt);
  }
  PIRX_ASSIGN(auto vertical,
              VerticalClient::create(spec.code, spec.geometry, spec.version, spec.client, options));
  return std::make_unique<RetrievingClient>(nullptr, std::move(vertical));
}

}  // namespace pirx::itpir
