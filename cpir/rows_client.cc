// SPDX-License-Identifier: Apache-2.0
// Retrievals from one server: all queries are sent, one after the other, whatever the replies hold, so that a
// server which damages a reply is not told whose.
#include "cpir/rows_client.h"

#include <algorithm>
#include <new>
#include <utility>

#include "pirx/database/key_filter.h"
#include "src/base/constant_time.h"
#include "src/base/guarded.h"
#include "src/base/wanted_keys.h"
#include "src/database/stand_in.h"
#include "src/protocol/message.h"

namespace pirx::cpir {

class RowsRetrieval final : public Retrieval {
 public:
  RowsRetrieval(const RowsClient& client, std::span<const std::uint64_t> positions,
                const RetrieveOptions& options, Rng rng)
      : client_(client), options_(options), rng_(std::move(rng)), positions_(positions) {}
  RowsRetrieval(const RowsClient& client, database::KeyFilter filter, std::span<const std::string> keys,
                const RetrieveOptions& options, Rng rng)
      : client_(client), options_(options), rng_(std::move(rng)), filter_(std::move(filter)), keys_(keys) {}

  /// Where the slots or rows lie that are wanted.
  Result<void> locate(std::span<const std::uint64_t> slots_or_rows) {
    rows_ = SecretVector<database::Location>(slots_or_rows.size());
    for (std::size_t i = 0; i < slots_or_rows.size(); ++i) {
      PIRX_ASSIGN(rows_.expose()[i], client_.locate(slots_or_rows[i]));
    }
    return {};
  }

  /// The rows that are added up for a key.
  static constexpr std::size_t kEach = std::tuple_size_v<decltype(database::KeyFilter::Place::rows)>;

 private:
  Result<std::vector<Request>> next() override {
    std::vector<Request> requests;
    if (failed_ || replies_.size() == rows_.size() * client_.rows_each()) return requests;
    // Whatever is wanted. After the first query nothing is fetched any more.
    if (replies_.empty()) fetch_ = client_.fetch();
    if (fetch_) {
      requests.push_back({0, std::move(fetch_->message), fetch_->reply_bytes});
    } else if (upload_ != nullptr) {
      requests.push_back({0, *upload_, client_.reply_bytes()});
    } else {
      PIRX_ASSIGN(auto asked, client_.query(row_of(replies_.size()), rng_, options_.stop));
      secret_ = std::move(asked.secret);
      requests.push_back({0, std::move(asked.message), client_.reply_bytes()});
    }
    return requests;
  }
  /// The row that query number i asks for.
  std::uint64_t row_of(std::size_t i) const {
    const auto each = static_cast<std::size_t>(client_.rows_each());
    return rows_.expose()[i / each].row + i % each;
  }
  Result<void> take(std::size_t, ByteSpan reply) override {
    if (fetch_) {
      auto taken = std::exchange(fetch_, std::nullopt)->take(reply);
      if (!taken) failed_ = of_reply(taken.error());
      return taken;
    }
    if (upload_ != nullptr) {
      upload_ = nullptr;
      auto held = client_.check_held(reply);
      // The other queries are sent all the same: a server must not learn which reply was wrong.
      if (!held && !refused_) refused_ = of_reply(held.error());
      return held;
    }
    // A server may forget what it was sent, but not for ever.
    if (uploads_ < kMostUploads) upload_ = client_.lacking(reply);
    if (upload_ != nullptr) {
      ++uploads_;
      return {};
    }
    try {
      replies_.emplace_back(reply.begin(), reply.end());
      secrets_.push_back(std::move(secret_));
    } catch (const std::bad_alloc&) {
      failed_ = Error(ErrorCode::kResourceExhausted, "no memory for a reply");
    }
    return {};
  }
  void miss(std::size_t, const Error& why) override { failed_ = of_reply(why); }
  Result<Answer> conclude() override {
    return guarded([this] { return read_replies(); }, "no memory to decode the replies");
  }
  Result<Answer> read_replies() {
    if (failed_) return tl::unexpected(*failed_);
    if (refused_) return tl::unexpected(*refused_);
    const auto& geometry = client_.geometry();
    const bool keyed = filter_.has_value();
    const auto bytes = static_cast<std::size_t>(keyed ? geometry.row_bytes() : geometry.slot_bytes());
    std::vector<SecretVector<std::byte>> found;
    const auto each = static_cast<std::size_t>(client_.rows_each());
    std::optional<Error> wrong;
    // Callers act on an error, which the server may see. So what a reply's header says, which the server
    // knows, is not hidden by another reply that could not be decrypted, which the server may have chosen row
    // by row.
    const auto weight = [](const Error& error) {
      return error.code() == ErrorCode::kStaleEpoch ? 2 : error.code() == ErrorCode::kUndecodable ? 0 : 1;
    };
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      SecretVector<std::byte> rows;
      for (std::size_t j = i * each; j < (i + 1) * each; ++j) {
        auto row = client_.decode(row_of(j), std::move(secrets_[j]), replies_[j], options_.stop);
        if (!row) {
          if (!wrong || weight(row.error()) > weight(*wrong)) wrong = row.error();
          continue;
        }
        if (each == 1) {
          rows = std::move(*row);
          continue;
        }
        if (rows.size() == 0) rows = SecretVector<std::byte>(each * row->size());
        std::copy(row->expose().begin(), row->expose().end(),
                  rows.expose().subspan(j % each * row->size()).begin());
      }
      if (!wrong) cut_out(rows.expose(), rows_.expose()[i].offset, found.emplace_back(bytes).expose());
    }
    if (wrong) return tl::unexpected(of_reply(*wrong));
    PIRX_ASSIGN(auto records, keyed ? read_sums(found) : read_slots(found));
    Answer answer;
    answer.responders = 1;
    answer.servers = {ServerStatus::kOk};
    // What one reply can prove: nothing. A digest shows damage.
    const bool checked = geometry.spec().digests || options_.believe;
    if (checked && speaks_for(options_.believe, records)) answer.certainty = Certainty::kProbable;
    answer.set_records(std::move(records));
    return answer;
  }

  Result<Records> read_slots(const std::vector<SecretVector<std::byte>>& slots) const {
    PIRX_TRY(database::check_in_range(positions_.expose(), client_.geometry()));
    Records records;
    for (std::size_t i = 0; i < slots.size(); ++i) {
      PIRX_ASSIGN(const auto record, client_.geometry().read_slot(positions_.expose()[i], slots[i].expose()));
      records.emplace_back(Bytes(record.begin(), record.end()));
    }
    return records;
  }
  Result<Records> read_sums(std::vector<SecretVector<std::byte>>& rows) const {
    Records records;
    for (std::size_t i = 0; i < keys_.size(); ++i) {
      const auto sum = rows[i * kEach].expose();
      for (std::size_t j = 1; j < kEach; ++j) {
        const auto row = rows[i * kEach + j].expose();
        for (std::size_t b = 0; b < sum.size(); ++b) sum[b] ^= row[b];
      }
      PIRX_ASSIGN(records.emplace_back(), filter_->read(keys_[i], sum));
    }
    return records;
  }

  const RowsClient& client_;
  const RetrieveOptions options_;
  Rng rng_;
  const SecretVector<std::uint64_t> positions_;
  const std::optional<database::KeyFilter> filter_;
  const WantedKeys keys_;
  SecretVector<database::Location> rows_;
  std::vector<Bytes> replies_;
  std::unique_ptr<QuerySecret> secret_;                ///< of the query that was sent last
  std::vector<std::unique_ptr<QuerySecret>> secrets_;  ///< of those that were answered
  std::optional<RowsClient::Fetch> fetch_;             ///< what was asked for last
  const Bytes* upload_ = nullptr;  ///< what the server lacks and gets before the query is asked again
  static constexpr unsigned kMostUploads = 2;
  unsigned uploads_ = 0;
  std::optional<Error> refused_;  ///< what was uploaded
  std::optional<Error> failed_;
};

Result<std::unique_ptr<Retrieval>> RowsClient::retrieve(std::span<const std::uint64_t> positions,
                                                        const RetrieveOptions& options, Rng rng) const {
  return guarded([&]() -> Result<std::unique_ptr<Retrieval>> {
    PIRX_TRY(check_wishes(positions.size()));
    PIRX_TRY(check_one_server(options));
    PIRX_TRY(database::check_by_position(geometry()));
    auto retrieval = std::make_unique<RowsRetrieval>(*this, positions, options, std::move(rng));
    PIRX_TRY(retrieval->locate(database::with_stand_ins(positions, geometry()).expose()));
    return retrieval;
  });
}

Result<std::unique_ptr<Retrieval>> RowsClient::retrieve(std::span<const std::string> keys,
                                                        const RetrieveOptions& options, Rng rng) const {
  return guarded([&]() -> Result<std::unique_ptr<Retrieval>> {
    PIRX_TRY(check_wishes(keys.size()));
    PIRX_TRY(check_one_server(options));
    PIRX_ASSIGN(const auto filter, database::KeyFilter::create(geometry()));
    SecretVector<std::uint64_t> rows(keys.size() * RowsRetrieval::kEach);
    for (std::size_t i = 0; i < keys.size(); ++i) {
      const auto place = filter.place(keys[i]);
      std::copy(place.rows.begin(), place.rows.end(),
                rows.expose().subspan(i * RowsRetrieval::kEach, RowsRetrieval::kEach).begin());
    }
    auto retrieval = std::make_unique<RowsRetrieval>(*this, filter, keys, options, std::move(rng));
    PIRX_TRY(retrieval->locate(rows.expose()));
    return retrieval;
  });
}

}  // namespace pirx::cpir
