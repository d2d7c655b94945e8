// SPDX-License-Identifier: Apache-2.0
// The arithmetic under W160 and W48: sums of many products are kept as wide integers and reduced once. Since
// 2^w = -c modulo p = 2^w + c, a reduction is two foldings and one conditional subtraction. No branch depends
// on a value. F is W160 or W48.
#pragma once

#include <cstddef>
#include <cstdint>

#include "pirx/fp/word_prime.h"

namespace pirx::fp {

__extension__ typedef unsigned __int128 uint128;
__extension__ typedef __int128 int128;

inline std::uint64_t low64(uint128 value) { return static_cast<std::uint64_t>(value); }
inline std::uint64_t high64(uint128 value) { return static_cast<std::uint64_t>(value >> 64); }
constexpr std::uint64_t low_bits(unsigned bits) { return (std::uint64_t{1} << bits) - 1; }

/// An element in parts of 54 bits, so that sums of kMaxProducts products fit in 128 bits.
inline constexpr unsigned kPartBits = 54;
inline constexpr std::size_t kMaxProducts = std::size_t{1} << 18;
template <class F>
inline constexpr std::size_t kParts = F::kBits / kPartBits + 1;
template <class F>
struct Parts {
  std::uint64_t part[kParts<F>];
};

/// Sums of products of parts: column k has the weight 2^(54 k).
template <class F>
struct Columns {
  static constexpr std::size_t kCount = 2 * kParts<F> - 1;
  uint128 column[kCount] = {};
};

/// The 64 bits of an integer that begin at a given bit.
template <std::size_t n>
inline std::uint64_t bits_at(const Limbs<n>& limb, std::size_t bit) {
  const std::size_t i = bit / 64, shift = bit % 64;
  std::uint64_t out = i < n ? limb[i] >> shift : 0;
  if (shift != 0 && i + 1 < n) out |= limb[i + 1] << (64 - shift);
  return out;
}

template <class F>
inline Parts<F> split(const typename F::Elem& a) {
  Parts<F> out;
  for (std::size_t k = 0; k < kParts<F>; ++k) {
    out.part[k] = bits_at(a, kPartBits * k) & low_bits(kPartBits);
  }
  return out;
}

/// columns += a * b.
template <class F>
inline void accumulate(Columns<F>& columns, const Parts<F>& a, const Parts<F>& b) {
  for (std::size_t i = 0; i < kParts<F>; ++i) {
    for (std::size_t k = 0; k < kParts<F>; ++k) columns.column[i + k] += uint128{a.part[i]} * b.part[k];
  }
}

/// The sum, modulo p, of up to kMaxProducts products in columns.
template <class F>
inline typename F::Elem reduce(const Columns<F>& columns) {
  constexpr std::size_t kLimbs = F::kLimbs, kWide = 2 * kLimbs;
  constexpr std::uint64_t kTopMask = low_bits(F::kTopBits);
  constexpr auto kPrime = F::prime();
  // Holds the sum of a few limbs, with a sign. 64 bits are enough if there is only one limb.
  using Signed = std::conditional_t<kLimbs == 1, std::int64_t, int128>;
  constexpr Signed kLow = F::kLow;
  constexpr unsigned kShift = kLimbs == 1 ? 63 : 64;
  // The low 54 bits of each column are final once the carry from the column below is added; a column has room
  // for it. These bits, and all of the last column, are put side by side into 64-bit limbs.
  Limbs<kWide> wide;
  uint128 carried = 0;
  for (std::size_t k = 0; k < Columns<F>::kCount; ++k) {
    const std::size_t i = kPartBits * k / 64, shift = kPartBits * k % 64;
    carried += columns.column[k];
    const bool last = k + 1 == Columns<F>::kCount;
    const uint128 part = last ? carried : uint128{low64(carried) & low_bits(kPartBits)};
    const uint128 placed = part << shift;
    wide[i] |= low64(placed);
    if (i + 1 < kWide) wide[i + 1] |= high64(placed);
    if (last && shift != 0 && i + 2 < kWide) wide[i + 2] |= high64(part) >> (64 - shift);
    carried >>= kPartBits;
  }
  // N = L + 2^w H + 2^(2w) T = L - c H + c^2 T, kept positive by adding c p.
  Signed carry = static_cast<Signed>(bits_at(wide, 2 * F::kBits)) * (kLow * kLow);
  typename F::Elem t;
  for (std::size_t i = 0; i < kLimbs; ++i) {
    const std::uint64_t mask = i + 1 == kLimbs ? kTopMask : ~std::uint64_t{0};
    carry += static_cast<Signed>(wide[i] & mask) + static_cast<Signed>(kPrime[i]) * kLow;
    carry -= static_cast<Signed>(bits_at(wide, F::kBits + 64 * i) & mask) * kLow;
    t[i] = static_cast<std::uint64_t>(carry);
    carry >>= kShift;
  }
  // Fold the few bits of t above 2^w once more; adding p keeps it positive and below 2p.
  std::uint64_t& top = t[kLimbs - 1];
  carry = -static_cast<Signed>(top >> F::kTopBits) * kLow;
  top &= kTopMask;
  for (std::size_t i = 0; i < kLimbs; ++i) {
    carry += static_cast<Signed>(t[i]) + static_cast<Signed>(kPrime[i]);
    t[i] = static_cast<std::uint64_t>(carry);
    carry >>= kShift;
  }
  return F::reduced(t);
}

}  // namespace pirx::fp
