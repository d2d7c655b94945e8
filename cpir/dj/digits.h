// Digits of a secret row number in public bases, in a time that does not depend on the number.
#pragma once

#include <cstdint>

#include "pirx/base/bytes.h"

namespace pirx::cpir::dj {

/// value / by, and the remainder, computed bit by bit, because the time of a division instruction depends on
/// the value. On input 0 < by < 2^62.
inline std::uint64_t divide_digit(std::uint64_t value, std::uint64_t by, std::uint64_t& remainder) noexcept {
  std::uint64_t quotient = 0, rest = 0;
  for (int bit = 63; bit >= 0; --bit) {
    rest = rest << 1 | (value >> bit & 1);
    const std::uint64_t below = 0 - ((rest - by) >> 63);  // all ones if rest < by
    rest -= by & ~below;
    quotient = quotient << 1 | (1 & ~below);
  }
  remainder = rest;
  return quotient;
}

/// out = bit ? one : zero. All three have the same length.
inline void choose(unsigned bit, ByteSpan zero, ByteSpan one, MutableByteSpan out) noexcept {
  const auto mask = static_cast<std::byte>(0 - (bit & 1));
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = zero[i] ^ ((zero[i] ^ one[i]) & mask);
}

/// 1 if equal, else 0.
inline unsigned equal_bit(std::uint64_t a, std::uint64_t b) noexcept {
  const std::uint64_t difference = a ^ b;
  return static_cast<unsigned>(1 ^ ((difference | (0 - difference)) >> 63));
}

}  // namespace pirx::cpir::dj
