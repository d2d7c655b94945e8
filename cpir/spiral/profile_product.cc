// SPDX-License-Identifier: Apache-2.0
// Measures one product of a query ciphertext and a ciphertext by parts, as Figure 4 of "3-PIR" has it.
#include <time.h>

#include <algorithm>
#include <random>

#include "gadget.h"
#include "pirx/cpir/spiral/profile.h"

namespace pirx::cpir::spiral {
namespace {

using U32 = std::uint32_t;

/// A ciphertext, columns to multiply it by, and the memory for both forms of the product.
class Product {
 public:
  static Result<Product> create(const Gadget& gadget) {
    const Ring& ring = Ring::get(kLogDimension);
    PIRX_ASSIGN(auto workspace, Workspace::create(ring.d(), 2 * gadget.digits()));
    return Product(ring, gadget, std::move(workspace));
  }

  void invert() {
    decompose(ring_, gadget_, in_.data(), 0, workspace_);
    decompose(ring_, gadget_, in_.data() + stride_, gadget_.digits(), workspace_);
  }
  void fused() {
    invert();
    multiply_digits(ring_, count_, columns_.data(), out_.data(), workspace_);
  }
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
  Product(const Ring& ring, const Gadget& gadget, Workspace workspace)
      : ring_(ring),
        stride_(polynomial_stride(ring.d())),
        gadget_(gadget),
        count_(2 * gadget.digits()),
        workspace_(std::move(workspace)),
        in_(2 * stride_),
        out_(2 * stride_),
        columns_(2 * count_ * stride_) {
    std::mt19937_64 engine(4);
    for (auto* slots : {&in_, &columns_}) {
      for (std::size_t at = 0; at < slots->size(); ++at) {
        (*slots)[at] = static_cast<U32>(engine() % kPrimes[at % stride_ / ring.d() % 2]);
      }
    }
  }
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

  const Ring& ring_;
  std::size_t stride_;
  Gadget gadget_;
  unsigned count_;
  Workspace workspace_;
  std::vector<U32> in_, out_, columns_;
};

/// The median seconds of this thread on a CPU that `work` takes.
template <class Work>
double median_seconds(unsigned samples, const Work& work) {
  const auto now = [] {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
  };
  std::vector<double> times;
  for (unsigned i = 0; i < samples; ++i) {
    const double start = now();
    work();
    times.push_back(now() - start);
  }
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

}  // namespace

Result<ProductProfile> profile_product(const Gadget& gadget, unsigned samples) {
  PIRX_ASSIGN(auto product, Product::create(gadget));
  ProductProfile out;
  out.right = product.right();
  out.squares = product.squares();
  out.inversion = median_seconds(samples, [&] { product.invert(); });
  out.separate = median_seconds(samples, [&] { product.separate(); });
  out.fused = median_seconds(samples, [&] { product.fused(); });
  return out;
}

}  // namespace pirx::cpir::spiral
