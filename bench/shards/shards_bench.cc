// SPDX-License-Identifier: Apache-2.0
// Times a pass over a database that is spread over the ranks of an MPI run, and the same pass by one process.
//
// single/q:...   one process with --single_threads threads
// ranks/q:...    all ranks, with --threads threads each
//
// Rank 0 measures and prints, after the answers were compared. The counter processor_ms is the processor time
// of all ranks together, waiting included. bench/shards/report starts this program.
#include <fstream>
#include <random>

#include "bench/measure.h"
#include "bench/random_database.h"
#include "pirx/itpir/goldberg/server.h"
#include "pirx/shards/shards.h"

namespace {

using namespace pirx;
using bench::ask;
using bench::need;

/// Random bytes are elements of GF(2^8) and GF(2^16), which is what is measured here.
Bytes request(const AnyServer& server, std::uint32_t queries, std::mt19937_64& random) {
  const auto p = need(itpir::ServerParameters::decode(server.parameters()));
  Writer writer;
  itpir::MessageHeader{MessageType::kQuery, p.field, p.version, p.coordinate, queries, p.geometry.rows()}
      .encode(writer);
  const std::size_t bytes =
      static_cast<std::size_t>(p.geometry.rows()) * queries * ((p.field.bits + 7u) / 8u);
  for (auto& byte : writer.extend(bytes)) byte = static_cast<std::byte>(random());
  return std::move(writer).take();
}

/// Seconds of the processor that all ranks have used so far: the children of mpirun.
double processors_of_ranks() {
  const std::string parent = std::to_string(getppid());
  std::ifstream children("/proc/" + parent + "/task/" + parent + "/children");
  double seconds = 0;
  for (pid_t child = 0; children >> child;) {
    clockid_t clock{};
    timespec used{};
    if (clock_getcpuclockid(child, &clock) != 0 || clock_gettime(clock, &used) != 0) continue;
    seconds += static_cast<double>(used.tv_sec) + 1e-9 * static_cast<double>(used.tv_nsec);
  }
  return seconds;
}

void add(const char* kind, std::uint32_t queries, const AnyServer& server, const AnyServer& other) {
  const auto run = [queries, &server, &other, checked = false](benchmark::State& state) mutable {
    std::mt19937_64 random(1);
    const Bytes message = request(server, queries, random);
    if (!checked) {
      auto found = ask(server, message);
      bench::spoil(found);
      if (found != ask(other, message)) return bench::Program::wrong(state, "a wrong answer");
      checked = true;
    }
    const double before = processors_of_ranks();
    for (auto _ : state) ask(server, message);
    state.counters["processor_ms"] =
        1e3 * (processors_of_ranks() - before) / static_cast<double>(state.iterations());
  };
  benchmark::RegisterBenchmark((kind + ("/q:" + std::to_string(queries))).c_str(), run)
      ->MeasureProcessCPUTime()
      ->UseRealTime()
      ->Unit(benchmark::kMillisecond);
}

struct Settings {
  std::string file, field;
  shards::Split split;
  int threads, single_threads;
  std::vector<std::uint32_t> queries;
};

int run(const Settings& a, const shards::World& world) {
  auto shards = need(shards::Shards::create(world, {.split = a.split, .timeout = std::chrono::minutes(1)}));
  const auto database = need(database::Database::open(a.file));
  const Texts options{{"field", a.field}, {"coordinate", "1"}, {"max_queries", "4096"}};
  const auto open = [&](int team, Spread spread) {
    return need(serve(*need(find_protocol("goldberg")),
                      {.database = database, .threads = team, .spread = std::move(spread)}, options));
  };
  const auto ours = open(a.threads, shards->spread());
  need(shards->agree(*ours, database->content_version().identity));
  if (world.rank() != 0) {
    need(shards->work());
    return 0;
  }
  const auto single = open(a.single_threads, nullptr);
  for (const auto q : a.queries) {
    add("single", q, *single, *ours);
    add("ranks", q, *ours, *single);
  }
  const int code = bench::Program::run();
  need(shards->leave());
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  bench::Program program(argc, argv);
  const Settings settings{program.text("database", ""),
                          program.text("field", "gf2_8"),
                          need(shards::parse_split(program.text("split", "auto"))),
                          static_cast<int>(program.number("threads", 1, 1, 1024)),
                          static_cast<int>(program.number("single_threads", 1, 1, 1024)),
                          program.numbers<std::uint32_t>("q", "1,16,64,256", 1, 4096)};
  program.start();
  const auto world = need(shards::World::create());
  const int code = run(settings, *world);
  world->finish();
  return code;
}
