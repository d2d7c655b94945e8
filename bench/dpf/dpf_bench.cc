// SPDX-License-Identifier: Apache-2.0
// Times the server half of dpf: a key's expansion beside AES, and whole answers beside the plain product over
// GF(2) and a pass over memory.
//
// rate/instruction:...    vaesenc_512 and vaesenc_128, a round of AES on registers: the roof of an expansion
// expand/log_rows:...     one key, one core
// server/q:...            the answer to q queries, parsing and encoding included
// product/shape:.../q:... the engine's product alone: slots as rows and queries in bits, as dpf has them; or
//                         a square database and a byte an element
//
// Databases have --mib MiB in records of --bytes bytes. Answers are compared with the records before they are
// timed. bench/dpf/report runs this program.
#include <random>

#include "bench/engine/memory.h"
#include "bench/engine/rates.h"
#include "bench/random_database.h"
#include "pirx/gf2e/gf2.h"
#include "pirx/itpir/dpf/client.h"
#include "pirx/protocol.h"
#include "pirx/strassen/engine.h"

namespace pirx::bench {
namespace {

using benchmark::State;
using gf2e::Gf2;
using matrix::Matrix;

constexpr double kGiB = 1 << 30;

struct Settings {
  std::uint64_t mib = 0, bytes = 0;
  std::string folder;
  int threads = 1;
  std::uint64_t records() const { return (mib << 20) / bytes; }
} settings;

/// The step of the planner, which is one key's expansion.
void add_expansion(unsigned log_rows) {
  const auto run = [log_rows](State& state) {
    const auto steps = need(find_protocol("dpf"))->steps;
    const auto step =
        std::find_if(steps.begin(), steps.end(), [](auto& s) { return s.name == "dpf_expand"; });
    RateTable others;
    double seconds = 0;
    for (auto _ : state) {
      seconds = need(step->measure({step->name, {log_rows}}, others));
      state.SetIterationTime(seconds);
    }
    // Two blocks a node and one a leaf of 128 rows.
    const double leaves = static_cast<double>(std::uint64_t{1} << log_rows) / 128;
    state.counters["blocks_per_second"] = (2 * (leaves - 1) + leaves) / seconds;
    state.counters["rows_per_second"] = leaves * 128 / seconds;
  };
  benchmark::RegisterBenchmark(("expand/log_rows:" + std::to_string(log_rows)).c_str(), run)
      ->UseManualTime()
      ->Iterations(1)
      ->Unit(benchmark::kMillisecond);
}

// --- the server

void add_counters(State& state, double seconds, std::size_t q, const std::byte* data, double bytes) {
  const double read = seconds_of([&] {
    benchmark::DoNotOptimize(read_memory(data, static_cast<std::size_t>(bytes), settings.threads));
  });
  state.counters["ms_per_query_gib"] = seconds * 1e3 / static_cast<double>(q) / (bytes / kGiB);
  state.counters["share_of_read"] = read / seconds;
}

struct Servers {
  Servers()
      : database(
            random_database(settings.records(),
                            {.records_per_row = 1, .fixed_record_bytes = settings.bytes, .digests = false},
                            settings.folder)) {
    for (const char* coordinate : {"1", "2"}) {
      servers.push_back(
          need(serve(*need(find_protocol("dpf")), {.database = database, .threads = settings.threads},
                     {{"coordinate", coordinate}, {"max_queries", "4096"}})));
    }
    client.emplace(need(itpir::dpf::Params::create({database->geometry(), database->version(), {1, 2}})));
  }
  std::shared_ptr<const database::Database> database;
  std::vector<std::unique_ptr<AnyServer>> servers;
  std::optional<itpir::dpf::Client> client;
};

/// Whether both servers' replies are the records.
bool right_records(const Servers& of, const std::vector<std::uint64_t>& wanted, itpir::Query& query) {
  std::vector<std::optional<Bytes>> replies;
  for (std::size_t j = 0; j < 2; ++j) {
    replies.emplace_back(ask(*of.servers[j], query.requests[j]));
  }
  spoil(*replies[0]);
  const auto records = of.client->decode(std::move(query.state), replies);
  if (!records) return false;
  for (std::size_t k = 0; k < wanted.size(); ++k) {
    const ByteSpan want = need(of.database->record(wanted[k])), got = records->records[k];
    if (!std::equal(got.begin(), got.end(), want.begin(), want.end())) return false;
  }
  return true;
}

void server(State& state, std::size_t q) {
  auto& of = shared<Servers>("servers");
  auto rng = need(Rng::from_os());
  std::mt19937_64 random(1);
  std::vector<std::uint64_t> wanted(q);
  for (auto& position : wanted) position = random() % settings.records();
  auto query = need(of.client->query(wanted, rng));
  const Bytes message(query.requests[0].begin(), query.requests[0].end());
  if (!right_records(of, wanted, query)) return Program::wrong(state, "a wrong answer");
  const double seconds = loop(state, [&] { benchmark::DoNotOptimize(ask(*of.servers[0], message)); });
  const auto rows = of.database->rows();
  add_counters(state, seconds, q, rows.data, static_cast<double>(settings.mib << 20));
  state.counters["working_mib"] = static_cast<double>(of.servers[0]->working_bytes(q)) / (1 << 20);
  // What a client sends either server for a record of 2^22, whatever is measured here.
  const auto large = need(database::Geometry::create({.records = std::uint64_t{1} << 22,
                                                      .record_bytes = 256,
                                                      .records_per_row = 1,
                                                      .variable_length = false,
                                                      .digests = false}));
  const itpir::dpf::Client there(need(itpir::dpf::Params::create({large, {}, {1, 2}})));
  state.counters["request_bytes_2_22"] = static_cast<double>(there.request_bytes(1));
}

// --- the product

struct Products {
  explicit Products(bool square) : engine(Gf2{}) {
    const std::uint64_t bytes = settings.mib << 20;
    std::uint64_t rows = bytes / settings.bytes;
    if (square) {
      for (rows = 1024; rows * rows * 4 <= bytes;) rows *= 2;
    }
    D = need(
        Matrix<std::byte>::create(static_cast<std::size_t>(rows), static_cast<std::size_t>(bytes / rows)));
    std::mt19937_64 random(2);
    for (std::size_t i = 0; i < D.rows(); ++i) fill(random, {D.row(i), D.cols()});
    prepared.emplace(need(engine.prepare(std::as_const(D).view(), {.threads = settings.threads})));
  }
  static void fill(std::mt19937_64& random, MutableByteSpan out) {
    for (std::size_t at = 0; at < out.size(); at += 8) {
      const std::uint64_t word = random();
      std::memcpy(out.data() + at, &word, std::min<std::size_t>(8, out.size() - at));
    }
  }
  strassen::Engine<Gf2> engine;
  Matrix<std::byte> D;
  std::optional<strassen::PreparedMatrix<Gf2>> prepared;
};

void product(State& state, std::size_t q, bool square) {
  auto& of = shared<Products>(square ? "square" : "slots", square);
  const std::size_t r = of.D.rows();
  std::mt19937_64 random(3);
  auto bits = need(Matrix<std::byte>::create(q, (r + 7) / 8));
  auto elems = need(Matrix<std::uint8_t>::create(square ? q : 0, r));
  auto R = need(Matrix<std::uint8_t>::create(q, of.D.cols()));
  const auto bit = [&](std::size_t i, std::size_t k) {
    return static_cast<std::uint8_t>(std::to_integer<unsigned>(bits.at(i, k / 8)) >> (k % 8) & 1);
  };
  for (std::size_t i = 0; i < q; ++i) {
    Products::fill(random, {bits.row(i), bits.cols()});
    for (std::size_t k = 0; k < r && square; ++k) elems.at(i, k) = bit(i, k);
  }
  const strassen::ExecOptions how{.threads = settings.threads};
  const auto run = [&] {
    need(square ? of.engine.multiply(std::as_const(elems).view(), *of.prepared, R.view(), how)
                : of.engine.multiply_bits(std::as_const(bits).view(), *of.prepared, R.view(), how));
  };
  run();
  spoil({reinterpret_cast<std::byte*>(R.row(0)), R.cols()});
  for (std::size_t i = 0; i < q; i += q / 4 + 1) {
    const std::size_t j = random() % R.cols();
    std::uint8_t sum = 0;
    for (std::size_t k = 0; k < r; ++k) {
      sum = static_cast<std::uint8_t>(sum ^ ((0u - bit(i, k)) & std::to_integer<unsigned>(of.D.at(k, j))));
    }
    if (sum != R.at(i, j)) return Program::wrong(state, "a wrong answer");
  }
  add_counters(state, loop(state, run), q, of.D.row(0), static_cast<double>(settings.mib << 20));
}

void add_timed(const std::string& name, const std::function<void(State&)>& run) {
  benchmark::RegisterBenchmark(name.c_str(), run)
      ->MeasureProcessCPUTime()
      ->UseRealTime()
      ->Unit(benchmark::kMillisecond);
}

}  // namespace
}  // namespace pirx::bench

int main(int argc, char** argv) {
  using namespace pirx::bench;
  Program program(argc, argv);
  settings.mib = program.number("mib", 256, 1, 1 << 16);
  settings.bytes = program.number("bytes", 256, 1, 1 << 20);
  settings.threads = static_cast<int>(program.number("threads", 1, 1, 1024));
  settings.folder = program.text("folder", std::filesystem::temp_directory_path().string());
  const auto queries = program.numbers<std::size_t>("q", "1,16,256", 1, 4096);
  const auto log_rows = program.numbers<unsigned>("log_rows", "22", 1, 30);
  program.start();
  add_instruction_rates();
  for (const auto rows : log_rows) add_expansion(rows);
  for (const auto q : queries) {
    add_timed("server/q:" + std::to_string(q), [q](benchmark::State& state) { server(state, q); });
  }
  for (const char* shape : {"slots", "square"}) {
    for (const auto q : queries) {
      add_timed(std::string("product/shape:") + shape + "/q:" + std::to_string(q),
                [q, square = shape == std::string("square")](benchmark::State& state) {
                  product(state, q, square);
                });
    }
  }
  return Program::run();
}
