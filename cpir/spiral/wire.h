// SPDX-License-Identifier: Apache-2.0
// The form of polynomials in messages.
#pragma once

#include "cpir/ring/bits.h"
#include "cpir/ring/ring.h"
#include "pirx/base/bytes.h"

namespace pirx::cpir::spiral {

/// Writes 7 bytes for each slot, little-endian: the residue modulo q1 in bits 0 to 27, the residue modulo q2
/// from bit 28 on.
inline void put_slots(const Ring& ring, const std::uint32_t* slots, std::byte* out) noexcept {
  for (std::size_t i = 0; i < ring.d(); ++i) {
    const std::uint64_t word = slots[i] | std::uint64_t{slots[ring.d() + i]} << 28;
    std::memcpy(out + 7 * i, &word, 7);
  }
}
/// Reads them. False if a residue is not below its prime.
inline bool get_slots(const Ring& ring, const std::byte* in, std::uint32_t* slots) noexcept {
  bool good = true;
  for (std::size_t i = 0; i < ring.d(); ++i) {
    std::uint64_t word = 0;
    std::memcpy(&word, in + 7 * i, 7);
    slots[i] = static_cast<std::uint32_t>(word & 0xfffffff);
    slots[ring.d() + i] = static_cast<std::uint32_t>(word >> 28);
    good &= slots[i] < kPrimes[0] && slots[ring.d() + i] < kPrimes[1];
  }
  return good;
}

}  // namespace pirx::cpir::spiral
