// The engine on one database for q = 1 .. 256 queries in every field, beside one pass over memory and table
// look-up.
//
//   engine_bench [--mib=64] [--threads=1] [Google Benchmark's flags]
//
// JSON by --benchmark_format=json. Counters: GB/s of the database (one pass serves all q queries), its share
// of the read bandwidth measured first in the same run, 10^9 multiply-adds per second, and milliseconds per
// query and GiB.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>

#include "bench/engine/baselines.h"
#include "pirx/fp/prime_field.h"
#include "pirx/fp/w160.h"
#include "pirx/gf2e/gf2.h"
#include "pirx/gf2e/gf2_16.h"
#include "pirx/gf2e/gf2_8.h"
#include "pirx/strassen/engine.h"

namespace pirx::bench {
namespace {

using matrix::ConstView;
using matrix::Matrix;

struct Options {
  std::size_t mib = 64;
  int threads = 1;
};

template <class T>
T or_die(Result<T> result) {
  if (result) return std::move(*result);
  std::fprintf(stderr, "engine_bench: %s\n", result.error().to_string().c_str());
  std::exit(1);
}
void or_die(const Result<void>& result) {
  if (result) return;
  std::fprintf(stderr, "engine_bench: %s\n", result.error().to_string().c_str());
  std::exit(1);
}

struct Source {
  std::mt19937_64 engine{1};
  void fill(MutableByteSpan out) {
    for (std::byte& byte : out) byte = static_cast<std::byte>(engine());
  }
};

/// As square as powers of two allow: 2^k rows of as many bytes or twice as many.
struct Database {
  explicit Database(std::size_t mib) {
    const std::uint64_t bytes = std::uint64_t{mib} << 20;
    std::size_t rows = 1024;
    while (std::uint64_t{rows} * rows * 4 <= bytes) rows *= 2;
    matrix = or_die(Matrix<std::uint64_t>::create(rows, bytes / rows / 8));
    std::mt19937_64 engine(2);
    for (std::size_t i = 0; i < rows; ++i) {
      for (std::size_t j = 0; j < matrix.cols(); ++j) matrix.at(i, j) = engine();
    }
  }
  /// The leading columns that are whole words of that size.
  ConstView<std::byte> words(std::size_t word_bytes) const {
    const auto view = matrix.view();
    const std::size_t width = view.cols * 8 / word_bytes * word_bytes;
    return {reinterpret_cast<const std::byte*>(view.data), view.rows, width, view.stride};
  }
  Matrix<std::uint64_t> matrix;
};

double g_read_rate = 0;  // bytes per second

void count(benchmark::State& state, std::size_t q, ConstView<std::byte> D, double products_per_query) {
  const double bytes = static_cast<double>(D.rows) * static_cast<double>(D.cols);
  const auto rate = benchmark::Counter::kIsIterationInvariantRate;
  state.counters["GB/s"] = benchmark::Counter(bytes / 1e9, rate);
  state.counters["share_of_read"] = benchmark::Counter(bytes / g_read_rate, rate);
  state.counters["GMAC/s"] = benchmark::Counter(static_cast<double>(q) * products_per_query / 1e9, rate);
  state.counters["ms/query/GiB"] = benchmark::Counter(static_cast<double>(q) * bytes / (1 << 30) / 1e3,
                                                      rate | benchmark::Counter::kInvert);
}

/// Compares a few queries on a few columns with the field's scalar arithmetic; ends the program on a
/// difference.
template <class F>
void check(const F& f, ConstView<typename F::Elem> Q, ConstView<std::byte> D, ConstView<typename F::Sum> R) {
  std::mt19937_64 engine(3);
  for (int round = 0; round < 16 && R.rows != 0; ++round) {
    const std::size_t i = engine() % R.rows, j = engine() % R.cols;
    auto sum = f.load_word(D.row(0) + j * f.word_bytes());
    sum = f.sum_scale(Q.at(i, 0), sum);
    for (std::size_t k = 1; k < D.rows; ++k) {
      sum = f.sum_add(sum, f.sum_scale(Q.at(i, k), f.load_word(D.row(k) + j * f.word_bytes())));
    }
    if (!f.sum_equal(sum, R.at(i, j))) {
      std::fprintf(stderr, "engine_bench: wrong answer over %s\n", f.tag().name().c_str());
      std::exit(1);
    }
  }
}

/// The engine with its best allowed kernel. depth -1: the plan's own.
template <class F>
void register_engine(const F& f, const std::shared_ptr<const Database>& database, const Options& options,
                     std::size_t q, int depth) {
  const std::string name =
      f.tag().name() + "/q:" + std::to_string(q) + "/depth:" + (depth < 0 ? "auto" : std::to_string(depth));
  benchmark::RegisterBenchmark(
      name.c_str(),
      [=](benchmark::State& state) {
        const strassen::Engine<F> engine(f);
        const ConstView<std::byte> D = database->words(f.word_bytes());
        const auto prepared = or_die(engine.prepare(D));
        auto Q = or_die(Matrix<typename F::Elem>::create(q, D.rows));
        auto R = or_die(Matrix<typename F::Sum>::create(q, prepared.cols()));
        Source source;
        for (std::size_t i = 0; i < q; ++i) f.random_fill(source, {Q.row(i), D.rows});
        const strassen::ExecOptions exec{options.threads, depth};
        or_die(engine.multiply(Q.view(), prepared, R.view(), exec));
        check(f, Q.view(), D, R.view());
        for (auto _ : state) {
          or_die(engine.multiply(Q.view(), prepared, R.view(), exec));
          benchmark::ClobberMemory();
        }
        const double columns = f.tag() == kTagGf2 ? 8 : 1;
        count(state, q, D, static_cast<double>(D.rows) * static_cast<double>(prepared.cols()) * columns);
        state.SetLabel(engine.plan({q, D.rows, prepared.cols()}, exec).to_string());
      })
      ->UseRealTime()
      ->Unit(benchmark::kMillisecond);
}

void register_table(const std::shared_ptr<const Database>& database, std::size_t q) {
  benchmark::RegisterBenchmark(("table_lookup_gf2_8/q:" + std::to_string(q)).c_str(),
                               [=](benchmark::State& state) {
                                 const gf2e::Gf2_8 f;
                                 const TableProduct table(f);
                                 const ConstView<std::byte> D = database->words(8);
                                 auto Q = or_die(Matrix<std::uint8_t>::create(q, D.rows));
                                 auto R = or_die(Matrix<std::uint8_t>::create(q, D.cols));
                                 Source source;
                                 for (std::size_t i = 0; i < q; ++i)
                                   f.random_fill(source, {Q.row(i), D.rows});
                                 table.multiply(Q.view(), D, R.view());
                                 check(f, Q.view(), D, R.view());
                                 for (auto _ : state) {
                                   table.multiply(Q.view(), D, R.view());
                                   benchmark::ClobberMemory();
                                 }
                                 count(state, q, D,
                                       static_cast<double>(D.rows) * static_cast<double>(D.cols));
                               })
      ->UseRealTime()
      ->Unit(benchmark::kMillisecond);
}

void register_read(const std::shared_ptr<const Database>& database) {
  benchmark::RegisterBenchmark("read_memory",
                               [=](benchmark::State& state) {
                                 const ConstView<std::byte> D = database->words(1);
                                 for (auto _ : state)
                                   benchmark::DoNotOptimize(read_memory(D.data, D.rows * D.stride));
                                 count(state, 1, D, 0);
                               })
      ->UseRealTime()
      ->Unit(benchmark::kMillisecond);
}

/// The median of passes for a quarter of a second, at least 5.
double measured_read_rate(const Database& database) {
  using Clock = std::chrono::steady_clock;
  const ConstView<std::byte> D = database.words(1);
  const std::size_t bytes = D.rows * D.stride;
  std::vector<double> seconds;
  for (double total = 0; total < 0.25 || seconds.size() < 5; total += seconds.back()) {
    const auto start = Clock::now();
    benchmark::DoNotOptimize(read_memory(D.data, bytes));
    seconds.push_back(std::chrono::duration<double>(Clock::now() - start).count());
  }
  std::nth_element(seconds.begin(), seconds.begin() + static_cast<std::ptrdiff_t>(seconds.size() / 2),
                   seconds.end());
  return static_cast<double>(bytes) / seconds[seconds.size() / 2];
}

template <class F>
void register_field(const F& f, const std::shared_ptr<const Database>& database, const Options& options,
                    std::size_t most_queries = 256) {
  for (std::size_t q = 1; q <= most_queries; q *= 4) {
    register_engine(f, database, options, q, -1);
    for (int depth = 0; q >= 64 && depth <= 3; ++depth) register_engine(f, database, options, q, depth);
  }
}

/// Takes --name=value out of the command line.
long take_flag(int& argc, char** argv, const std::string& name, long value) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view arg = argv[i];
    if (!arg.starts_with("--" + name + "=")) continue;
    value = std::strtol(argv[i] + name.size() + 3, nullptr, 10);
    std::copy(argv + i + 1, argv + argc + 1, argv + i);
    --argc;
    break;
  }
  if (value < 1 || value > (1 << 20)) {
    std::fprintf(stderr, "engine_bench: --%s must be from 1 to 1048576\n", name.c_str());
    std::exit(2);
  }
  return value;
}

}  // namespace
}  // namespace pirx::bench

int main(int argc, char** argv) {
  using namespace pirx;
  using namespace pirx::bench;
  Options options;
  options.mib = static_cast<std::size_t>(take_flag(argc, argv, "mib", 64));
  options.threads = static_cast<int>(take_flag(argc, argv, "threads", 1));
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;

  const auto database = std::make_shared<const Database>(options.mib);
  g_read_rate = measured_read_rate(*database);
  benchmark::AddCustomContext("database_mib", std::to_string(options.mib));
  benchmark::AddCustomContext("threads", std::to_string(options.threads));
  benchmark::AddCustomContext("cpu_features", cpu_features_name(detected_cpu_features()));
  benchmark::AddCustomContext("kernel_features", cpu_features_name(allowed_cpu_features_or_die()));
  benchmark::AddCustomContext("compiler", __VERSION__);
  benchmark::AddCustomContext("read_GB/s", std::to_string(g_read_rate / 1e9));

  register_read(database);
  for (const std::size_t q : {1, 4, 16, 64, 256}) register_table(database, q);
  register_field(gf2e::Gf2_8(), database, options);
  register_field(gf2e::Gf2_16(), database, options);
  register_field(gf2e::Gf2(), database, options);
  register_field(fp::W160(), database, options);
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
