// SPDX-License-Identifier: Apache-2.0
// The two chains of key switches that pack d columns into one polynomial (specification, 3.3; InsPIRe,
// algorithm 1).
#pragma once

#include <span>

#include "cpir/inspire/rows.h"
#include "cpir/ring/ring.h"
#include "pirx/cpir/inspire/common.h"

namespace pirx::cpir::inspire {

/// w_j for all automorphisms: tau_g only moves slots, and along the powers of 5 it moves them by one place.
class KeyMasks {
 public:
  /// w[j] are transforms. ResourceExhausted: no memory.
  static Result<KeyMasks> create(const Ring& ring, const Polynomials& w, unsigned l);
  /// The transform of tau_g(w_j), g = sign 5^i, in Montgomery form. On input i < d / 2.
  void automorphism(std::size_t i, int sign, unsigned j, std::uint32_t* slots) const noexcept;

 private:
  std::size_t d_ = 0;
  Polynomials powers_;             ///< for each j: slots of 5^0, .., of -5^0, .. and of 5^0, .., each twice
  std::vector<std::uint16_t> at_;  ///< where a slot's exponent is in there
};

/// What the chains read and write.
struct ChainRows {
  /// Row row_of(g): tau_(-1) of the sum over columns k of tau_(-1)(a~_k) X^(g k) / d, modulo either prime.
  std::array<Rows<std::uint32_t>, 2> sums;
  /// For every j, row row_of(g): the digits that multiply tau_g(y_j). Rows of +-5^(d/2 - 1) are zero.
  std::span<const Rows<std::int32_t>> digits;
  /// Row row_of(g): what was dropped of the polynomial that tau_g(s) was multiplied with. The rows of 1 and
  /// -1 are left alone.
  Rows<float> residues;
};

/// The memory of a chain.
class ChainScratch {
 public:
  static Result<ChainScratch> create(std::size_t d, unsigned l);
  /// How many polynomials it is.
  static constexpr std::size_t polynomials(unsigned l) noexcept { return 5 + 3 * l; }

 private:
  friend void chain(const Ring&, const Set&, const KeyMasks&, const ChainRows&, int, ChainScratch&,
                    std::span<std::int64_t>) noexcept;
  Polynomials polynomials_;
};

/// One chain, sign = 1 or -1. mask: the coefficients of M_sign in (-q/2, q/2).
void chain(const Ring& ring, const Set& set, const KeyMasks& key_masks, const ChainRows& rows, int sign,
           ChainScratch& scratch, std::span<std::int64_t> mask) noexcept;

}  // namespace pirx::cpir::inspire
