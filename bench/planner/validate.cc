// Builds a small database as an offer wants it, opens the servers by the table of protocols with the offer's
// own options, and times the halves of the protocol on one thread.
#include "validate.h"

#include <time.h>

#include <algorithm>
#include <optional>
#include <type_traits>

#include "pirx/base/rng.h"
#include "pirx/base/secret.h"
#include "pirx/batchcodes/encoding.h"
#include "pirx/cpir/dj/client.h"
#include "pirx/cpir/dj/server.h"
#include "pirx/cpir/qr/client.h"
#include "pirx/cpir/qr/server.h"
#include "pirx/cpir/spiral/client.h"
#include "pirx/cpir/spiral/server.h"
#include "pirx/database/builder.h"
#include "pirx/itpir/client.h"
#include "pirx/itpir/server.h"

namespace pirx::planner {
namespace {

namespace dj = cpir::dj;
namespace qr = cpir::qr;
namespace spiral = cpir::spiral;

/// Of clients that take microseconds, for each run: queries that are timed; with several servers, those that
/// are answered.
constexpr int kBurst = 20, kRounds = 3;

double processor_seconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

class Times {
 public:
  Times() {
    // Reading the clock takes about as long as a client's shortest query.
    while (all_.size() < 101) measure([] { return 0; });
    clock_ = median();
    all_.clear();
  }
  template <class F>
  std::invoke_result_t<const F&> measure(const F& f) {
    const double start = processor_seconds();
    auto result = f();
    all_.push_back(std::max(processor_seconds() - start - clock_, 1e-9));
    return result;
  }
  double median() const {
    auto sorted = all_;
    std::sort(sorted.begin(), sorted.end());
    return sorted.empty() ? 0 : sorted[sorted.size() / 2];
  }

 private:
  double clock_ = 0;
  std::vector<double> all_;
};

/// What is timed, and the record that came of it.
struct Run {
  Times ahead, query, server, decode;
  std::uint64_t bytes_up = 0, bytes_down = 0;
};

/// The database of an offer.
class Stored {
 public:
  static Result<Stored> build(const std::filesystem::path& path, const Offer& offer, std::uint64_t records,
                              std::uint64_t record_bytes) {
    PIRX_ASSIGN(auto builder,
                database::DatabaseBuilder::create(
                    path, {.records_per_row = offer.records_per_row, .fixed_record_bytes = record_bytes}));
    PIRX_ASSIGN(auto rng, Rng::from_os());
    Bytes record(record_bytes);
    for (std::uint64_t i = 0; i < records; ++i) {
      rng.fill(record);
      PIRX_TRY(builder.add(record));
    }
    PIRX_TRY(builder.finish());
    PIRX_ASSIGN(auto database, database::Database::open(path));
    return Stored(path, std::move(database));
  }
  Stored(Stored&&) noexcept = default;
  Stored& operator=(Stored&&) noexcept = delete;
  ~Stored() {
    std::error_code ignored;
    if (database_) std::filesystem::remove(path_, ignored);
  }
  const database::Database& database() const noexcept { return *database_; }
  const std::filesystem::path& path() const noexcept { return path_; }

 private:
  Stored(std::filesystem::path path, std::shared_ptr<const database::Database> database)
      : path_(std::move(path)), database_(std::move(database)) {}
  std::filesystem::path path_;
  std::shared_ptr<const database::Database> database_;
};

Result<void> check_record(const Stored& stored, std::uint64_t wanted, ByteSpan got) {
  PIRX_ASSIGN(const auto record, stored.database().record(wanted));
  if (std::equal(record.begin(), record.end(), got.begin(), got.end())) return {};
  return fail(ErrorCode::kInternal, "a protocol gave another record than was stored: please report it");
}

Result<std::unique_ptr<AnyServer>> open_server(const Offer& offer, const Stored& stored,
                                               const Texts& more = {}) {
  PIRX_ASSIGN(const auto* protocol, find_protocol(offer.scheme));
  PIRX_ASSIGN(auto database, database::Database::open(stored.path()));
  Texts options = offer.options;
  options.insert(more.begin(), more.end());
  return serve(*protocol, {.database = std::move(database), .threads = 1, .loopback = true}, options);
}

Result<Bytes> ask(const AnyServer& server, const Bytes& request) {
  const ByteSpan view = request;
  return std::move(server.answer({&view, 1}).at(0));
}

/// The record in a row of single-server protocols.
Result<void> check_row(const Stored& stored, std::uint64_t wanted, ByteSpan row, std::uint64_t offset) {
  const auto& geometry = stored.database().geometry();
  PIRX_ASSIGN(const auto data,
              geometry.read_slot(wanted, row.subspan(static_cast<std::size_t>(offset),
                                                     static_cast<std::size_t>(geometry.slot_bytes()))));
  return check_record(stored, wanted, data);
}

Result<void> run_tree(const Offer& offer, const Stored& stored, int runs, Run& out) {
  PIRX_ASSIGN(const auto server, open_server(offer, stored));
  PIRX_ASSIGN(const auto params, dj::Params::decode(server->parameters()));
  PIRX_ASSIGN(const auto key, dj::SecretKey::generate(params.spec().modulus_bits, params.spec().policy));
  PIRX_ASSIGN(const auto client, dj::Client::create(params, key));
  PIRX_ASSIGN(auto rng, Rng::from_os());
  const std::uint64_t wanted = stored.database().geometry().records() / 3;
  PIRX_ASSIGN(const auto at, stored.database().geometry().locate(wanted));
  for (int run = 0; run < runs; ++run) {
    auto blinding = out.ahead.measure([&] { return client.blind(rng); });
    PIRX_ASSIGN(const auto request,
                out.query.measure([&] { return client.query(at.row, std::move(blinding)); }));
    PIRX_ASSIGN(const auto reply, out.server.measure([&] { return ask(*server, request); }));
    PIRX_ASSIGN(const auto row, out.decode.measure([&] { return client.decode(reply); }));
    PIRX_TRY(check_row(stored, wanted, row.expose(), at.offset));
    out.bytes_up = request.size();
    out.bytes_down = reply.size();
  }
  return {};
}

Result<void> run_qr(const Offer& offer, const Stored& stored, int runs, Run& out) {
  PIRX_ASSIGN(const auto server, open_server(offer, stored));
  PIRX_ASSIGN(const auto params, qr::Params::decode(server->parameters()));
  PIRX_ASSIGN(const auto key, qr::SecretKey::generate(params.spec().modulus_bits, params.spec().policy));
  PIRX_ASSIGN(const auto client, qr::Client::create(params, key));
  PIRX_ASSIGN(auto rng, Rng::from_os());
  const std::uint64_t wanted = stored.database().geometry().records() / 3;
  PIRX_ASSIGN(const auto at, params.locate(wanted));
  for (int run = 0; run < runs; ++run) {
    PIRX_ASSIGN(const auto request, out.query.measure([&] { return client.query(at.row, rng); }));
    PIRX_ASSIGN(const auto reply, out.server.measure([&] { return ask(*server, request); }));
    PIRX_ASSIGN(const auto row, out.decode.measure([&] { return client.decode(reply, 1); }));
    PIRX_TRY(check_row(stored, wanted, row.expose(), at.offset));
    out.bytes_up = request.size();
    out.bytes_down = reply.size();
  }
  return {};
}

Result<void> run_spiral(const Offer& offer, const Stored& stored, int runs, Run& out) {
  PIRX_ASSIGN(const auto server, open_server(offer, stored));
  PIRX_ASSIGN(const auto params, spiral::Params::decode(server->parameters()));
  PIRX_ASSIGN(const auto client, spiral::Client::create(params));
  PIRX_ASSIGN(auto rng, Rng::from_os());
  const std::uint64_t wanted = stored.database().geometry().records() / 3;
  PIRX_ASSIGN(const auto at, params.locate(wanted));
  PIRX_ASSIGN(const auto held, ask(*server, client.keys()));
  PIRX_TRY(client.check_keys_held(held));
  for (int run = 0; run < runs; ++run) {
    PIRX_ASSIGN(const auto request, client.query(at.row, rng));
    PIRX_ASSIGN(const auto reply, out.server.measure([&] { return ask(*server, request); }));
    // Many times over, as with several servers.
    for (int again = 0; again < kBurst; ++again) {
      PIRX_TRY(out.query.measure([&] { return client.query(at.row, rng); }));
      PIRX_ASSIGN(const auto item, out.decode.measure([&] { return client.decode(at.row, reply); }));
      PIRX_TRY(check_row(stored, wanted, item.expose(), at.offset));
    }
    out.bytes_up = request.size();
    out.bytes_down = reply.size();
  }
  return {};
}

Result<void> run_several(const Offer& offer, const Stored& stored, int runs, Run& out) {
  const bool chor = offer.scheme == "chor";
  itpir::Params::Spec spec{.field = kTagGf2,
                           .geometry = stored.database().geometry(),
                           .version = stored.database().version(),
                           .coordinates = {},
                           .threshold = offer.threshold,
                           .protocol = chor ? ProtocolId::kChor : ProtocolId::kGoldberg};
  if (chor) {
    for (std::uint64_t server = 1; server <= offer.servers; ++server) spec.coordinates.push_back(server);
  } else {
    PIRX_ASSIGN(spec.field, itpir::field_by_name(offer.options.at("field")));
    PIRX_ASSIGN(spec.coordinates, batchcodes::Encoding::suggested_coordinates(spec.field, offer.servers));
  }
  PIRX_ASSIGN(auto params, itpir::Params::create(std::move(spec)));
  std::vector<std::unique_ptr<AnyServer>> servers;
  for (const auto coordinate : params.coordinates()) {
    PIRX_ASSIGN(auto server, open_server(offer, stored, {{"coordinate", std::to_string(coordinate)}}));
    servers.push_back(std::move(server));
  }
  const itpir::Client client(std::move(params), {.seeded = offer.seeded});
  PIRX_ASSIGN(auto rng, Rng::from_os());
  const std::uint64_t wanted = stored.database().geometry().records() / 3;
  // Each part by itself many times over, as the rates are: a client's microseconds are otherwise those of
  // cold caches.
  const std::uint64_t wish[] = {wanted};
  for (int round = 0; round < kBurst * runs; ++round) {
    PIRX_TRY(out.query.measure([&] { return client.query(wish, rng); }));
  }
  const auto rounds = static_cast<std::size_t>(kRounds * runs);
  std::vector<itpir::Query> queries;
  for (std::size_t round = 0; round < rounds; ++round) {
    PIRX_ASSIGN(auto query, client.query(wish, rng));
    queries.push_back(std::move(query));
  }
  std::vector<std::vector<std::optional<Bytes>>> replies(rounds);
  for (std::size_t server = 0; server < servers.size(); ++server) {
    // The last one gets a vector where others may have seeds.
    const bool timed = server + 1 == servers.size();
    for (std::size_t round = 0; round < rounds; ++round) {
      const auto answer = [&] { return ask(*servers[server], queries[round].requests[server]); };
      PIRX_ASSIGN(auto reply, timed ? out.server.measure(answer) : answer());
      replies[round].emplace_back(std::move(reply));
    }
  }
  for (const auto& request : queries[0].requests) out.bytes_up += request.size();
  for (const auto& reply : replies[0]) out.bytes_down += reply->size();
  for (std::size_t round = 0; round < rounds; ++round) {
    PIRX_ASSIGN(const auto answer, out.decode.measure([&] {
      return client.decode(std::move(queries[round].state), replies[round]);
    }));
    PIRX_TRY(check_record(stored, wanted, answer.records.at(0)));
  }
  return {};
}

}  // namespace

Result<std::vector<Measured>> validate(const ValidateOptions& options, const std::filesystem::path& folder,
                                       Rates& rates) {
  if (options.record_bytes == 0 || options.runs < 1) {
    return fail(ErrorCode::kInvalidArgument, "validation needs records of a byte or more and a run or more");
  }
  std::vector<Measured> out;
  for (const bool several : {false, true}) {
    Question question;
    question.record_bytes = options.record_bytes;
    question.records = std::max<std::uint64_t>(
        1, (several ? options.several_servers_bytes : options.one_server_bytes) / options.record_bytes);
    question.link = {1e7, 1e7, 0};
    question.servers = several ? options.servers : 1;
    question.collusion = options.collusion;
    question.modulus_bits = options.modulus_bits;
    question.reproduction = options.reproduction;
    if (options.note) {
      options.note("measuring rates for " + std::string(several ? "several servers" : "one server"));
    }
    PIRX_ASSIGN(auto plan, make_plan(question, rates));
    for (Offer& offer : plan.offers) {
      if (offer.scheme == "download" || (offer.servers > 1) != several) continue;
      if (options.note) options.note("running " + offer.scheme + " " + offer.settings);
      PIRX_ASSIGN(const auto stored,
                  Stored::build(folder / "validate.pirx", offer, question.records, question.record_bytes));
      Run run;
      if (offer.scheme == "dj-tree") {
        PIRX_TRY(run_tree(offer, stored, options.runs, run));
      } else if (offer.scheme == "spiral") {
        PIRX_TRY(run_spiral(offer, stored, options.runs, run));
      } else if (offer.scheme == "qr") {
        PIRX_TRY(run_qr(offer, stored, options.runs, run));
      } else {
        PIRX_TRY(run_several(offer, stored, options.runs, run));
      }
      out.push_back({std::move(offer), run.bytes_up, run.bytes_down, run.server.median(),
                     run.query.median() + run.decode.median(), run.ahead.median()});
    }
  }
  return out;
}

}  // namespace pirx::planner
