// SPDX-License-Identifier: Apache-2.0
// The switch from the modulus q to a power of two.
#pragma once

#include "cpir/ring/ring.h"
#include "src/base/constant_time.h"

namespace pirx::cpir::inspire {

/// round_t(x) = floor((2^t x + (q - 1) / 2) / q) mod 2^t for 0 <= x < q, exactly. Constant time: multiplies
/// by a reciprocal (specification, section 2.2).
class Rounding {
 public:
  /// On input 1 <= t <= 48.
  explicit Rounding(unsigned t) noexcept
      : t_(t), reciprocal_(static_cast<std::uint64_t>((static_cast<Wide>(1) << (t + 64)) / kModulus)) {}
  std::uint64_t operator()(std::uint64_t x) const noexcept {
    constexpr std::uint64_t kHalf = (kModulus - 1) / 2;
    // The quotient, or one less; what is left is below 2 q.
    auto quotient = static_cast<std::uint64_t>((static_cast<Wide>(x) * reciprocal_) >> 64);
    const std::uint64_t left = (x << t_) - quotient * kModulus;
    quotient -= mask_less(kHalf, left);
    quotient -= mask_less(kHalf + kModulus, left);
    return quotient & ((std::uint64_t{1} << t_) - 1);
  }

 private:
  __extension__ using Wide = unsigned __int128;
  unsigned t_;
  std::uint64_t reciprocal_;  ///< floor(2^(t + 64) / q), below 2^57
};

}  // namespace pirx::cpir::inspire
