// A client's public parameters as the server holds them, and their order on the wire: automorphism keys of
// the right gadget for rounds 0 .. g2 - 1, of the left one for rounds 1 .. g1 - 1, conversion, packing.
#pragma once

#include "pirx/cpir/spiral/common.h"
#include "ring.h"

namespace pirx::cpir::spiral {

/// Columns are ciphertexts in Montgomery's form, those of a packing key n + 1 polynomials.
struct PublicKeys {
  /// Numbers of polynomials in which the keys of a plan lie.
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
  /// Digits of c0, then digits of c1.
  const std::uint32_t* conversion_key() const noexcept { return all[conversion]; }
  /// Digits of the first of n ciphertexts, then of the second, ...
  const std::uint32_t* packing_key() const noexcept { return all[packing]; }

  std::size_t right_digits = 0, left_digits = 0;

  /// Body of a keys message, of exactly the plan's length: the seed, then for every column all polynomials
  /// but the first. InvalidArgument: a residue is not below its prime. ResourceExhausted.
  static Result<PublicKeys> decode(const Params& params, const Ring& ring, ByteSpan body);
  /// Bytes that the keys take in memory, those of all.bytes().
  static std::uint64_t bytes(const Params& params);
};

}  // namespace pirx::cpir::spiral
