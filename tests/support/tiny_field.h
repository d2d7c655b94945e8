// SPDX-License-Identifier: Apache-2.0
// Fields small enough to enumerate: every coin, every index, every view. They model pirx::Field, so the
// shipped templates run over them unchanged. A database byte b stands for the element b mod |F|; elements and
// sums are one byte.
#pragma once

#include <array>
#include <bit>
#include <span>

#include "pirx/base/field.h"

namespace pirx::testing {

/// Tests that replay coins offer draw<n>(): the next coin, in 0 .. n-1.
template <class R, unsigned n>
concept CoinTape = requires(R& rng) {
  { rng.template draw<n>() } -> std::convertible_to<unsigned>;
};

/// GF(kSize): the integers modulo a prime, or GF(4) modulo x^2 + x + 1.
template <unsigned kSize>
class TinyField {
  static_assert(kSize == 2 || kSize == 3 || kSize == 4 || kSize == 5 || kSize == 7 || kSize == 11 ||
                kSize == 97);

 public:
  using Elem = std::uint8_t;
  using Sum = std::uint8_t;

  FieldTag tag() const {
    if (kSize == 4) return {FieldKind::kBinary, 2, 3};
    return {FieldKind::kPrime, static_cast<std::uint16_t>(std::bit_width(kSize)),
            kSize - std::bit_floor(kSize)};
  }
  Elem zero() const { return 0; }
  Elem one() const { return 1; }
  Elem add(Elem a, Elem b) const {
    return kSize == 4 ? narrow(unsigned{a} ^ b) : narrow((unsigned{a} + b) % kSize);
  }
  Elem sub(Elem a, Elem b) const {
    return kSize == 4 ? add(a, b) : narrow((unsigned{a} + kSize - b) % kSize);
  }
  Elem mul(Elem a, Elem b) const {
    if constexpr (kSize == 4) {
      const unsigned carryless = (b & 1u ? a : 0u) ^ (b & 2u ? 2u * a : 0u);
      return narrow(carryless & 4u ? carryless ^ 7u : carryless);
    }
    return narrow(unsigned{a} * b % kSize);
  }
  Elem inv(Elem a) const {
    for (unsigned b = 1; b < kSize; ++b) {
      if (mul(a, narrow(b)) == 1) return narrow(b);
    }
    return 0;
  }
  bool equal(Elem a, Elem b) const { return a == b; }
  Elem from_label(std::uint64_t n) const {
    PIRX_CHECK(n < kSize);
    return static_cast<Elem>(n);
  }
  std::uint64_t size_limit() const { return kSize; }

  std::size_t word_bytes() const { return 1; }
  Sum load_word(const std::byte* from) const { return narrow(std::to_integer<unsigned>(*from) % kSize); }
  bool store_word(Sum s, std::byte* to) const {
    *to = std::byte{s};
    return true;
  }
  Sum sum_add(Sum a, Sum b) const { return add(a, b); }
  Sum sum_sub(Sum a, Sum b) const { return sub(a, b); }
  Sum sum_scale(Elem a, Sum s) const { return mul(a, s); }
  bool sum_equal(Sum a, Sum b) const { return a == b; }

  std::size_t elem_bytes() const { return 1; }
  std::size_t sum_bytes() const { return 1; }
  void encode_elem(Elem a, std::byte* to) const { *to = std::byte{a}; }
  bool decode_elem(const std::byte* from, Elem& a) const {
    a = std::to_integer<Elem>(*from);
    return a < kSize;
  }
  void encode_sum(Sum s, std::byte* to) const { encode_elem(s, to); }
  bool decode_sum(const std::byte* from, Sum& s) const { return decode_elem(from, s); }

  /// Uniform over the field: one coin of a tape, else bytes with rejection.
  template <RandomSource R>
  Elem random(R& rng) const {
    if constexpr (CoinTape<R, kSize>) {
      return narrow(rng.template draw<kSize>());
    } else {
      std::byte byte{};
      do {
        rng.fill(MutableByteSpan(&byte, 1));
      } while (std::to_integer<unsigned>(byte) >= 256 / kSize * kSize);
      return narrow(std::to_integer<unsigned>(byte) % kSize);
    }
  }
  template <RandomSource R>
  void random_fill(R& rng, std::span<Elem> out) const {
    for (Elem& a : out) a = random(rng);
  }

 private:
  static constexpr Elem narrow(unsigned value) { return static_cast<Elem>(value); }
};

template <unsigned P>
requires(P != 4) using TinyPrime = TinyField<P>;
using TinyGf4 = TinyField<4>;

/// The loops that the kernel contract describes, one word at a time. Also the model of a kernel table of one
/// entry.
template <unsigned kSize>
struct TinyKernels {
  using F = TinyField<kSize>;
  static void muladd_words(const F& f, std::size_t q, std::size_t r, std::size_t s, const std::uint8_t* Q,
                           std::size_t q_stride, const std::byte* D, std::size_t d_stride, std::uint8_t* R,
                           std::size_t r_stride) noexcept {
    for (std::size_t i = 0; i < q; ++i) {
      for (std::size_t k = 0; k < r; ++k) {
        for (std::size_t j = 0; j < s; ++j) {
          std::uint8_t& sum = R[i * r_stride + j];
          sum = f.add(sum, f.mul(Q[i * q_stride + k], f.load_word(D + k * d_stride + j)));
        }
      }
    }
  }
  static void muladd_sums(const F& f, std::size_t q, std::size_t r, std::size_t s, const std::uint8_t* Q,
                          std::size_t q_stride, const std::uint8_t* D, std::size_t d_stride, std::uint8_t* R,
                          std::size_t r_stride) noexcept {
    muladd_words(f, q, r, s, Q, q_stride, reinterpret_cast<const std::byte*>(D), d_stride, R, r_stride);
  }
  static void add(const F& f, std::size_t n, const std::uint8_t* a, const std::uint8_t* b,
                  std::uint8_t* out) noexcept {
    for (std::size_t i = 0; i < n; ++i) out[i] = f.add(a[i], b[i]);
  }
  static void sub(const F& f, std::size_t n, const std::uint8_t* a, const std::uint8_t* b,
                  std::uint8_t* out) noexcept {
    for (std::size_t i = 0; i < n; ++i) out[i] = f.sub(a[i], b[i]);
  }
  static constexpr std::array<Kernels<F>, 1> kTable = {
      {{"portable", 0, &muladd_words, &muladd_sums, &add, &sub, 64, 256}}};
};

template <unsigned kSize>
std::span<const Kernels<TinyField<kSize>>> kernel_table(const TinyField<kSize>&) {
  return TinyKernels<kSize>::kTable;
}

static_assert(Field<TinyPrime<2>> && Field<TinyPrime<97>> && Field<TinyGf4>);

}  // namespace pirx::testing
