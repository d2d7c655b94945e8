// The arithmetic under W160: sums of many products are kept as wide integers and reduced once. Since 2^160 =
// -7 modulo p, a reduction is two foldings and one conditional subtraction. No branch depends on a value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "pirx/fp/w160.h"

namespace pirx::fp::w160 {

__extension__ typedef unsigned __int128 uint128;
__extension__ typedef __int128 int128;

using Elem = W160::Elem;

/// p = 2^160 + 7.
inline constexpr std::uint64_t kPrime[3] = {7, 0, std::uint64_t{1} << 32};
inline constexpr std::uint64_t kMask32 = 0xffffffffu;
inline constexpr std::uint64_t kMask54 = (std::uint64_t{1} << 54) - 1;

inline std::uint64_t low64(uint128 value) { return static_cast<std::uint64_t>(value); }
inline std::uint64_t high64(uint128 value) { return static_cast<std::uint64_t>(value >> 64); }

/// a - b modulo 2^192; `borrow` is 1 if a < b.
inline Elem subtract(const Elem& a, const std::uint64_t (&b)[3], std::uint64_t& borrow) {
  Elem out;
  borrow = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    const uint128 difference = uint128{a.limb[i]} - b[i] - borrow;
    out.limb[i] = low64(difference);
    borrow = high64(difference) & 1;
  }
  return out;
}

/// a modulo p. On input a < 2p.
inline Elem reduce_once(const Elem& a) {
  std::uint64_t borrow = 0;
  const Elem reduced = subtract(a, kPrime, borrow);
  const std::uint64_t keep = std::uint64_t{0} - borrow;
  Elem out;
  for (std::size_t i = 0; i < 3; ++i) out.limb[i] = (a.limb[i] & keep) | (reduced.limb[i] & ~keep);
  return out;
}

inline Elem add(const Elem& a, const Elem& b) {
  Elem sum;
  uint128 carry = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    carry += uint128{a.limb[i]} + b.limb[i];
    sum.limb[i] = low64(carry);
    carry >>= 64;
  }
  return reduce_once(sum);
}

inline Elem sub(const Elem& a, const Elem& b) {
  std::uint64_t borrow = 0;
  Elem out = subtract(a, b.limb, borrow);
  const std::uint64_t fix = std::uint64_t{0} - borrow;
  uint128 carry = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    carry += uint128{out.limb[i]} + (kPrime[i] & fix);
    out.limb[i] = low64(carry);
    carry >>= 64;
  }
  return out;
}

inline Elem load_word(const std::byte* from) {
  Elem out;
  std::uint32_t top = 0;
  std::memcpy(&out.limb[0], from, 8);
  std::memcpy(&out.limb[1], from + 8, 8);
  std::memcpy(&top, from + 16, 4);
  out.limb[2] = top;
  return out;
}

/// An element in three limbs of 54 bits, so that the sum of kMaxProducts products fits 128-bit columns.
struct Limbs54 {
  std::uint64_t limb[3];
};
inline constexpr std::size_t kMaxProducts = std::size_t{1} << 18;

inline Limbs54 split54(const Elem& a) {
  return {{a.limb[0] & kMask54, (a.limb[0] >> 54 | a.limb[1] << 10) & kMask54,
           a.limb[1] >> 44 | a.limb[2] << 20}};
}

/// columns += a * b.
inline void accumulate(uint128 (&columns)[5], const Limbs54& a, const Limbs54& b) {
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t k = 0; k < 3; ++k) columns[i + k] += uint128{a.limb[i]} * b.limb[k];
  }
}

/// The sum, modulo p, of up to kMaxProducts products in columns. Column k has the weight 2^(54 k).
inline Elem reduce_columns(const uint128 (&columns)[5]) {
  // The low 54 bits of each column are final once the carry from the column below is added; a column has room
  // for it. These bits, and what remains above the last column, are put side by side into 64-bit limbs.
  std::uint64_t part[5];
  uint128 carried = 0;
  for (std::size_t k = 0; k < 5; ++k) {
    carried += columns[k];
    part[k] = low64(carried) & kMask54;
    carried >>= 54;
  }
  carried <<= 14;  // below 2^110 before: the sum is below 2^380
  const std::uint64_t wide[6] = {part[0] | part[1] << 54,        part[1] >> 10 | part[2] << 44,
                                 part[2] >> 20 | part[3] << 34,  part[3] >> 30 | part[4] << 24,
                                 part[4] >> 40 | low64(carried), high64(carried)};
  // N = L + 2^160 H + 2^320 T = L - 7 H + 49 T, kept positive by adding 7 p.
  const std::uint64_t fold[3] = {wide[2] >> 32 | wide[3] << 32, wide[3] >> 32 | wide[4] << 32, wide[4] >> 32};
  const std::uint64_t low[3] = {wide[0], wide[1], wide[2] & kMask32};
  int128 carry = static_cast<int128>(uint128{wide[5]} * 49);
  Elem t;
  for (std::size_t i = 0; i < 3; ++i) {
    carry += static_cast<int128>(uint128{low[i]} + uint128{kPrime[i]} * 7);
    carry -= static_cast<int128>(uint128{fold[i]} * 7);
    t.limb[i] = low64(static_cast<uint128>(carry));
    carry >>= 64;
  }
  // t < 2^164. Fold its few bits above 2^160 once more; adding p keeps it positive and below 2p.
  const std::uint64_t top = t.limb[2] >> 32;
  t.limb[2] &= kMask32;
  carry = -static_cast<int128>(top * 7);
  for (std::size_t i = 0; i < 3; ++i) {
    carry += static_cast<int128>(uint128{t.limb[i]} + kPrime[i]);
    t.limb[i] = low64(static_cast<uint128>(carry));
    carry >>= 64;
  }
  return reduce_once(t);
}

inline Elem mul(const Elem& a, const Elem& b) {
  uint128 columns[5] = {};
  accumulate(columns, split54(a), split54(b));
  return reduce_columns(columns);
}

}  // namespace pirx::fp::w160
