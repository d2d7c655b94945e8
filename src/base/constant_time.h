// SPDX-License-Identifier: Apache-2.0
// Comparisons and division on secret integers without a branch or an instruction whose time depends on them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "pirx/base/bytes.h"
#include "pirx/base/opaque.h"

namespace pirx {

/// All ones when a == b, else 0. For loops of which compilers make vectors: a mask that is opaque() would
/// keep them from it. Put the mask on a local variable, since compilers branch around a read of memory.
inline std::uint64_t lane_equal(std::uint64_t a, std::uint64_t b) noexcept {
  const std::uint64_t difference = a ^ b;
  return ((difference | (0 - difference)) >> 63) - 1;
}

/// All ones when a == b, else 0.
inline std::uint64_t mask_equal(std::uint64_t a, std::uint64_t b) noexcept {
  return opaque(lane_equal(a, b));
}

/// All ones when a < b, else 0.
inline std::uint64_t mask_less(std::uint64_t a, std::uint64_t b) noexcept {
  return opaque(0 - ((((~a & b) | (~(a ^ b) & (a - b)))) >> 63));
}

/// a under an all-ones mask, b under 0.
template <class T>
T select(std::uint64_t mask, const T& a, const T& b) noexcept {
  std::byte x[sizeof(T)], y[sizeof(T)];
  std::memcpy(x, &a, sizeof(T));
  std::memcpy(y, &b, sizeof(T));
  const auto m = static_cast<std::byte>(opaque(mask));
  for (std::size_t i = 0; i < sizeof(T); ++i) x[i] = (x[i] & m) | (y[i] & ~m);
  T result;
  std::memcpy(&result, x, sizeof(T));
  return result;
}

/// The same byte by byte. On input all three have the same length.
inline void select(std::uint64_t mask, ByteSpan a, ByteSpan b, MutableByteSpan out) noexcept {
  const auto m = static_cast<std::byte>(opaque(mask));
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = (a[i] & m) | (b[i] & ~m);
}

/// Whether `verdict` is not zero, for verdicts that may be known to everybody, such as that a record does not
/// exist. The one place where a secret becomes a branch; checks of constant time know it by its name.
[[gnu::noinline]] inline bool reveal(std::uint64_t verdict) noexcept {
  std::uint64_t found = opaque(0);  // or gcc would return the verdict itself where it is 0
  if (verdict != 0) {
    found = 1;
    // Keeps the branch: without it clang computes the result from the verdict.
    __asm__ volatile("" : "+r"(found));
  }
  return found != 0;
}

/// A number that may be known to everybody, such as the length of a record that the caller gets. Like
/// reveal(), bit by bit.
[[gnu::noinline]] inline std::uint64_t reveal_number(std::uint64_t number) noexcept {
  std::uint64_t shown = 0;
  for (std::uint64_t bit = 1; bit != 0; bit <<= 1) {
    if (reveal(number & bit)) shown |= bit;
  }
  return shown;
}

/// Whether two runs of the same length differ: not zero if so. Looks at all bytes of both.
inline std::uint64_t difference(ByteSpan a, ByteSpan b) noexcept {
  std::byte differs{0};
  for (std::size_t i = 0; i < a.size(); ++i) differs |= a[i] ^ b[i];
  return std::to_integer<std::uint64_t>(differs);
}

/// Copies the out.size() bytes at `offset`, a multiple of that, out of a row. Passes over the whole row,
/// since the offset tells the record.
inline void cut_out(ByteSpan row, std::uint64_t offset, MutableByteSpan out) noexcept {
  for (auto& byte : out) byte = std::byte{0};
  for (std::size_t at = 0; at + out.size() <= row.size(); at += out.size()) {
    select(mask_equal(at, offset), row.subspan(at, out.size()), out, out);
  }
}

struct Division {
  std::uint64_t quotient, remainder;
};

/// n / d and n mod d for a public d > 0. Multiplies by a reciprocal, because the divide instruction of some
/// processors takes longer for some values of n.
inline Division divide(std::uint64_t n, std::uint64_t d) noexcept {
  __extension__ using Wide = unsigned __int128;
  const std::uint64_t reciprocal = ~std::uint64_t{0} / d;
  // At most 2 below the quotient.
  auto quotient = static_cast<std::uint64_t>((static_cast<Wide>(n) * reciprocal) >> 64);
  std::uint64_t remainder = n - quotient * d;
  for (int i = 0; i < 2; ++i) {
    const std::uint64_t more = ~mask_less(remainder, d);
    quotient -= more;
    remainder -= d & more;
  }
  return {quotient, remainder};
}

}  // namespace pirx
