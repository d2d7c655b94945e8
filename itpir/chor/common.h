// SPDX-License-Identifier: Apache-2.0
// What both halves of Chor's protocol share: query vectors of bits (docs/wire_format.md, section 9).
#pragma once

#include "pirx/itpir/common.h"

namespace pirx::itpir::chor {

/// Bytes of a vector of that many bits: bit k is bit k % 8 of byte k / 8.
constexpr std::uint64_t bit_bytes(std::uint64_t bits) noexcept { return bits / 8 + (bits % 8 != 0); }

/// The bits of a vector's last byte that are used.
constexpr std::byte last_byte_mask(std::uint64_t bits) noexcept {
  return static_cast<std::byte>(0xFFu >> ((8 - bits % 8) % 8));
}

/// The vector that a seed stands for: the first bytes of its stream, with unused bits cleared.
/// out: bit_bytes(bits).
void expand_bits(std::span<const std::byte, kSeedBytes> seed, std::uint64_t bits, MutableByteSpan out);

/// InvalidArgument: a query vector of `rows` bits or a row that no message can hold.
Result<void> check_sizes(std::uint64_t rows, std::uint64_t row_bytes);

}  // namespace pirx::itpir::chor
