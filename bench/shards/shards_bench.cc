// A pass over a database that is spread over the ranks of an MPI run, beside the same pass by one process, in
// turns. Rank 0 measures; the answers are compared first. Prints JSON. bench/shards/report starts it.
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

double seconds(const AnyServer& server, const Bytes& message, Bytes* reply = nullptr) {
  const ByteSpan span = message;
  const auto start = Clock::now();
  auto replies = server.answer({&span, 1});
  const std::chrono::duration<double> took = Clock::now() - start;
  auto answer = or_die(std::move(replies[0]));
  if (reply != nullptr) *reply = std::move(answer);
  return took.count();
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// One rank's part: DATABASE FIELD SPLIT THREADS SINGLE_THREADS REPEATS QUERIES ...
void measure(shards::World& world, int argc, char** argv) {
  const std::string file = argv[1], field = argv[2];
  auto run = or_die(shards::Shards::create(
      world, {.split = or_die(shards::parse_split(argv[3])), .timeout = std::chrono::minutes(1)}));
  Registry together, alone;
  itpir::register_goldberg(together, run->spread());
  itpir::register_goldberg(alone);
  ServerSpec spec{.database_path = file,
                  .threads = std::atoi(argv[4]),
                  .options = {{"field", field}, {"coordinate", "1"}, {"max_queries", "4096"}}};
  const auto ours = or_die(together.open("goldberg", spec));
  const auto database = or_die(database::Database::open(file));
  or_die(run->agree(*ours, database->content_version().identity));
  if (world.rank() != 0) {
    or_die(run->work());
    return;
  }
  spec.threads = std::atoi(argv[5]);
  const auto single = or_die(alone.open("goldberg", spec));
  nlohmann::ordered_json json{{"ranks", world.ranks()},
                              {"threads_of_a_rank", std::atoi(argv[4])},
                              {"threads_of_the_single_process", spec.threads},
                              {"field", field},
                              {"split", argv[3]},
                              {"rows", database->geometry().rows()},
                              {"row_bytes", database->geometry().row_bytes()},
                              {"isa", cpu_features_name(or_die(allowed_cpu_features()))},
                              {"passes", nlohmann::ordered_json::array()}};
  std::mt19937_64 random(1);
  for (int i = 7; i < argc; ++i) {
    const auto queries = static_cast<std::uint32_t>(std::atoi(argv[i]));
    const Bytes message = request(*single, queries, random);
    Bytes expected, got;
    seconds(*single, message, &expected);
    seconds(*ours, message, &got);
    if (expected != got) {
      std::fprintf(stderr, "shards_bench: the ranks answer something else than one process\n");
      world.abort(1);
    }
    std::vector<double> theirs_seconds, our_seconds, ratios;
    for (int repeat = 0; repeat < std::max(1, std::atoi(argv[6])); ++repeat) {
      theirs_seconds.push_back(seconds(*single, message));
      our_seconds.push_back(seconds(*ours, message));
      ratios.push_back(our_seconds.back() / theirs_seconds.back());
    }
    json["passes"].push_back({{"queries", queries},
                              {"single_seconds", median(theirs_seconds)},
                              {"shards_seconds", median(our_seconds)},
                              {"ratio", median(ratios)},
                              {"ratio_least", *std::min_element(ratios.begin(), ratios.end())},
                              {"ratio_most", *std::max_element(ratios.begin(), ratios.end())}});
  }
  or_die(run->leave());
  std::printf("%s\n", json.dump().c_str());
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 8) {
    std::fprintf(
        stderr,
        "usage: mpirun -n N shards_bench DATABASE FIELD SPLIT THREADS SINGLE_THREADS REPEATS QUERIES ...\n");
    return 1;
  }
  const auto world = or_die(shards::World::create());
  measure(*world, argc, argv);
  world->finish();
  return 0;
}
