// SPDX-License-Identifier: Apache-2.0
// Figure 4 of paper 003 (Litchev 2024): one product of a query ciphertext and a ciphertext, for many bases of
// the gadget. Processor time of one thread, everything in the cache, medians of --samples.
//
// product/gadget:...   the time is that of the fused product; counters have its parts in microseconds.
// noise_bits is half the log2 of the sum of the squares of a coefficient's digits, by which a product
// multiplies the deviation of a key's errors; noise_bits_by_model is what the library's noise model says.
#include <algorithm>
#include <cmath>
#include <random>

#include "bench/measure.h"
#include "cpir/spiral/gadget.h"

namespace pirx::bench {
namespace {

using namespace cpir;
using namespace cpir::spiral;
using U32 = std::uint32_t;

/// A ciphertext, columns to multiply it by, and the memory for both forms of the product.
class Product {
 public:
  explicit Product(const Gadget& gadget)
      : stride_(polynomial_stride(ring_.d())),
        gadget_(gadget),
        count_(2 * gadget.digits()),
        workspace_(need(Workspace::create(ring_.d(), count_))),
        in_(2 * stride_),
        out_(2 * stride_),
        columns_(2 * count_ * stride_) {
    std::mt19937_64 engine(4);
    for (auto* slots : {&in_, &columns_}) {
      for (std::size_t at = 0; at < slots->size(); ++at) {
        (*slots)[at] = static_cast<U32>(engine() % kPrimes[at % stride_ / ring_.d() % 2]);
      }
    }
  }

  /// Both polynomials become digits.
  void invert() {
    decompose(ring_, gadget_, in_.data(), 0, workspace_);
    decompose(ring_, gadget_, in_.data() + stride_, gadget_.digits(), workspace_);
  }
  /// The whole product: inversion, then transforms and sums in one kernel, as servers do it.
  void fused() {
    invert();
    multiply_digits(ring_, count_, columns_.data(), out_.data(), workspace_);
  }
  /// The same, but all transforms, then all sums.
  void separate() {
    invert();
    transform_digits(ring_, count_, workspace_);
    for (std::size_t row = 0; row < 2; ++row) {
      for (std::size_t k = 0; k < 2; ++k) {
        const std::size_t at = row * stride_ + k * ring_.d();
        ring_.kernel().inner_product(ring_.prime(k), out_.data() + at, workspace_.digits[0] + k * ring_.d(),
                                     stride_, columns_.data() + at, 2 * stride_, count_);
      }
    }
  }

  /// Both forms agree, and a product by the gadget's weights gives the ciphertext back if no digit is left
  /// out.
  bool right() {
    fused();
    const auto found = out_;
    separate();
    if (found != out_) return false;
    if (gadget_.delta() > 1) return true;  // digits are left out: nothing gives the ciphertext back
    const auto kept = columns_;
    set_weights();
    fused();
    columns_ = kept;
    for (std::size_t at = 0; at < in_.size(); ++at) {
      if (at % stride_ < 2 * ring_.d() && in_[at] != out_[at]) return false;
    }
    return true;
  }

  /// The sum of the squares of a coefficient's digits, as the mean over the coefficients.
  double squares() {
    invert();
    double sum = 0;
    for (unsigned k = 0; k < gadget_.digits(); ++k) {
      for (std::size_t i = 0; i < ring_.d(); ++i) {
        const double digit = static_cast<std::int32_t>(workspace_.digits[k][ring_.d() + i]);
        sum += digit * digit;
      }
    }
    return sum / static_cast<double>(ring_.d());
  }

 private:
  /// Columns that encrypt 1 without any secret: the weights of c0's digits, then those of c1's.
  void set_weights() {
    std::fill(columns_.begin(), columns_.end(), U32{0});
    for (unsigned k = 0; k < count_; ++k) {
      U32* column = columns_.data() + 2 * k * stride_ + (k / gadget_.digits()) * stride_;
      const auto weights = gadget_.weights(k % gadget_.digits());
      for (std::size_t i = 0; i < 2 * ring_.d(); ++i) column[i] = weights[i / ring_.d()];
      ring_.to_montgomery(column, column);
    }
  }

  const Ring& ring_ = Ring::get(kLogDimension);
  std::size_t stride_;
  Gadget gadget_;
  unsigned count_;
  Workspace workspace_;
  std::vector<U32> in_, out_, columns_;
};

template <class Work>
double median_microseconds(unsigned samples, const Work& work) {
  std::vector<double> times(samples);
  for (auto& time : times) time = 1e6 * seconds_of(work, processor_clock);
  const auto middle = times.begin() + samples / 2;
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

void add_gadget(const Gadget::Spec& spec, unsigned samples) {
  const auto gadget = need(Gadget::create(spec));
  std::string name = "product/gadget:" + std::to_string(spec.z);
  if (spec.domain == Domain::kUnsigned) name += "_unsigned";
  if (gadget.delta() > 1) name += "_cut";
  const auto loop = [gadget, samples](benchmark::State& state) {
    Product product(gadget);
    if (!product.right()) return Program::wrong(state, "a wrong product");
    const double squares = product.squares();
    const double inversion = median_microseconds(samples, [&] { product.invert(); });
    const double separate = median_microseconds(samples, [&] { product.separate(); });
    const double fused = median_microseconds(samples, [&] { product.fused(); });
    for (auto _ : state) state.SetIterationTime(fused / 1e6);
    const double by_model = std::log2(gadget.mean_square()) / 2;
    state.counters = {{"digits", gadget.digits()},
                      {"inversion", inversion},
                      {"separate", separate},
                      {"fused", fused},
                      {"noise_bits", std::log2(squares) / 2},
                      {"noise_bits_by_model", by_model}};
  };
  benchmark::RegisterBenchmark(name.c_str(), loop)
      ->Iterations(1)
      ->UseManualTime()
      ->Unit(benchmark::kMicrosecond);
}

}  // namespace
}  // namespace pirx::bench

int main(int argc, char** argv) {
  pirx::bench::Program program(argc, argv);
  const auto bases = program.numbers<std::uint32_t>(
      "bases", "2,3,4,5,7,8,9,16,27,32,64,81,128,243,256,512,638,1024,2048,2319,4096", 2, 1u << 16);
  const auto samples = static_cast<unsigned>(program.number("samples", 101, 1, 1'000'000));
  program.start();
  using pirx::bench::add_gadget;
  add_gadget({.z = 2, .domain = pirx::cpir::spiral::Domain::kUnsigned}, samples);  // as Spiral has base 2
  for (const auto z : bases) add_gadget({.z = z}, samples);
  add_gadget({.z = 512, .drop = 3, .bits = 2}, samples);  // those of sets s1 and s3
  add_gadget({.z = 4096, .drop = 2, .bits = 8}, samples);
  return pirx::bench::Program::run();
}
