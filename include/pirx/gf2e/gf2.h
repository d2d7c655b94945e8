// SPDX-License-Identifier: Apache-2.0
// GF(2): a scalar is one bit. A database word is a byte that holds 8 columns; bit c is column c.
#pragma once

#include <span>

#include "pirx/base/field.h"

namespace pirx::gf2e {

/// The field of two elements. Models pirx::Field. Elem is 0 or 1. Sum packs 8 columns, like a database word.
/// Every operation takes the same time for all values.
class Gf2 {
 public:
  using Elem = std::uint8_t;
  using Sum = std::uint8_t;

  static constexpr FieldTag tag() noexcept { return kTagGf2; }
  static constexpr Elem zero() noexcept { return 0; }
  static constexpr Elem one() noexcept { return 1; }
  static constexpr Elem add(Elem a, Elem b) noexcept { return a ^ b; }
  static constexpr Elem sub(Elem a, Elem b) noexcept { return a ^ b; }
  static constexpr Elem mul(Elem a, Elem b) noexcept { return a & b; }
  static constexpr Elem inv(Elem a) noexcept { return a; }
  static constexpr bool equal(Elem a, Elem b) noexcept { return a == b; }
  static constexpr Elem from_label(std::uint64_t n) noexcept { return static_cast<Elem>(n & 1); }
  static constexpr std::uint64_t size_limit() noexcept { return 2; }

  static constexpr std::size_t word_bytes() noexcept { return 1; }
  static Sum load_word(const std::byte* from) noexcept { return load_le<Sum>(from); }
  static bool store_word(Sum s, std::byte* to) noexcept {
    store_le(to, s);
    return true;
  }

  static constexpr Sum sum_add(Sum a, Sum b) noexcept { return a ^ b; }
  static constexpr Sum sum_sub(Sum a, Sum b) noexcept { return a ^ b; }
  static constexpr Sum sum_scale(Elem a, Sum s) noexcept { return static_cast<Sum>((0u - a) & s); }
  static constexpr bool sum_equal(Sum a, Sum b) noexcept { return a == b; }

  static constexpr std::size_t elem_bytes() noexcept { return 1; }
  static constexpr std::size_t sum_bytes() noexcept { return 1; }
  static void encode_elem(Elem a, std::byte* to) noexcept { store_le(to, a); }
  /// False for bytes other than 0 and 1.
  static bool decode_elem(const std::byte* from, Elem& a) noexcept {
    a = load_le<Elem>(from);
    return a <= 1;
  }
  static void encode_sum(Sum s, std::byte* to) noexcept { store_le(to, s); }
  static bool decode_sum(const std::byte* from, Sum& s) noexcept {
    s = load_le<Sum>(from);
    return true;
  }

  /// Uniform, independent bits.
  template <RandomSource R>
  static void random_fill(R& rng, std::span<Elem> out) {
    rng.fill(std::as_writable_bytes(out));
    for (Elem& a : out) a &= 1;
  }
};

/// The kernels that are compiled in, the best first, the portable one last. All are safe on secrets: time and
/// addresses depend on shapes only.
std::span<const Kernels<Gf2>> kernel_table(const Gf2& f);

}  // namespace pirx::gf2e
