// SPDX-License-Identifier: Apache-2.0
// What W160 and W48 share: the integers modulo a prime p = 2^w + c, where a database word has exactly w bits.
#pragma once

#include <cstring>
#include <span>
#include <type_traits>

#include "pirx/base/field.h"
#include "pirx/base/opaque.h"
#include "pirx/fp/random.h"

namespace pirx::fp {

/// An integer in little-endian limbs; zero if not initialised.
template <std::size_t kCount>
struct Limbs {
  std::uint64_t limb[kCount] = {};
  constexpr std::uint64_t& operator[](std::size_t i) noexcept { return limb[i]; }
  constexpr std::uint64_t operator[](std::size_t i) const noexcept { return limb[i]; }
};
template <>
struct Limbs<1> {
  std::uint64_t value = 0;
  constexpr std::uint64_t& operator[](std::size_t) noexcept { return value; }
  constexpr std::uint64_t operator[](std::size_t) const noexcept { return value; }
};

/// GF(p) for p = 2^kWordBits + kAbove. Models pirx::Field. A value without state. Every operation takes the
/// same time for all values. Only the results of store_word and decode_*, which are public by contract, may
/// decide a branch. Instantiated for W160 and W48.
template <unsigned kWordBits, std::uint32_t kAbove>
class WordPrime {
 public:
  static constexpr bool kPrimeField = true;  ///< words and elements are little-endian integers
  static constexpr unsigned kBits = kWordBits;
  static constexpr std::uint32_t kLow = kAbove;  ///< p - 2^kBits
  static constexpr std::size_t kWordBytes = kBits / 8;
  static constexpr std::size_t kElemBytes = kWordBytes + 1;
  static constexpr std::size_t kLimbs = kBits / 64 + 1;
  static constexpr unsigned kTopBits = kBits % 64;  ///< the bits of a word in its highest limb

  using Elem = Limbs<kLimbs>;  ///< an integer below p
  using Sum = Elem;

  static constexpr Elem prime() noexcept {
    Elem p;
    p[0] = kLow;
    p[kLimbs - 1] |= std::uint64_t{1} << kTopBits;
    return p;
  }

  /// a modulo p. On input a < 2p.
  static constexpr Elem reduced(const Elem& a) noexcept {
    const Elem less = minus(a, prime());
    return choose(sign(less), a, less);
  }

  FieldTag tag() const noexcept { return {FieldKind::kPrime, kBits + 1, kLow}; }
  Elem zero() const noexcept { return {}; }
  Elem one() const noexcept { return from_label(1); }
  Elem add(const Elem& a, const Elem& b) const noexcept { return reduced(plus(a, b)); }
  Elem sub(const Elem& a, const Elem& b) const noexcept {
    const Elem out = minus(a, b);
    Elem fix = prime();
    for (std::size_t i = 0; i < kLimbs; ++i) fix[i] &= sign(out);
    return plus(out, fix);
  }
  Elem mul(Elem a, Elem b) const noexcept;
  /// a^(p-2), the inverse of a; 0 for a = 0.
  Elem inv(Elem a) const noexcept;
  bool equal(const Elem& a, const Elem& b) const noexcept {
    std::uint64_t different = 0;
    for (std::size_t i = 0; i < kLimbs; ++i) different |= a[i] ^ b[i];
    return different == 0;
  }
  /// The integer n, which must be below p.
  Elem from_label(std::uint64_t n) const noexcept {
    Elem a;
    a[0] = n;
    return a;
  }
  std::uint64_t size_limit() const noexcept { return kLimbs == 1 ? prime()[0] : ~std::uint64_t{0}; }

  std::size_t word_bytes() const noexcept { return kWordBytes; }
  /// Reads kWordBytes bytes, little-endian.
  Sum load_word(const std::byte* from) const noexcept { return load<kWordBytes>(from); }
  /// Writes kWordBytes bytes. If s is one of the values from 2^kBits on, these mean nothing, and the result
  /// is false.
  bool store_word(const Sum& s, std::byte* to) const noexcept {
    store<kWordBytes>(s, to);
    return (s[kLimbs - 1] >> kTopBits) == 0;
  }
  Sum sum_add(const Sum& a, const Sum& b) const noexcept { return add(a, b); }
  Sum sum_sub(const Sum& a, const Sum& b) const noexcept { return sub(a, b); }
  Sum sum_scale(const Elem& a, const Sum& s) const noexcept { return mul(a, s); }
  bool sum_equal(const Sum& a, const Sum& b) const noexcept { return equal(a, b); }

  std::size_t elem_bytes() const noexcept { return kElemBytes; }
  std::size_t sum_bytes() const noexcept { return kElemBytes; }
  /// Writes kElemBytes bytes, little-endian.
  void encode_elem(const Elem& a, std::byte* to) const noexcept { store<kElemBytes>(a, to); }
  /// Reads kElemBytes bytes. If they hold p or more, returns false and leaves `a` as it was.
  bool decode_elem(const std::byte* from, Elem& a) const noexcept {
    const Elem value = load<kElemBytes>(from);
    // p and more are not negative after subtracting p. No branch: half of all candidates for random elements
    // are refused.
    const std::uint64_t good = opaque(minus(value, prime())[kLimbs - 1] >> 63);
    for (std::size_t i = 0; i < kLimbs; ++i) a[i] ^= (a[i] ^ value[i]) & (std::uint64_t{0} - good);
    return good != 0;
  }
  void encode_sum(const Sum& s, std::byte* to) const noexcept { encode_elem(s, to); }
  bool decode_sum(const std::byte* from, Sum& s) const noexcept { return decode_elem(from, s); }

  /// Uniform, independent elements, see fp::random_fill.
  template <RandomSource R>
  void random_fill(R& rng, std::span<Elem> out) const {
    fp::random_fill(*this, rng, out);
  }

 private:
  __extension__ using Wide = unsigned __int128;

  /// a + b and a - b modulo 2^(64 kLimbs). The top bit of the highest limb is the sign.
  static constexpr Elem plus(const Elem& a, const Elem& b) noexcept {
    Elem out;
    Wide carry = 0;
    for (std::size_t i = 0; i < kLimbs; ++i) {
      carry += Wide{a[i]} + b[i];
      out[i] = static_cast<std::uint64_t>(carry);
      carry >>= 64;
    }
    return out;
  }
  static constexpr Elem minus(const Elem& a, const Elem& b) noexcept {
    Elem out;
    std::uint64_t borrow = 0;
    for (std::size_t i = 0; i < kLimbs; ++i) {
      const Wide difference = Wide{a[i]} - b[i] - borrow;
      out[i] = static_cast<std::uint64_t>(difference);
      borrow = static_cast<std::uint64_t>(difference >> 64) & 1;
    }
    return out;
  }
  /// All ones if a is negative, else 0.
  static constexpr std::uint64_t sign(const Elem& a) noexcept {
    const std::uint64_t negative = a[kLimbs - 1] >> 63;
    return std::uint64_t{0} - (std::is_constant_evaluated() ? negative : opaque(negative));
  }
  /// All of a if mask is all ones, all of b if it is 0.
  static constexpr Elem choose(std::uint64_t mask, const Elem& a, const Elem& b) noexcept {
    Elem out;
    for (std::size_t i = 0; i < kLimbs; ++i) out[i] = (a[i] & mask) | (b[i] & ~mask);
    return out;
  }

  /// The integer of `bytes` bytes. The bytes of the highest limb are read as words of 4, 2 and 1 bytes.
  template <std::size_t bytes>
  static Elem load(const std::byte* from) noexcept {
    Elem out;
    for (std::size_t i = 0; i < bytes / 8; ++i) out[i] = load_le<std::uint64_t>(from + 8 * i);
    std::size_t at = bytes / 8 * 8;
    const auto piece = [&]<class T>(T) {
      if constexpr ((bytes & sizeof(T)) == 0) return;
      out[kLimbs - 1] |= std::uint64_t{load_le<T>(from + at)} << (at % 8 * 8);
      at += sizeof(T);
    };
    piece(std::uint32_t{}), piece(std::uint16_t{}), piece(std::uint8_t{});
    return out;
  }
  template <std::size_t bytes>
  static void store(const Elem& a, std::byte* to) noexcept {
    for (std::size_t i = 0; i < bytes / 8; ++i) store_le(to + 8 * i, a[i]);
    std::size_t at = bytes / 8 * 8;
    const auto piece = [&]<class T>(T) {
      if constexpr ((bytes & sizeof(T)) == 0) return;
      store_le(to + at, static_cast<T>(a[kLimbs - 1] >> (at % 8 * 8)));
      at += sizeof(T);
    };
    piece(std::uint32_t{}), piece(std::uint16_t{}), piece(std::uint8_t{});
  }
};

extern template class WordPrime<160, 7>;
extern template class WordPrime<48, 21>;

}  // namespace pirx::fp
