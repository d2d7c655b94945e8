// SPDX-License-Identifier: Apache-2.0
// The arithmetic that GF(2^8) and GF(2^16) share. One unsigned word holds one element, one database word or
// one sum.
#pragma once

#include <concepts>
#include <limits>
#include <span>

#include "pirx/base/field.h"

namespace pirx::gf2e {

/// GF(2^n) for the n bits of T, modulo x^n + kLow, which must be irreducible. Models pirx::Field. Every
/// operation takes the same time for all values: no branch and no address depends on an element.
template <std::unsigned_integral T, T kLow>
class BinaryField {
 public:
  using Elem = T;
  using Sum = T;
  static constexpr unsigned kBits = std::numeric_limits<T>::digits;

  static constexpr FieldTag tag() noexcept { return {FieldKind::kBinary, kBits, kLow}; }
  static constexpr Elem zero() noexcept { return 0; }
  static constexpr Elem one() noexcept { return 1; }
  static constexpr Elem add(Elem a, Elem b) noexcept { return static_cast<Elem>(a ^ b); }
  static constexpr Elem sub(Elem a, Elem b) noexcept { return add(a, b); }
  static constexpr Elem mul(Elem a, Elem b) noexcept {
    std::uint32_t product = 0;
    std::uint32_t shifted = a;  // a * x^i
    for (unsigned i = 0; i < kBits; ++i) {
      product ^= shifted & (0u - ((std::uint32_t{b} >> i) & 1u));
      const std::uint32_t carry = shifted >> (kBits - 1);
      shifted = ((shifted << 1) ^ (kLow & (0u - carry))) & std::numeric_limits<T>::max();
    }
    return static_cast<Elem>(product);
  }
  /// a^(2^n - 2), so inv(0) = 0.
  static constexpr Elem inv(Elem a) noexcept {
    Elem power = a;
    Elem product = one();
    for (unsigned i = 1; i < kBits; ++i) {
      power = mul(power, power);
      product = mul(product, power);
    }
    return product;
  }
  static constexpr bool equal(Elem a, Elem b) noexcept { return a == b; }
  static constexpr Elem from_label(std::uint64_t n) noexcept { return static_cast<Elem>(n); }
  static constexpr std::uint64_t size_limit() noexcept { return std::uint64_t{1} << kBits; }

  static constexpr std::size_t word_bytes() noexcept { return sizeof(T); }
  static Sum load_word(const std::byte* from) noexcept { return load_le<T>(from); }
  static bool store_word(Sum s, std::byte* to) noexcept {
    store_le(to, s);
    return true;
  }

  static constexpr Sum sum_add(Sum a, Sum b) noexcept { return add(a, b); }
  static constexpr Sum sum_sub(Sum a, Sum b) noexcept { return add(a, b); }
  static constexpr Sum sum_scale(Elem a, Sum s) noexcept { return mul(a, s); }
  static constexpr bool sum_equal(Sum a, Sum b) noexcept { return a == b; }

  static constexpr std::size_t elem_bytes() noexcept { return sizeof(T); }
  static constexpr std::size_t sum_bytes() noexcept { return sizeof(T); }
  static void encode_elem(Elem a, std::byte* to) noexcept { store_le(to, a); }
  static bool decode_elem(const std::byte* from, Elem& a) noexcept {
    a = load_le<T>(from);
    return true;
  }
  static void encode_sum(Sum s, std::byte* to) noexcept { store_le(to, s); }
  static bool decode_sum(const std::byte* from, Sum& s) noexcept { return decode_elem(from, s); }

  /// Uniform, independent elements.
  template <RandomSource R>
  static void random_fill(R& rng, std::span<Elem> out) {
    rng.fill(std::as_writable_bytes(out));
  }
};

}  // namespace pirx::gf2e
