// The arithmetic under W48: sums of products are kept as 128-bit integers and reduced once. Since 2^48 = -21
// modulo p, a reduction is two foldings and one conditional addition. No branch depends on a value.
#pragma once

#include <cstddef>
#include <cstdint>

#include "pirx/fp/w48.h"

namespace pirx::fp::w48 {

__extension__ typedef unsigned __int128 uint128;

using Elem = W48::Elem;

inline constexpr std::uint64_t kPrime = W48::kPrime;
inline constexpr std::uint64_t kMask48 = (std::uint64_t{1} << 48) - 1;

/// The sum of this many products of elements and one more element is within what reduce() accepts.
inline constexpr std::size_t kMaxProducts = std::size_t{1} << 14;

/// a modulo p. On input a < 2^112.
inline Elem reduce(uint128 a) {
  // L + 2^48 H = L - 21 H, kept positive by adding 21 * 2^16 * p, which is above 21 * 2^64.
  const uint128 fold = (uint128{kPrime} * 21 << 16) + (static_cast<std::uint64_t>(a) & kMask48) -
                       uint128{static_cast<std::uint64_t>(a >> 48)} * 21;
  // fold < 2^70. Fold its few bits above 2^48 once more; the result lies between -p and p.
  const std::uint64_t top = static_cast<std::uint64_t>(fold >> 48);
  const std::uint64_t less = (static_cast<std::uint64_t>(fold) & kMask48) - top * 21;
  return {less + (kPrime & (std::uint64_t{0} - (less >> 63)))};
}

}  // namespace pirx::fp::w48
