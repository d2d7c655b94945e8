// SPDX-License-Identifier: Apache-2.0
// Computes with vectors of bits.
#include "common.h"

#include "pirx/base/rng.h"

namespace pirx::itpir::chor {

void expand_bits(std::span<const std::byte, kSeedBytes> seed, std::uint64_t bits, MutableByteSpan out) {
  SeedStream(seed).fill(out);
  if (!out.empty()) out.back() &= last_byte_mask(bits);
}

Result<void> check_sizes(std::uint64_t rows, std::uint64_t row_bytes) {
  return check_message_sizes(message_bytes(1, bit_bytes(rows), 1), message_bytes(1, row_bytes, 1));
}

}  // namespace pirx::itpir::chor
