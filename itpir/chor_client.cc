// The client half of Chor's protocol: makes requests, and adds up all replies.
#include <algorithm>

#include "check_messages.h"
#include "chor_client_impl.h"
#include "src/base/constant_time.h"
#include "wishes.h"

namespace pirx::itpir {

Result<ChorParams> ChorParams::create(Spec spec) {
  PIRX_TRY(check_chor_deployment(spec.geometry, spec.coordinates));
  return ChorParams(std::move(spec));
}

ChorClient::ChorClient(ChorParams params) : params_(std::make_shared<const ChorParams>(std::move(params))) {}

std::uint64_t ChorClient::request_bytes(std::size_t wishes, std::size_t server) const {
  const bool seeds = params_->seeded() && server + 1 < params_->servers();
  return message_bytes(wishes, seeds ? kSeedBytes : bit_bytes(params_->geometry().rows()), 1);
}

std::uint64_t ChorClient::reply_bytes(std::size_t wishes) const {
  return message_bytes(wishes, params_->geometry().row_bytes(), 1);
}

Result<std::vector<Bytes>> ChorClient::make_requests(std::span<const std::uint64_t> rows, std::size_t ones,
                                                     Rng& rng) const {
  const std::size_t n = rows.size() / ones;
  if (n == 0) return fail(ErrorCode::kInvalidArgument, "a query needs at least one record to ask for");
  if (n > kMaxQueriesPerRequest) {
    return fail(ErrorCode::kInvalidArgument, std::to_string(n) +
                                                 " records in one query are too many: at most " +
                                                 std::to_string(kMaxQueriesPerRequest) + ", ask in several");
  }
  const auto bytes =
      std::max({request_bytes(n, 0), request_bytes(n, params_->servers() - 1), reply_bytes(n)});
  if (bytes > kMaxMessageBytes) {
    return fail(ErrorCode::kResourceExhausted,
                std::to_string(n) + " records in one query take messages of " + std::to_string(bytes) +
                    " bytes, the limit is " + std::to_string(kMaxMessageBytes) + ": ask for fewer at a time");
  }
  return chor_requests(params_->spec(), rows, ones, rng);
}

Result<ChorQuery> ChorClient::query(std::span<const std::uint64_t> records, Rng& rng) const {
  SecretVector<std::uint64_t> rows(records.size());
  for (std::size_t i = 0; i < records.size(); ++i) {
    PIRX_ASSIGN(const auto location, params_->geometry().locate(records[i]));
    rows.expose()[i] = location.row;
  }
  PIRX_ASSIGN(auto requests, make_requests(std::as_const(rows).expose(), 1, rng));
  return ChorQuery{std::move(requests),
                   ChorState(params_, QueryKind::kRecords, SecretVector<std::uint64_t>(records))};
}

Result<ChorQuery> ChorClient::query_sums(std::span<const std::array<std::uint64_t, kSummedRows>> rows,
                                         Rng& rng) const {
  SecretVector<std::uint64_t> all(rows.size() * kSummedRows);
  std::uint64_t outside = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::uint64_t row = rows[i / kSummedRows][i % kSummedRows];
    outside |= ~mask_less(row, params_->geometry().rows());
    all.expose()[i] = row;
  }
  if (reveal(outside)) {
    return fail(ErrorCode::kOutOfRange, "there is no such row: the database has " +
                                            std::to_string(params_->geometry().rows()) + " rows");
  }
  PIRX_ASSIGN(auto requests, make_requests(std::as_const(all).expose(), kSummedRows, rng));
  return ChorQuery{std::move(requests), ChorState(params_, QueryKind::kRowSums, std::move(all))};
}

ChorCollector ChorClient::collect(ChorState&& state, DecodeOptions options) const {
  PIRX_CHECK(state.params_ != nullptr);
  // The deployment that the query was made for, should it be another client's.
  return {std::move(state), std::move(options)};
}

Result<Answer> ChorClient::decode(ChorState&& state, std::span<const std::optional<Bytes>> replies,
                                  DecodeOptions options) const {
  if (replies.size() > params_->servers()) {
    return fail(ErrorCode::kInvalidArgument, std::to_string(replies.size()) + " replies for " +
                                                 std::to_string(params_->servers()) + " servers");
  }
  auto collector = collect(std::move(state), std::move(options));
  for (std::size_t server = 0; server < replies.size(); ++server) {
    // A bad reply counts as missing; finish() reports it.
    if (replies[server]) static_cast<void>(collector.add(server, *replies[server]));
  }
  return std::move(collector).finish();
}

ChorCollector::ChorCollector(ChorState&& state, DecodeOptions options)
    : params_(std::move(state.params_)),
      kind_(state.kind_),
      indices_(std::move(state.indices_)),
      queries_(indices_.size() / (kind_ == QueryKind::kRowSums ? kSummedRows : 1)),
      options_(std::move(options)),
      status_(params_->servers(), ServerStatus::kSilent) {}

Result<void> ChorCollector::add(std::size_t server, ByteSpan reply) {
  if (server >= status_.size()) {
    return fail(ErrorCode::kInvalidArgument,
                "there is no server " + std::to_string(server) + " in this deployment");
  }
  if (status_[server] == ServerStatus::kOk) {
    return fail(ErrorCode::kInvalidArgument, "server " + std::to_string(server) + " has replied already");
  }
  const MessageHeader expected{MessageHeader::Type::kReply,
                               kTagGf2,
                               params_->version(),
                               params_->coordinates()[server],
                               static_cast<std::uint32_t>(queries_),
                               params_->geometry().row_bytes(),
                               ProtocolId::kChor};
  const auto body = check_reply(reply, expected, 1);
  if (!body) {
    status_[server] =
        body.error().code() == ErrorCode::kStaleEpoch ? ServerStatus::kStaleEpoch : ServerStatus::kMalformed;
    return tl::unexpected(body.error());
  }
  if (sum_.size() == 0) sum_ = SecretVector<std::byte>(body->size());
  const auto sum = sum_.expose();
  for (std::size_t k = 0; k < sum.size(); ++k) sum[k] ^= (*body)[k];
  status_[server] = ServerStatus::kOk;
  ++replied_;
  return {};
}

void ChorCollector::set_missing(std::size_t server, ServerStatus why) {
  PIRX_CHECK(why == ServerStatus::kSilent || why == ServerStatus::kRefused ||
             why == ServerStatus::kMalformed || why == ServerStatus::kStaleEpoch);
  PIRX_CHECK(server < status_.size());
  if (status_[server] != ServerStatus::kOk) status_[server] = why;
}

DecodeReport ChorCollector::decode() const {
  DecodeReport report;
  report.status = settled() ? DecodeStatus::kOk : DecodeStatus::kFailed;
  return report;
}

Result<Answer> ChorCollector::finish() && {
  if (!settled()) {
    const auto count = [&](ServerStatus wanted) {
      return std::to_string(std::count(status_.begin(), status_.end(), wanted));
    };
    const bool moved = std::count(status_.begin(), status_.end(), ServerStatus::kStaleEpoch) > 0;
    return fail(moved ? ErrorCode::kStaleEpoch : ErrorCode::kUndecodable,
                std::to_string(replied_) + " usable replies of " + std::to_string(status_.size()) +
                    " servers, Chor's protocol needs all of them (" + count(ServerStatus::kSilent) +
                    " silent, " + count(ServerStatus::kRefused) + " refused, " +
                    count(ServerStatus::kMalformed) + " malformed, " + count(ServerStatus::kStaleEpoch) +
                    " with another database version): " +
                    (moved ? "get the parameters that the servers have now (pirx deploy)"
                           : "ask again when every server answers"));
  }
  auto records = cut_records();
  if (!records || (options_.check && !options_.check(*records))) {
    return fail(ErrorCode::kDataLoss,
                "a record is wrong: a server lied, or its database is corrupt (run pirx db verify there). "
                "Chor's protocol cannot tell which one: Goldberg's corrects liars and names them");
  }
  Answer answer;
  answer.records = std::move(*records);
  const bool sums = kind_ == QueryKind::kRowSums;
  const bool checked = (sums ? options_.sums.has_value() : params_->geometry().spec().digests) ||
                       options_.check || options_.evidence;
  const bool evident = checked && speaks_for(options_, kind_, answer.records);
  answer.certainty = evident ? Certainty::kProbable : Certainty::kUnverified;
  answer.responders = static_cast<unsigned>(replied_);
  answer.servers = status_;
  return answer;
}

/// Looks at all of them whatever is wrong with one.
Result<std::vector<Bytes>> ChorCollector::cut_records() const {
  const auto& geometry = params_->geometry();
  const auto row_bytes = static_cast<std::size_t>(geometry.row_bytes());
  const auto slot_bytes = static_cast<std::size_t>(geometry.slot_bytes());
  std::vector<Bytes> records;
  std::optional<Error> wrong;
  for (std::size_t i = 0; i < queries_; ++i) {
    const auto row = sum_.expose().subspan(i * row_bytes, row_bytes);
    if (kind_ == QueryKind::kRowSums) {
      const auto [offset, size] = slot_of_sum(geometry, options_, i);
      const auto slot = row.subspan(static_cast<std::size_t>(offset), static_cast<std::size_t>(size));
      records.emplace_back(slot.begin(), slot.end());
      continue;
    }
    const std::uint64_t record = indices_.expose()[i];
    const auto location = geometry.locate(record);
    PIRX_CHECK(location.has_value());
    const auto data =
        geometry.read_slot(record, row.subspan(static_cast<std::size_t>(location->offset), slot_bytes));
    if (data) {
      records.emplace_back(data->begin(), data->end());
    } else {
      wrong = data.error();
    }
  }
  if (wrong) return tl::unexpected(std::move(*wrong));
  return records;
}

}  // namespace pirx::itpir
