// SPDX-License-Identifier: Apache-2.0
// Recovers integers from their residues, in plain loops over sixteen lanes. Each kernel compiles it for its
// own instructions.
#pragma once

#include <cstring>

#include "pirx/base/residue_kernels.h"

namespace pirx::fp {

__attribute__((always_inline)) inline void combine_residues(const ResidueBasis& basis,
                                                            const std::int32_t* from, std::size_t stride,
                                                            std::uint64_t* limbs, std::uint64_t* quotients) {
  constexpr std::size_t kLanes = ResidueKernels::kColumns;
  // Adding it to a float below 2^22 and subtracting it again gives the nearest integer.
  constexpr float kRound = 12582912.0F;  // 1.5 * 2^23
  std::uint64_t sums[ResidueBasis::kMostLimbs + 1][kLanes] = {};
  for (std::size_t m = 0; m < basis.count; ++m, from += stride) {
    const ResidueBasis::Modulus& modulus = basis.moduli[m];
    const float n = static_cast<float>(modulus.modulus), inverse = modulus.inverse;
    std::uint32_t digits[kLanes];
    for (std::size_t j = 0; j < kLanes; ++j) {
      // All these floats hold integers below 2^24, which are exact.
      const float high = static_cast<float>(from[j] >> 16), low = static_cast<float>(from[j] & 0xffff);
      const float whole = high * modulus.power + low;
      const float residue = whole - ((whole * inverse + kRound) - kRound) * n;
      const float scaled = residue * modulus.back;
      const float digit = scaled - ((scaled * inverse + kRound) - kRound) * n;
      digits[j] = static_cast<std::uint32_t>(static_cast<std::int32_t>(digit < 0 ? digit + n : digit));
    }
    for (std::size_t j = 0; j < kLanes; ++j) {
      sums[basis.limbs][j] += std::uint64_t{digits[j]} * modulus.fraction;
    }
    for (std::size_t k = 0; k < basis.limbs; ++k) {
      const std::uint64_t limb = modulus.limb[k];
      for (std::size_t j = 0; j < kLanes; ++j) sums[k][j] += digits[j] * limb;
    }
  }
  std::memcpy(limbs, sums, basis.limbs * sizeof sums[0]);
  std::memcpy(quotients, sums[basis.limbs], sizeof sums[0]);
}

}  // namespace pirx::fp
