// SPDX-License-Identifier: Apache-2.0
// Damgard-Jurik modulo one of the two primes, for the holder of the key, in constant time in the prime and
// the numbers. The two sides are computed independently through all layers and are combined only at the end.
#pragma once

#include "digit_ring.h"
#include "limbs.h"
#include "pirx/base/rng.h"

namespace pirx::cpir::dj {

class PrimeSide {
 public:
  /// For layers 1 to s_max. `cofactor` is the other prime. On input prime > s_max.
  PrimeSide(LimbSpan prime, LimbSpan cofactor, unsigned s_max);

  /// p^j for j = 1 .. s_max + 1, without leading zero limbs.
  LimbSpan power(unsigned j) const { return powers_[j - 1].expose(); }

  /// The integers modulo p^(s+1), s = 1 .. s_max.
  const DigitRing& ring(unsigned s) const { return rings_[s - 1]; }
  /// p - 1.
  LimbSpan order() const { return order_.expose(); }

  /// A uniform number from 1 to p - 1.
  Limbs random_unit(Rng& rng) const;
  /// The root of unity modulo p^(s+1) that is u modulo p (Teichmuller's lift): u^(p^s), raised by one power
  /// at a time. For a uniform u it is E_s(0) modulo p^(s+1).
  Limbs lift(LimbSpan u, unsigned s) const;
  /// The plaintext modulo p^s of a ciphertext of layer s, which is given modulo p^(s+1) or more. c^(p-1) has
  /// no random part, and its p-adic logarithm is the plaintext times a constant. If p divides c, all bits of
  /// `valid` are cleared.
  Limbs open(LimbSpan c, unsigned s, mp_limb_t& valid) const;

 private:
  Limbs logarithm(LimbSpan w, unsigned s) const;
  std::size_t bits_;  // of p
  std::vector<Limbs> powers_;
  std::vector<DigitRing> rings_;
  Limbs order_;                  // p - 1
  std::vector<Limbs> inverses_;  // 1/j modulo p^s_max for j = 1 .. s_max
  Limbs scale_;                  // ((p - 1) log(1 + N) / p)^-1 modulo p^s_max
};

}  // namespace pirx::cpir::dj
