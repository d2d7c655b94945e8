// SPDX-License-Identifier: Apache-2.0
// The client half of Chor's protocol: makes requests, and adds up all replies.
#include "pirx/itpir/chor/client.h"

#include <algorithm>

#include "client_impl.h"
#include "itpir/client_messages.h"

namespace pirx::itpir::chor {
namespace {

struct State final : ClientState {
  State(std::shared_ptr<const Params> of, Wishes wanted) : params(std::move(of)), wishes(std::move(wanted)) {}
  std::shared_ptr<const Params> params;
  Wishes wishes;
};

class Collector final : public ReplyCollector {
 public:
  Collector(State state, DecodeOptions options)
      : state_(std::move(state)),
        options_(std::move(options)),
        status_(state_.params->servers(), ServerStatus::kSilent) {}

  Result<void> add(std::size_t server, ByteSpan reply) override {
    const auto& spec = state_.params->spec();
    const MessageHeader expected{{},
                                 kTagGf2,
                                 spec.version,
                                 0,
                                 static_cast<std::uint32_t>(state_.wishes.size()),
                                 spec.geometry.row_bytes(),
                                 ProtocolId::kChor};
    PIRX_ASSIGN(const auto body, take_reply(status_, spec.coordinates, server, reply, expected, 1));
    if (sum_.size() == 0) sum_ = SecretVector<std::byte>(body.size());
    const auto sum = sum_.expose();
    for (std::size_t k = 0; k < sum.size(); ++k) sum[k] ^= body[k];
    status_[server] = ServerStatus::kOk;
    ++replied_;
    return {};
  }
  void set_missing(std::size_t server, ServerStatus why) override { note_missing(status_, server, why); }
  /// Replies cannot show who lies, so `liars` has no effect.
  bool settled(unsigned /*liars*/) const override { return replied_ == status_.size(); }
  Result<DecodeReport> decode() override {
    DecodeReport report;
    report.status = settled(0) ? DecodeStatus::kOk : DecodeStatus::kFailed;
    return report;
  }
  Result<void> ask_again(std::unique_ptr<ClientState>) override {
    return invalid("Chor's protocol cannot tell liars apart, however often it asks: begin again");
  }

  Result<Answer> finish() && override {
    if (!settled(0)) {
      const bool moved = std::count(status_.begin(), status_.end(), ServerStatus::kStaleEpoch) > 0;
      return too_few_replies(status_, "Chor's protocol needs all of them", moved);
    }
    auto records = cut_records();
    if (!records || (options_.check && !options_.check(*records))) {
      return fail(ErrorCode::kDataLoss,
                  "a record is wrong: a server lied, or its database is corrupt (run pirx db verify there). "
                  "Chor's protocol cannot tell which one: others correct liars and name them");
    }
    Answer answer;
    answer.records = std::move(*records);
    const bool digests = sums() ? options_.sums.has_value() : geometry().spec().digests;
    const bool checked = digests || options_.check || options_.evidence;
    const bool evident = checked && speaks_for(options_, state_.wishes.kind, answer.records);
    answer.certainty = evident ? Certainty::kProbable : Certainty::kUnverified;
    answer.responders = static_cast<unsigned>(replied_);
    answer.servers = status_;
    return answer;
  }

 private:
  const database::Geometry& geometry() const { return state_.params->spec().geometry; }
  bool sums() const { return state_.wishes.kind == QueryKind::kRowSums; }

  Result<std::vector<Bytes>> cut_records() const {
    if (!sums()) return read_records(geometry(), state_.wishes.indices.expose(), sum_.expose());
    const auto row_bytes = static_cast<std::size_t>(geometry().row_bytes());
    std::vector<Bytes> slots;
    for (std::size_t i = 0; i < state_.wishes.size(); ++i) {
      const auto [offset, size] = slot_of_sum(geometry(), options_, i);
      const auto slot = sum_.expose().subspan(i * row_bytes + static_cast<std::size_t>(offset),
                                              static_cast<std::size_t>(size));
      slots.emplace_back(slot.begin(), slot.end());
    }
    return slots;
  }

  State state_;
  DecodeOptions options_;
  std::vector<ServerStatus> status_;
  std::size_t replied_ = 0;
  SecretVector<std::byte> sum_;  ///< of the replies: row_bytes() for each query
};

/// The rows to ask for.
Result<SecretVector<std::uint64_t>> rows_of(const Wishes& wishes, const database::Geometry& geometry) {
  SecretVector<std::uint64_t> rows(wishes.indices.expose());
  std::uint64_t outside = 0;
  for (auto& row : rows.expose()) {
    if (wishes.kind == QueryKind::kRecords) {
      PIRX_ASSIGN(const auto location, geometry.locate(row));
      row = location.row;
    } else {
      outside |= ~mask_less(row, geometry.rows());
    }
  }
  if (!reveal(outside)) return rows;
  return fail(ErrorCode::kOutOfRange,
              "there is no such row: the database has " + std::to_string(geometry.rows()) + " rows");
}

}  // namespace

Result<Params> Params::create(Spec spec) {
  PIRX_TRY(allowed_cpu_features());  // an engine has no way to refuse a wrong PIRX_FORCE_ISA
  const auto l = spec.coordinates.size();
  if (l < 2) {
    return invalid("Chor's protocol needs at least two servers, not " + std::to_string(l) +
                   ": a single one would see what is asked for");
  }
  if (l > kMaxServers) {
    return invalid(std::to_string(l) + " servers are too many: at most " + std::to_string(kMaxServers));
  }
  std::vector<std::uint64_t> sorted = spec.coordinates;
  std::sort(sorted.begin(), sorted.end());
  if (sorted.front() == 0) return invalid("a server has coordinate 0: give every server another number");
  const auto twin = std::adjacent_find(sorted.begin(), sorted.end());
  if (twin != sorted.end()) {
    return invalid("two servers have coordinate " + std::to_string(*twin) + ": every server needs its own");
  }
  PIRX_TRY(check_sizes(spec.geometry.rows(), spec.geometry.row_bytes()));
  return Params(std::move(spec));
}

Client::Client(Params params, const ClientOptions& options)
    : params_(std::make_shared<const Params>(std::move(params))), options_(options) {}

MessageSizes Client::sizes(std::size_t wishes, QueryKind) const {
  return {message_bytes(wishes, bit_bytes(geometry().rows()), 1),
          message_bytes(wishes, geometry().row_bytes(), 1)};
}

Result<Query> Client::make_query(Wishes wishes, Rng& rng) const {
  PIRX_TRY(check_query_size(wishes.size(), wishes.size(), sizes(wishes.size(), wishes.kind)));
  PIRX_ASSIGN(const auto rows, rows_of(wishes, geometry()));
  PIRX_ASSIGN(auto requests, make_requests(params_->spec(), options_.seeded, rows.expose(),
                                           rows.size() / wishes.size(), rng));
  return Query{std::move(requests), std::make_unique<State>(params_, std::move(wishes))};
}

std::unique_ptr<ReplyCollector> Client::make_collector(std::unique_ptr<ClientState> state,
                                                       DecodeOptions options) const {
  auto* own = dynamic_cast<State*>(state.get());
  PIRX_CHECK(own != nullptr);
  return std::make_unique<Collector>(std::move(*own), std::move(options));
}

}  // namespace pirx::itpir::chor
