// SPDX-License-Identifier: Apache-2.0
// A client's public keys as the server holds them, in their order on the wire: automorphism keys of the right
// gadget for rounds 0 .. g2 - 1, those of the left gadget for rounds 1 .. g1 - 1, conversion, packing.
#pragma once

#include "cpir/ring/ring.h"
#include "pirx/cpir/spiral/common.h"

namespace pirx::cpir::spiral {

/// Columns are ciphertexts in Montgomery form; those of a packing key have n + 1 polynomials.
struct PublicKeys {
  /// The numbers of the polynomials at which the parts of a plan's keys start.
  explicit PublicKeys(const Params& params);

  Polynomials all;
  std::size_t right = 0, left = 0, conversion = 0, packing = 0, count = 0;

  /// Column 0 of the automorphism key of a round.
  const std::uint32_t* right_key(unsigned round) const noexcept {
    return all[right + 2 * right_digits * round];
  }
  const std::uint32_t* left_key(unsigned round) const noexcept {
    return all[left + 2 * left_digits * (round - 1)];
  }
  /// The columns for the digits of c0, then those for the digits of c1.
  const std::uint32_t* conversion_key() const noexcept { return all[conversion]; }
  /// The columns for the digits of the first of n ciphertexts, then those of the second, ...
  const std::uint32_t* packing_key() const noexcept { return all[packing]; }

  std::size_t right_digits = 0, left_digits = 0;

  /// Reads the body of a keys message, which has exactly the plan's length: the seed, then for every column
  /// all polynomials but the first. InvalidArgument: a residue is not below its prime. ResourceExhausted: no
  /// memory.
  static Result<PublicKeys> decode(const Params& params, const Ring& ring, ByteSpan body);
  /// The bytes of memory for all keys, equal to all.bytes().
  static std::uint64_t bytes(const Params& params);
};

}  // namespace pirx::cpir::spiral
