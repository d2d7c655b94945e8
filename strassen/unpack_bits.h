// SPDX-License-Identifier: Apache-2.0
// Makes elements of GF(2), a byte each, of bits.
#pragma once

#include "pirx/base/bytes.h"

namespace pirx::strassen {

/// to[k] = bit k of `from`, as 0 or 1.
inline void unpack_bits(ByteSpan from, MutableByteSpan to) noexcept {
  const std::size_t whole = to.size() / 8;
  for (std::size_t b = 0; b < whole; ++b) {
    // Byte k keeps bit k of the eight copies, wherever it is in there; adding 0x7F brings it to the top.
    const std::uint64_t copies = std::to_integer<std::uint64_t>(from[b]) * 0x0101010101010101;
    const std::uint64_t tops = (copies & 0x8040201008040201) + 0x7F7F7F7F7F7F7F7F;
    store_le(to.data() + 8 * b, (tops >> 7) & 0x0101010101010101);
  }
  for (std::size_t k = 8 * whole; k < to.size(); ++k) to[k] = from[k / 8] >> (k % 8) & std::byte{1};
}

}  // namespace pirx::strassen
