// A pass over a database that is spread over the ranks of an MPI run, beside the same pass by one process, in
// turns. Rank 0 measures; the answers are compared first. Prints JSON. bench/shards/report starts it.
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <random>

#include "pirx/base/cpu.h"
#include "pirx/database/database.h"
#include "pirx/itpir/server.h"
#include "pirx/shards/shards.h"

namespace {

using namespace pirx;  // a program of its own
using Clock = std::chrono::steady_clock;

template <class T>
T or_die(Result<T> result) {
  if (result) {
    if constexpr (!std::is_void_v<T>) return std::move(*result);
  } else {
    std::fprintf(stderr, "shards_bench: %s\n", result.error().to_string().c_str());
    std::exit(1);
  }
}

/// Random bytes are elements of GF(2^8) and GF(2^16), which is what is measured here.
Bytes request(const AnyServer& server, std::uint32_t queries, std::mt19937_64& random) {
  const auto p = or_die(itpir::ServerParameters::decode(server.parameters()));
  Writer writer;
  itpir::MessageHeader{
      itpir::MessageHeader::Type::kQuery, p.field, p.version, p.coordinate, queries, p.geometry.rows()}
      .encode(writer);
  const std::size_t bytes =
      static_cast<std::size_t>(p.geometry.rows()) * queries * ((p.field.bits + 7u) / 8u);
  for (auto& byte : writer.extend(bytes)) byte = static_cast<std::byte>(random());
  return std::move(writer).take();
}

/// What answering took: by the clock, and of this process's processors.
struct Took {
  double seconds = 0, processor = 0;
};

double processor_seconds() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

Took answer(const AnyServer& server, const Bytes& message, Bytes* reply = nullptr) {
  const ByteSpan span = message;
  const double before = processor_seconds();
  const auto start = Clock::now();
  auto replies = server.answer({&span, 1});
  const std::chrono::duration<double> took = Clock::now() - start;
  const Took all{took.count(), processor_seconds() - before};
  auto bytes = or_die(std::move(replies[0]));
  if (reply != nullptr) *reply = std::move(bytes);
  return all;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// One rank's part: DATABASE FIELD SPLIT THREADS SINGLE_THREADS REPEATS QUERIES. A line of JSON from each
/// rank.
void measure(shards::World& world, char** argv) {
  const std::string file = argv[1], field = argv[2];
  auto run = or_die(shards::Shards::create(
      world, {.split = or_die(shards::parse_split(argv[3])), .timeout = std::chrono::minutes(1)}));
  const auto database = or_die(database::Database::open(file));
  const Texts options{{"field", field}, {"coordinate", "1"}, {"max_queries", "4096"}};
  const auto open = [&](int threads, Spread spread) {
    return or_die(serve(*or_die(find_protocol("goldberg")),
                        {.database = database, .threads = threads, .spread = std::move(spread)}, options));
  };
  const auto ours = open(std::atoi(argv[4]), run->spread());
  or_die(run->agree(*ours, database->content_version().identity));
  if (world.rank() != 0) {
    const double before = processor_seconds();
    or_die(run->work());
    std::printf("{\"rank\": %d, \"processor_seconds\": %.6f}\n", world.rank(), processor_seconds() - before);
    std::fflush(stdout);
    return;
  }
  const auto single = open(std::atoi(argv[5]), nullptr);
  const auto queries = static_cast<std::uint32_t>(std::atoi(argv[7]));
  const int repeats = std::max(1, std::atoi(argv[6]));
  std::mt19937_64 random(1);
  const Bytes message = request(*single, queries, random);
  Bytes expected, got;
  answer(*single, message, &expected);
  double processor = answer(*ours, message, &got).processor;
  if (expected != got) {
    std::fprintf(stderr, "shards_bench: the ranks answer something else than one process\n");
    world.abort(1);
  }
  std::vector<double> single_seconds, single_processor, our_seconds, ratios;
  for (int repeat = 0; repeat < repeats; ++repeat) {
    const Took theirs = answer(*single, message), took = answer(*ours, message);
    single_seconds.push_back(theirs.seconds);
    single_processor.push_back(theirs.processor);
    our_seconds.push_back(took.seconds);
    processor += took.processor;
    ratios.push_back(took.seconds / theirs.seconds);
  }
  or_die(run->leave());
  const nlohmann::ordered_json json{{"rank", 0},
                                    {"processor_seconds", processor},
                                    {"passes", run->passes()},
                                    {"ranks", world.ranks()},
                                    {"threads_of_a_rank", std::atoi(argv[4])},
                                    {"threads_of_the_single_process", std::atoi(argv[5])},
                                    {"field", field},
                                    {"split", argv[3]},
                                    {"rows", database->geometry().rows()},
                                    {"row_bytes", database->geometry().row_bytes()},
                                    {"isa", cpu_features_name(or_die(allowed_cpu_features()))},
                                    {"queries", queries},
                                    {"single_processor_seconds", median(single_processor)},
                                    {"single_seconds", median(single_seconds)},
                                    {"shards_seconds", median(our_seconds)},
                                    {"ratio", median(ratios)}};
  std::printf("%s\n", json.dump().c_str());
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 8) {
    std::fprintf(
        stderr,
        "usage: mpirun -n N shards_bench DATABASE FIELD SPLIT THREADS SINGLE_THREADS REPEATS QUERIES\n");
    return 1;
  }
  const auto world = or_die(shards::World::create());
  measure(*world, argv);
  world->finish();
  return 0;
}
