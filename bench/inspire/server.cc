// SPDX-License-Identifier: Apache-2.0
// Times inspire as a whole, on a database of random records: what a server computes ahead, queries and
// decoding of a client, and passes of a server for q queries. Every answer is checked. Times are processor
// time.
#include "pirx/cpir/inspire/server.h"

#include "bench/random_database.h"
#include "measure.h"
#include "pirx/cpir/inspire/client.h"

namespace pirx::bench {
namespace {

using benchmark::State;
namespace inspire = cpir::inspire;

struct Sizes {
  std::uint64_t records = 0, bytes = 0;
  inspire::ServerOptions options;
} sizes;

struct World {
  World() {
    database::BuildOptions build;
    build.fixed_record_bytes = sizes.bytes;
    build.digests = false;
    database = random_database(sizes.records, build);
    prepare_seconds = seconds_of(
        [&] { server = need(inspire::make_inspire_server(database, sizes.options)); }, processor_clock);
    client = std::make_unique<inspire::Client>(
        need(inspire::Client::create(need(inspire::Params::decode(server->parameters())))));
    need(client->take_masks(ask(client->masks_request())));
  }
  Bytes ask(ByteSpan request) const { return bench::ask(*server, request); }
  const inspire::Params& params() const { return client->params(); }
  database::Location place(std::uint64_t record) const { return need(params().locate(record)); }
  bool right(std::uint64_t record, const SecretVector<std::byte>& row) const {
    const auto slot = row.expose().subspan(static_cast<std::size_t>(place(record).offset), sizes.bytes);
    Bytes found(slot.begin(), slot.end());
    spoil(found);
    const auto wanted = need(database->record(record));
    return std::equal(found.begin(), found.end(), wanted.begin(), wanted.end());
  }

  /// Whether a query gets its record.
  bool answers() {
    auto query = need(client->query(place(1).row, rng));
    return right(1, need(client->decode(std::move(query.secret), ask(query.message))));
  }

  std::shared_ptr<const database::Database> database;
  std::unique_ptr<AnyServer> server;
  std::unique_ptr<inspire::Client> client;
  double prepare_seconds = 0;
  Rng rng = need(Rng::from_os());
};

void run_prepare(State& state) {
  auto& world = shared<World>("world");
  for (auto _ : state) state.SetIterationTime(world.prepare_seconds);
  if (!world.answers()) return Program::wrong(state, "a wrong answer");
  const auto& params = world.params();
  const double gib = static_cast<double>(params.rows()) * static_cast<double>(params.row_bytes()) / (1 << 30);
  state.counters = {{"seconds_per_gib", world.prepare_seconds / gib},
                    {"rows", static_cast<double>(params.rows())},
                    {"columns", static_cast<double>(params.columns())},
                    {"t", params.spec().t},
                    {"tr", params.spec().tr},
                    {"request_bytes", static_cast<double>(params.request_bytes())},
                    {"reply_bytes", static_cast<double>(params.reply_bytes())},
                    {"masks_bytes", static_cast<double>(params.masks_reply_bytes(params.blocks()))}};
}

void run_query(State& state) {
  auto& world = shared<World>("world");
  processor_loop(
      state, [] {},
      [&] { benchmark::DoNotOptimize(need(world.client->query(1, world.rng)).message.data()); });
  if (!world.answers()) Program::wrong(state, "a wrong answer");
}

void run_decode(State& state) {
  auto& world = shared<World>("world");
  const std::uint64_t record = sizes.records - 1;
  std::optional<inspire::Client::Query> query;
  std::optional<SecretVector<std::byte>> row;
  Bytes reply;
  processor_loop(
      state,
      [&] {
        query.emplace(need(world.client->query(world.place(record).row, world.rng)));
        reply = world.ask(query->message);
      },
      [&] { row.emplace(need(world.client->decode(std::move(query->secret), reply))); });
  if (!world.right(record, *row)) Program::wrong(state, "a wrong answer");
}

void run_answer(State& state, std::size_t q) {
  auto& world = shared<World>("world");
  std::vector<inspire::Client::Query> queries;
  std::vector<ByteSpan> requests;
  for (std::size_t k = 0; k < q; ++k) {
    const std::uint64_t record = k * 7919 % sizes.records;
    queries.push_back(need(world.client->query(world.place(record).row, world.rng)));
  }
  for (const auto& query : queries) requests.emplace_back(query.message);
  std::vector<Result<Bytes>> replies;
  const double seconds = processor_loop(
      state, [] {}, [&] { replies = world.server->answer(requests); });
  state.counters["ms_per_query"] = seconds * 1e3 / static_cast<double>(q);
  for (std::size_t k = 0; k < q; ++k) {
    const auto row = need(world.client->decode(std::move(queries[k].secret), need(std::move(replies[k]))));
    if (!world.right(k * 7919 % sizes.records, row)) return Program::wrong(state, "a wrong answer");
  }
}

int run(int argc, char** argv) {
  Program program(argc, argv);
  const auto mib = program.number("mib", 1024, 1, 1 << 15);
  sizes.bytes = program.number("bytes", 256, 1, 1 << 20);
  sizes.records = (mib << 20) / sizes.bytes;
  const auto set = program.text("set", "s8");
  sizes.options.set = set == "s16" ? inspire::kS16 : inspire::kS8;
  sizes.options.goal = program.text("goal", "bytes") == "time" ? inspire::Goal::kTime : inspire::Goal::kBytes;
  sizes.options.threads = static_cast<int>(program.number("threads", 1, 1, 256));
  const auto counts = program.numbers<std::size_t>("q", "1,8,64", 1, 4096);
  program.start();
  const auto timed = [](benchmark::internal::Benchmark* one) {
    one->UseManualTime()->Unit(benchmark::kMillisecond);
  };
  timed(benchmark::RegisterBenchmark("prepare", run_prepare)->Iterations(1));
  timed(benchmark::RegisterBenchmark("client/query", run_query));
  timed(benchmark::RegisterBenchmark("client/decode", run_decode));
  for (const auto q : counts) {
    timed(benchmark::RegisterBenchmark(("answer/q:" + std::to_string(q)).c_str(),
                                       [q](State& state) { run_answer(state, q); }));
  }
  return Program::run();
}

}  // namespace
}  // namespace pirx::bench

int main(int argc, char** argv) { return pirx::bench::run(argc, argv); }
