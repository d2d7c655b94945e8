// SPDX-License-Identifier: Apache-2.0
// Limits the work of finding liars, whatever they sent.
#pragma once

#include <cstdint>
#include <type_traits>

#include "pirx/base/stop.h"
#include "pirx/fp/prime_field.h"

namespace pirx::itpir::goldberg::decoding {

/// Subsets of servers that one complete search may try, and values that it may keep.
inline constexpr std::uint64_t kMaxSubsets = std::uint64_t{1} << 20;
inline constexpr std::uint64_t kMaxSearchValues = std::uint64_t{1} << 20;
/// Multiply-adds of all searches of one decoding together, about a second; and of all reductions of stacked
/// rounds, of which only hundreds of liars need so many.
inline constexpr std::uint64_t kMaxSearchWork = std::uint64_t{1} << 27;
inline constexpr std::uint64_t kMaxReductionWork = std::uint64_t{1} << 31;

/// What a product of this field takes, in products of the fast fields: the limits above hold for those.
template <class F>
inline constexpr std::uint64_t kProductCost = std::is_same_v<F, fp::PrimeField> ? 128 : 1;

class Budget {
 public:
  /// `stop` must outlive the budget.
  explicit Budget(std::uint64_t work = kMaxSearchWork, const Stop* stop = nullptr)
      : left_(work), stop_(stop) {}
  /// Takes `work` out; false, for good, when less is left or the work is to stop.
  bool spend(std::uint64_t work) {
    left_ = work <= left_ ? left_ - work : 0;
    unasked_ += work;
    if (unasked_ >= kWorkUnasked) {
      unasked_ = 0;
      if (stop_ != nullptr && *stop_ && (*stop_)()) left_ = 0;
    }
    return left_ != 0;
  }
  const Stop* stop() const noexcept { return stop_; }

 private:
  static constexpr std::uint64_t kWorkUnasked = std::uint64_t{1} << 16;
  std::uint64_t left_, unasked_ = 0;
  const Stop* stop_;
};

/// The number of ways to choose n of m, or 2^63 when it is larger.
constexpr std::uint64_t binomial(std::uint64_t m, std::uint64_t n) noexcept {
  constexpr std::uint64_t kLimit = std::uint64_t{1} << 63;
  std::uint64_t ways = 1;
  for (std::uint64_t i = 1; i <= n; ++i) {
    std::uint64_t product = 0;
    if (__builtin_mul_overflow(ways, m - n + i, &product) || product >= kLimit) return kLimit;
    ways = product / i;
  }
  return ways;
}

}  // namespace pirx::itpir::goldberg::decoding
