// SPDX-License-Identifier: Apache-2.0
// pirx bench: measures how fast this machine answers, in half a minute, after checking the answers.
#include <algorithm>
#include <ctime>
#include <vector>

#include "cli.h"
#include "pirx/base/cpu.h"
#include "pirx/base/json.h"
#include "pirx/base/rng.h"
#include "pirx/batchcodes/fields.h"
#include "pirx/gf2e/gf2.h"
#include "pirx/strassen/engine.h"

namespace pirx::cli {
namespace {

using Clock = std::chrono::steady_clock;

struct BenchArguments {
  std::uint64_t database_bytes = std::uint64_t{256} << 20, row_bytes = 16384;
  std::vector<std::size_t> queries{1, 32, 256};
  std::vector<std::string> fields{"gf2", "gf2_8", "gf2_16", "w160", "w48"};
  int threads = 0, runs = 5;
  bool json = false;
};

struct Row {
  std::string field, kernel;
  std::size_t queries;
  int threads;
  double milliseconds, cpu_milliseconds, gigabytes_per_second;
};

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

/// One entry of R against a plain sum with the field's scalar arithmetic.
template <class F>
bool right_at(const F& f, matrix::ConstView<typename F::Elem> Q, matrix::ConstView<std::byte> D,
              matrix::ConstView<typename F::Sum> R, std::size_t i, std::size_t j) {
  typename F::Sum sum{};
  for (std::size_t k = 0; k < D.rows; ++k) {
    sum = f.sum_add(sum, f.sum_scale(Q.at(i, k), f.load_word(D.row(k) + j * f.word_bytes())));
  }
  return f.sum_equal(sum, R.at(i, j));
}

template <class F>
Result<void> measure(const F& f, const BenchArguments& a, matrix::ConstView<std::byte> D, Rng& rng,
                     std::vector<Row>& rows) {
  const strassen::Engine<F> engine(f);
  D.cols -= D.cols % f.word_bytes();
  if (D.cols == 0) {
    return invalid("--row-bytes must be at least the " + std::to_string(f.word_bytes()) +
                   " bytes of a word of " + f.tag().name());
  }
  PIRX_ASSIGN(const auto prepared, engine.prepare(D));
  for (const std::size_t q : a.queries) {
    PIRX_ASSIGN(auto Q, matrix::Matrix<typename F::Elem>::create(q, D.rows));
    PIRX_ASSIGN(auto R, matrix::Matrix<typename F::Sum>::create(q, prepared.cols()));
    for (std::size_t i = 0; i < q; ++i) f.random_fill(rng, std::span(Q.row(i), D.rows));
    const strassen::ExecOptions exec{.threads = a.threads};
    PIRX_TRY(engine.multiply(Q.view(), prepared, R.view(), exec));
    for (const std::size_t j : {std::size_t{0}, prepared.cols() / 2, prepared.cols() - 1}) {
      const auto& answer = std::as_const(R);
      if (!right_at(f, std::as_const(Q).view(), D, answer.view(), q - 1, j)) {
        return fail(ErrorCode::kInternal, "the " + std::string(engine.kernels().name) + " kernel of " +
                                              f.tag().name() + " computes a wrong product on this machine");
      }
    }
    // Processor time is what the product costs where other work shares the machine.
    std::vector<double> times, cpu_times;
    for (int run = 0; run < a.runs; ++run) {
      const auto start = Clock::now();
      const auto cpu_start = std::clock();
      PIRX_TRY(engine.multiply(Q.view(), prepared, R.view(), exec));
      cpu_times.push_back(1e3 * static_cast<double>(std::clock() - cpu_start) / CLOCKS_PER_SEC);
      times.push_back(std::chrono::duration<double, std::milli>(Clock::now() - start).count());
    }
    const double ms = median(times);
    const auto plan = engine.plan({q, D.rows, prepared.cols()}, exec);
    rows.push_back({f.tag().name(), engine.kernels().name, q, plan.threads, ms, median(cpu_times),
                    static_cast<double>(D.rows * D.cols) / ms / 1e6});
  }
  return {};
}

Result<void> bench(const BenchArguments& a) {
  PIRX_ASSIGN(const auto features, allowed_cpu_features());
  if (a.row_bytes == 0 || a.database_bytes < a.row_bytes) {
    return invalid("--size must be at least --row-bytes, and both above zero");
  }
  if (a.runs < 1) return invalid("--runs must be at least 1");
  PIRX_ASSIGN(auto rng, Rng::from_os());
  PIRX_ASSIGN(auto database, matrix::Matrix<std::byte>::create(a.database_bytes / a.row_bytes, a.row_bytes));
  for (std::size_t i = 0; i < database.rows(); ++i) rng.fill({database.row(i), database.cols()});
  const auto D = std::as_const(database).view();
  std::vector<Row> rows;
  for (const auto& name : a.fields) {
    PIRX_ASSIGN(const auto tag, batchcodes::field_by_name(name));
    if (tag == kTagGf2) {
      PIRX_TRY(measure(gf2e::Gf2{}, a, D, rng, rows));
      continue;
    }
    PIRX_TRY(batchcodes::with_field(tag, [&]<class F>(const F& f) -> Result<void> {
      if constexpr (std::same_as<F, fp::PrimeField>) {
        return invalid("--field " + name + " is not measured: choose gf2, gf2_8, gf2_16, w160 or w48");
      } else {
        return measure(f, a, D, rng, rows);
      }
    }));
  }
  if (a.json) {
    OutJson json = {{"database_bytes", D.rows * D.cols},  {"rows", D.rows}, {"row_bytes", D.cols},
                    {"cpu", cpu_features_name(features)}, {"runs", a.runs}, {"results", OutJson::list()}};
    for (const auto& row : rows) {
      json["results"].push_back(
          {{"field", row.field},
           {"kernel", row.kernel},
           {"queries", row.queries},
           {"threads", row.threads},
           {"median_milliseconds", row.milliseconds},
           {"median_cpu_milliseconds", row.cpu_milliseconds},
           {"database_gb_per_second", row.gigabytes_per_second},
           {"milliseconds_per_query", row.milliseconds / static_cast<double>(row.queries)}});
    }
    std::printf("%s\n", json.dump(2).c_str());
    return {};
  }
  std::printf("database %s (%zu rows of %s), CPU %s, median of %d runs, answers checked\n",
              human_bytes(D.rows * D.cols).c_str(), D.rows, human_bytes(D.cols).c_str(),
              cpu_features_name(features).c_str(), a.runs);
  std::printf("%-8s %-10s %8s %8s %12s %14s %14s\n", "field", "kernel", "queries", "threads", "ms",
              "ms/query", "GB/s of data");
  for (const auto& row : rows) {
    std::printf("%-8s %-10s %8zu %8d %12.2f %14.3f %14.2f\n", row.field.c_str(), row.kernel.c_str(),
                row.queries, row.threads, row.milliseconds,
                row.milliseconds / static_cast<double>(row.queries), row.gigabytes_per_second);
  }
  return {};
}

}  // namespace

void add_bench_command(CLI::App& app) {
  auto& command = *app.add_subcommand("bench", "Measure how fast this machine answers");
  auto a = std::make_shared<BenchArguments>();
  add_size(command, "--size", a->database_bytes, "Bytes of the database, random, in memory [256MiB]");
  add_size(command, "--row-bytes", a->row_bytes, "Bytes of a row [16KiB]");
  command.add_option("--queries", a->queries, "Batch sizes")
      ->capture_default_str()
      ->check(CLI::Range(1, 65536));
  command.add_option("--field", a->fields, "gf2, gf2_8, gf2_16, w160, w48; repeatable")
      ->capture_default_str();
  command.add_option("--threads", a->threads, "0: one a core")
      ->capture_default_str()
      ->check(whole_number(0, 1024));
  command.add_option("--runs", a->runs, "Timed runs of each")->capture_default_str();
  command.add_flag("--json", a->json, "As JSON");
  command.footer(
      "Examples:\n"
      "  pirx bench --size 1GiB --row-bytes 32KiB --queries 1 64 256 --threads 1");
  set_action(command, [a] { return bench(*a); });
}

}  // namespace pirx::cli
