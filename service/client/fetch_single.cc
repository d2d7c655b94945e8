// One query a row, one after the other: the server works for seconds on each.
#include "pirx/client/fetch_single.h"

#include <atomic>

#include "pirx/cpir/dj/client.h"
#include "pirx/cpir/qr/client.h"
#include "pirx/cpir/spiral/client.h"
#include "pirx/database/key_filter.h"
#include "stand_in.h"

namespace pirx::client {
namespace {

namespace dj = cpir::dj;
namespace qr = cpir::qr;
namespace spiral = cpir::spiral;
using Clock = std::chrono::steady_clock;

double milliseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

/// The client half of each protocol, under a key of its own. Nobody can tell two of them to be one person.
using AnyClient = std::variant<dj::Client, qr::Client, spiral::Client>;

Result<AnyClient> make_client(const dj::Params& params) {
  PIRX_ASSIGN(const auto key, dj::SecretKey::generate(params.spec().modulus_bits, params.spec().policy));
  PIRX_ASSIGN(auto client, dj::Client::create(params, key));
  return AnyClient(std::move(client));
}

Result<AnyClient> make_client(const qr::Params& params) {
  PIRX_ASSIGN(const auto key, qr::SecretKey::generate(params.spec().modulus_bits, params.spec().policy));
  PIRX_ASSIGN(auto client, qr::Client::create(params, key));
  return AnyClient(std::move(client));
}

Result<AnyClient> make_client(const spiral::Params& params) {
  PIRX_ASSIGN(auto client, spiral::Client::create(params));
  return AnyClient(std::move(client));
}

Result<database::Location> locate(const dj::Params& params, std::uint64_t record) {
  return params.geometry().locate(record);
}
Result<database::Location> locate(const qr::Params& params, std::uint64_t record) {
  return params.locate(record);
}

/// Of a Spiral plan a "row" is one slot, or one row of a keyed database, cut out of the item that is fetched.
Result<database::Location> locate(const spiral::Params& params, std::uint64_t record) {
  PIRX_TRY(params.locate(record));
  return database::Location{record, 0};
}

/// Sends a request and gives the reply.
using Ask = std::function<Result<Bytes>(const Bytes&)>;

template <class Client>
Result<Bytes> ask_row(const Client& client, std::uint64_t row, Rng& rng, const Ask& ask, const Stop& stop) {
  PIRX_ASSIGN(const auto request, client.query(row, rng, stop));
  return ask(request);
}
Result<Bytes> ask_row(const spiral::Client& client, std::uint64_t row, Rng& rng, const Ask& ask,
                      const Stop& /*keys and queries take no seconds*/) {
  PIRX_ASSIGN(const auto at, client.params().locate(row));
  return client.ask(at.row, rng, ask);
}

template <class Client>
Result<SecretVector<std::byte>> decode_row(const Client& client, std::uint64_t, const Bytes& reply,
                                           const Stop& stop) {
  return client.decode(reply, stop);
}
Result<SecretVector<std::byte>> decode_row(const qr::Client& client, std::uint64_t, const Bytes& reply,
                                           const Stop& stop) {
  return client.decode(reply, 0, stop);
}
Result<SecretVector<std::byte>> decode_row(const spiral::Client& client, std::uint64_t row,
                                           const Bytes& reply, const Stop& /*takes milliseconds*/) {
  PIRX_ASSIGN(const auto at, client.params().locate(row));
  PIRX_ASSIGN(const auto item, client.decode(at.row, reply));
  return SecretVector<std::byte>(item.expose().subspan(at.offset, client.params().slot_bytes()));
}

/// Fetches rows of the plan, in this order, and accounts for it in the report.
Result<std::vector<SecretVector<std::byte>>> fetch_rows(const SingleDeployment& deployment,
                                                        std::span<const std::uint64_t> rows,
                                                        const SingleOptions& options, FetchReport& report) {
  PIRX_TRY(check_work(deployment.plan, rows.size(), options.limits, options.deadline));
  PIRX_ASSIGN(auto transport, http::HttpTransport::create({deployment.server}));
  PIRX_ASSIGN(auto rng, Rng::from_os());
  const auto deadline = std::min<std::chrono::milliseconds>(options.deadline, std::chrono::hours(24));
  auto start = Clock::now(), end = start + deadline;
  std::atomic<bool> late = false;  // before a request was sent
  const Stop stop = [&] { return late = late || Clock::now() >= end; };
  PIRX_ASSIGN(const auto client,
              std::visit([](const auto& params) { return make_client(params); }, deployment.plan));
  const auto bytes = [&](auto size) { return std::visit(size, deployment.plan); };
  const auto reply_bytes = bytes([](const auto& params) { return params.reply_bytes(); });
  const auto query_bytes = bytes([](const auto& params) { return params.request_bytes(); });
  report.query_milliseconds = milliseconds_since(start);

  auto& server = report.servers.emplace_back();
  std::optional<Error> failed;  // to ask
  double asked = 0;             // milliseconds
  const Ask ask = [&](const Bytes& request) -> Result<Bytes> {
    if (stop()) return fail(ErrorCode::kUnavailable, "the deadline passed before the request was sent");
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now());
    const http::CallOptions call{.deadline = left,
                                 .connect_timeout = std::min(left, std::chrono::milliseconds(10'000)),
                                 .max_reply_bytes = reply_bytes};
    auto outcomes = transport.query_all({request}, call);
    auto& outcome = outcomes.front();
    asked += outcome.milliseconds;
    server.bytes_up += outcome.bytes_up;
    server.bytes_down += outcome.bytes_down;
    if (!outcome.reply) failed = outcome.reply.error();
    return std::move(outcome.reply);
  };
  std::vector<Result<Bytes>> replies;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (options.waiting) options.waiting(i, rows.size(), query_bytes);
    if (i > 0) end = Clock::now() + deadline;
    start = Clock::now();
    asked = 0;
    replies.push_back(
        std::visit([&](const auto& half) { return ask_row(half, rows[i], rng, ask, stop); }, client));
    if (late) return tl::unexpected(replies.back().error());
    if (failed) return tl::unexpected(*failed);
    report.network_milliseconds += asked;
    server.milliseconds += asked;
    report.query_milliseconds += milliseconds_since(start) - asked;
  }
  transport.close();  // when must not tell how long decoding takes
  start = Clock::now();
  std::vector<SecretVector<std::byte>> out;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!replies[i]) return tl::unexpected(replies[i].error());
    end = Clock::now() + deadline;
    PIRX_ASSIGN(
        auto row,
        std::visit([&](const auto& half) { return decode_row(half, rows[i], *replies[i], stop); }, client));
    out.push_back(std::move(row));
  }
  report.decode_milliseconds += milliseconds_since(start);
  return out;
}

Result<void> check_count(std::size_t count) {
  if (count >= 1 && count <= kMaxRecordsPerRound) return {};
  return invalid("ask for 1 to " + std::to_string(kMaxRecordsPerRound) + " records at a time, not " +
                 std::to_string(count));
}

/// What one reply can prove: nothing; a digest shows damage.
void settle(FetchReport& report, const database::Geometry& geometry) {
  report.servers.front().status = itpir::ServerStatus::kOk;
  auto& answer = report.answer;
  answer.responders = 1;
  answer.servers = {itpir::ServerStatus::kOk};
  answer.certainty = geometry.spec().digests && report.missing.empty() ? itpir::Certainty::kProbable
                                                                       : itpir::Certainty::kUnverified;
}

}  // namespace

Result<FetchReport> fetch_records(const SingleDeployment& deployment, std::span<const std::uint64_t> records,
                                  const SingleOptions& options) {
  PIRX_TRY(check_count(records.size()));
  const auto& geometry = geometry_of(deployment.plan);
  const auto positions = with_stand_ins(records, geometry);
  SecretVector<std::uint64_t> rows(records.size()), offsets(records.size());
  for (std::size_t i = 0; i < records.size(); ++i) {
    PIRX_ASSIGN(const auto at,
                std::visit([&](const auto& params) { return locate(params, positions.expose()[i]); },
                           deployment.plan));
    rows.expose()[i] = at.row;
    offsets.expose()[i] = at.offset;
  }
  FetchReport report;
  PIRX_ASSIGN(const auto found, fetch_rows(deployment, rows.expose(), options, report));
  PIRX_TRY(check_in_range(records, geometry));
  for (std::size_t i = 0; i < records.size(); ++i) {
    const auto slot = ByteSpan(found[i].expose()).subspan(offsets.expose()[i], geometry.slot_bytes());
    PIRX_ASSIGN(const auto record, geometry.read_slot(records[i], slot));
    report.answer.records.emplace_back(record.begin(), record.end());
  }
  settle(report, geometry);
  return report;
}

Result<FetchReport> fetch_keys(const SingleDeployment& deployment, std::span<const std::string> keys,
                               const SingleOptions& options) {
  PIRX_TRY(check_count(keys.size()));
  PIRX_ASSIGN(const auto filter, database::KeyFilter::create(geometry_of(deployment.plan)));
  constexpr std::size_t kEach = itpir::kSummedRows;
  SecretVector<std::uint64_t> rows(keys.size() * kEach);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const auto place = filter.place(keys[i]);
    std::copy(place.rows.begin(), place.rows.end(), rows.expose().subspan(i * kEach, kEach).begin());
  }
  FetchReport report;
  PIRX_ASSIGN(auto found, fetch_rows(deployment, rows.expose(), options, report));
  for (std::size_t i = 0; i < keys.size(); ++i) {
    auto sum = found[i * kEach].expose();
    for (std::size_t j = 1; j < kEach; ++j) {
      const auto next = found[i * kEach + j].expose();
      for (std::size_t b = 0; b < sum.size(); ++b) sum[b] ^= next[b];
    }
    PIRX_ASSIGN(std::optional<Bytes> record, filter.read(keys[i], sum));
    if (!record) report.missing.push_back(i);
    report.answer.records.push_back(std::move(record).value_or(Bytes()));
  }
  settle(report, geometry_of(deployment.plan));
  return report;
}

}  // namespace pirx::client
