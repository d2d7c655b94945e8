// SPDX-License-Identifier: Apache-2.0
// The integers modulo p^(s+1) for a secret prime p, written in base p. A product takes (s+1)(s+2)/2 + s+1
// products of digits instead of the 2 (s+1)^2 of one long number, as in kernels/kernels.h. Constant time in
// p, bases and exponents.
#pragma once

#include "limbs.h"

namespace pirx::cpir::dj {

class DigitRing {
 public:
  /// On input p is odd and has no leading zero limbs; s >= 1.
  DigitRing(LimbSpan p, unsigned s);

  /// base^exponent modulo p^(s+1), with the length of p^(s+1). On input base < p^(s+1), exponent <
  /// 2^exponent_bits.
  Limbs power(LimbSpan base, LimbSpan exponent, std::size_t exponent_bits) const;

  /// p, with a leading zero limb.
  LimbSpan prime() const { return prime_.expose(); }

 private:
  /// The memory that products need beside their operands.
  struct Workspace;

  std::size_t words() const noexcept { return (s_ + 1) * limbs_; }
  /// out = a b / R, and out = a a / R. `out` is neither a nor b.
  void multiply(Workspace& work, mp_limb_t* out, const mp_limb_t* a, const mp_limb_t* b) const;
  void square(Workspace& work, mp_limb_t* out, const mp_limb_t* a) const;
  void finish_digit(Workspace& work, mp_limb_t* out) const;
  Limbs to_digits(LimbSpan x) const;
  Limbs from_digits(LimbSpan digits) const;

  unsigned s_;
  std::size_t limbs_;  // of a digit: one more than p has, so that p need not be subtracted from sums
  Limbs prime_, power_;
  Limbs square_of_r_;  // R^2, R = 2^(64 limbs), in digits
  mp_limb_t inverse_;  // -1/p modulo 2^64
};

}  // namespace pirx::cpir::dj
