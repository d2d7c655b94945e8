#include "tune.h"

#include <algorithm>
#include <chrono>
#include <span>

#include "pirx/base/cpu.h"
#include "pirx/base/sliced_kernels.h"
#include "pirx/fp/w160.h"
#include "pirx/fp/w48.h"
#include "pirx/gf2e/gf2.h"
#include "pirx/gf2e/gf2_16.h"
#include "pirx/gf2e/gf2_8.h"
#include "pirx/strassen/engine.h"

namespace pirx::cli {
namespace {

using strassen::Engine;
using strassen::ExecOptions;
using strassen::Layout;
using strassen::PreparedMatrix;
using strassen::Threshold;
using strassen::Tuning;
using strassen::Way;
using Clock = std::chrono::steady_clock;

// A level of Strassen takes memory, or helps some shapes more than others: so much faster it must be. So the
// plan is never slower than depth 0 by more than the noise of the measurement.
constexpr double kLevelGain = 1.03;

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

template <class F>
class Tuner {
 public:
  Tuner(const F& f, matrix::ConstView<std::byte> D, Rng& rng, const TuneOptions& options,
        std::vector<TuneStep>& steps)
      : f_(f),
        kernels_(choose_kernels(f_, allowed_cpu_features_or_die())),
        D_(D),
        rng_(rng),
        options_(options),
        steps_(steps) {
    D_.cols -= D_.cols % f_.word_bytes();
  }

  Result<std::vector<Threshold>> run() {
    PIRX_ASSIGN(Q_, matrix::Matrix<typename F::Elem>::create(kMostQueries, D_.rows));
    for (std::size_t i = 0; i < kMostQueries; ++i) f_.random_fill(rng_, std::span(Q_.row(i), D_.rows));
    for (auto* out : {&R_, &other_}) {
      PIRX_ASSIGN(*out, matrix::Matrix<typename F::Sum>::create(kMostQueries, D_.cols / f_.word_bytes()));
    }
    const Engine<F> engine(f_, kernels_, Tuning());
    PIRX_ASSIGN(const auto plain, engine.prepare(D_, {.threads = options_.threads}));
    if (plain.layout() == Layout::kSliced) {
      PIRX_TRY(planes(engine, plain));
    } else {
      PIRX_TRY(rows(engine, plain));
    }
    return std::move(found_);
  }

 private:
  // A prime field is far slower, and has no way that begins later.
  static constexpr bool kPrime = std::is_same_v<F, fp::W160> || std::is_same_v<F, fp::W48>;
  static constexpr std::size_t kMostQueries = kPrime ? 128 : 1024;

  Result<void> planes(const Engine<F>& engine, const PreparedMatrix<F>& D) {
    if (kernels_.sliced->multiply_direct != nullptr) {
      PIRX_TRY(up_to(Way::kDirect, {1, 2, 3, 4, 5, 6, 8}, D, {{Way::kFused, 256}}, 16));
    }
    if (kernels_.sliced->multiply_fused != nullptr) {
      PIRX_TRY(up_to(Way::kFused, {8, 16, 24, 32, 48, 64, 96, 128}, D, {{Way::kDirect, 0}}, 256));
    }
    // Not where there are too few rows for it to be chosen.
    const strassen::Shape shape{kMostQueries, D.rows(), D.cols()};
    if (engine_with({}, Way::kLevelInPlanes, 1).plan(shape).depth > 0) {
      PIRX_TRY(level(Way::kLevelInPlanes, engine, D, D));
    }
    PIRX_ASSIGN(const auto stored, engine.prepare(D_, {.threads = options_.threads, .depth = 1}));
    if (stored.depth() == 1) PIRX_TRY(level(Way::kStoredLevel, engine, D, stored));
    return {};
  }

  Result<void> rows(const Engine<F>& engine, const PreparedMatrix<F>& D) {
    const std::vector<std::size_t> queries = {128, 96, 64, 48, 32, 24, 16, 12, 8, 4};
    std::size_t toom = 0;
    if (kernels_.toom != nullptr) {
      PIRX_TRY(from(Way::kToom, queries, D, {{Way::kResidues, 0}}));
      toom = found_.back().queries;
    }
    if (kernels_.residues != nullptr) {
      PIRX_TRY(from(Way::kResidues, queries, D, {{Way::kToom, toom}}));
      const std::size_t residues = found_.back().queries;
      PIRX_ASSIGN(const auto kept,
                  engine.prepare(D_, {.layout = Layout::kResidues, .threads = options_.threads}));
      if (kept.layout() == Layout::kResidues) {
        PIRX_TRY(from(Way::kKeptResidues, queries, kept, {{Way::kToom, toom}, {Way::kResidues, residues}}));
      }
    }
    // Both win over a level in rows wherever there is one.
    if (kernels_.toom == nullptr && kernels_.residues == nullptr) {
      PIRX_TRY(level(Way::kLevelInRows, engine, D, D));
    }
    return {};
  }

  using Choices = std::vector<std::pair<Way, std::size_t>>;

  Engine<F> engine_with(const Choices& choices, Way way, std::size_t queries) const {
    std::vector<Threshold> thresholds = {{f_.tag(), kernels_.name, way, queries}};
    for (const auto& [other, value] : choices) thresholds.push_back({f_.tag(), kernels_.name, other, value});
    return Engine<F>(f_, kernels_, *Tuning::create(std::move(thresholds)));
  }

  /// The way is for the first of `queries` (rising) where it is faster, and for none after one where it is
  /// not.
  Result<void> up_to(Way way, const std::vector<std::size_t>& queries, const PreparedMatrix<F>& D,
                     const Choices& others, std::size_t most) {
    const auto with = engine_with(others, way, most), without = engine_with(others, way, 0);
    std::size_t best = 0;
    for (const std::size_t q : queries) {
      PIRX_ASSIGN(const double gain, compare(way, q, with, D, {}, without, D, {}));
      if (gain < 1) break;
      best = q;
    }
    found_.push_back({f_.tag(), kernels_.name, way, best});
    return {};
  }

  /// The way is from the smallest of `queries` (falling) on from which it is always faster.
  Result<void> from(Way way, const std::vector<std::size_t>& queries, const PreparedMatrix<F>& D,
                    const Choices& others) {
    const auto with = engine_with(others, way, 1), without = engine_with(others, way, 0);
    std::size_t best = 0;
    for (const std::size_t q : queries) {
      if (q > kMostQueries) continue;
      PIRX_ASSIGN(const double gain, compare(way, q, with, D, {}, without, D, {}));
      if (gain < 1) break;
      best = q;
    }
    found_.push_back({f_.tag(), kernels_.name, way, best});
    return {};
  }

  /// A level is for blocks of the fewest queries from which it always gains.
  Result<void> level(Way way, const Engine<F>& engine, const PreparedMatrix<F>& plain,
                     const PreparedMatrix<F>& deep) {
    std::size_t best = 0;
    for (std::size_t q = kMostQueries; q >= 64; q /= 2) {
      PIRX_ASSIGN(const double gain,
                  compare(way, q, engine, deep, {.depth = 1}, engine, plain, {.depth = 0}));
      if (gain < kLevelGain) break;
      best = q / 2;
    }
    found_.push_back({f_.tag(), kernels_.name, way, best});
    return {};
  }

  /// How many times longer the second product takes. Both are computed and compared first, then run in turns.
  Result<double> compare(Way way, std::size_t q, const Engine<F>& with, const PreparedMatrix<F>& with_D,
                         ExecOptions with_options, const Engine<F>& without,
                         const PreparedMatrix<F>& without_D, ExecOptions without_options) {
    with_options.threads = without_options.threads = options_.threads;
    const auto queries = std::as_const(Q_).view().window(0, 0, q, D_.rows);
    const auto first = R_.view().window(0, 0, q, R_.cols()),
               second = other_.view().window(0, 0, q, R_.cols());
    PIRX_TRY(with.multiply(queries, with_D, first, with_options));
    PIRX_TRY(without.multiply(queries, without_D, second, without_options));
    for (std::size_t i = 0; i < q; ++i) {
      for (std::size_t j = 0; j < R_.cols(); ++j) {
        if (f_.sum_equal(first.at(i, j), second.at(i, j))) continue;
        return fail(ErrorCode::kInternal, "two ways of the " + std::string(kernels_.name) + " kernel of " +
                                              f_.tag().name() + " differ: " + std::string(way_name(way)));
      }
    }
    std::vector<double> times, other_times;
    for (int run = 0; run < options_.runs; ++run) {
      const auto start = Clock::now();
      PIRX_TRY(with.multiply(queries, with_D, first, with_options));
      const auto middle = Clock::now();
      PIRX_TRY(without.multiply(queries, without_D, second, without_options));
      const auto end = Clock::now();
      times.push_back(std::chrono::duration<double>(middle - start).count());
      other_times.push_back(std::chrono::duration<double>(end - middle).count());
    }
    const double gain = median(other_times) / median(times);
    steps_.push_back({f_.tag(), kernels_.name, way, q, gain});
    return gain;
  }

  const F f_;
  const Kernels<F>& kernels_;
  matrix::ConstView<std::byte> D_;
  Rng& rng_;
  const TuneOptions options_;
  std::vector<TuneStep>& steps_;
  std::vector<Threshold> found_;
  matrix::Matrix<typename F::Elem> Q_;
  matrix::Matrix<typename F::Sum> R_, other_;
};

}  // namespace

Result<std::vector<Threshold>> tune_field(const FieldTag& field, matrix::ConstView<std::byte> D, Rng& rng,
                                          const TuneOptions& options, std::vector<TuneStep>& steps) {
  if (field == kTagGf2) return Tuner(gf2e::Gf2{}, D, rng, options, steps).run();
  if (field == kTagGf2_8) return Tuner(gf2e::Gf2_8{}, D, rng, options, steps).run();
  if (field == kTagGf2_16) return Tuner(gf2e::Gf2_16{}, D, rng, options, steps).run();
  if (field == kTagW160) return Tuner(fp::W160{}, D, rng, options, steps).run();
  if (field == kTagW48) return Tuner(fp::W48{}, D, rng, options, steps).run();
  return fail(ErrorCode::kInvalidArgument,
              "field " + field.name() + " is not tuned: choose gf2, gf2_8, gf2_16, w160 or w48");
}

}  // namespace pirx::cli
