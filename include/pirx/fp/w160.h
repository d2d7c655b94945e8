// W160: the integers modulo p = 2^160 + 7. A database word has exactly 20 bytes, an element has 161 bits.
#pragma once

#include <cstring>
#include <span>

#include "pirx/base/field.h"
#include "pirx/fp/random.h"

namespace pirx::fp {

/// The field, a value without state. Every operation takes the same time for all values. Only the results of
/// store_word and decode_*, which are public by contract, may decide a branch.
class W160 {
 public:
  /// The integer limb[0] + 2^64 limb[1] + 2^128 limb[2]. It is always below p.
  struct Elem {
    std::uint64_t limb[3] = {0, 0, 0};
  };
  using Sum = Elem;

  static constexpr bool kPrimeField = true;  ///< words and elements are little-endian integers
  static constexpr std::size_t kWordBytes = 20;
  static constexpr std::size_t kElemBytes = 21;

  FieldTag tag() const noexcept { return kTagW160; }
  Elem zero() const noexcept { return {}; }
  Elem one() const noexcept { return from_label(1); }
  Elem add(Elem a, Elem b) const noexcept;
  Elem sub(Elem a, Elem b) const noexcept;
  Elem mul(Elem a, Elem b) const noexcept;
  /// a^(p-2), the inverse of a; 0 for a = 0.
  Elem inv(Elem a) const noexcept;
  bool equal(Elem a, Elem b) const noexcept;
  /// The integer n.
  Elem from_label(std::uint64_t n) const noexcept { return {{n, 0, 0}}; }
  std::uint64_t size_limit() const noexcept { return ~std::uint64_t{0}; }

  std::size_t word_bytes() const noexcept { return kWordBytes; }
  /// Reads 20 bytes, little-endian.
  Sum load_word(const std::byte* from) const noexcept;
  /// Writes 20 bytes. If s is one of the seven values from 2^160 on, writes nothing and returns false.
  bool store_word(Sum s, std::byte* to) const noexcept;
  Sum sum_add(Sum a, Sum b) const noexcept { return add(a, b); }
  Sum sum_sub(Sum a, Sum b) const noexcept { return sub(a, b); }
  Sum sum_scale(Elem a, Sum s) const noexcept { return mul(a, s); }
  bool sum_equal(Sum a, Sum b) const noexcept { return equal(a, b); }

  std::size_t elem_bytes() const noexcept { return kElemBytes; }
  std::size_t sum_bytes() const noexcept { return kElemBytes; }
  /// Writes 21 bytes, little-endian.
  void encode_elem(Elem a, std::byte* to) const noexcept {
    const auto top = static_cast<std::uint32_t>(a.limb[2]);
    std::memcpy(to, &a.limb[0], 8);
    std::memcpy(to + 8, &a.limb[1], 8);
    std::memcpy(to + 16, &top, 4);
    to[20] = static_cast<std::byte>(a.limb[2] >> 32);
  }
  /// Reads 21 bytes. If they hold p or more, returns false and leaves `a` as it was.
  bool decode_elem(const std::byte* from, Elem& a) const noexcept {
    Elem value;
    std::memcpy(&value.limb[0], from, 8);
    std::memcpy(&value.limb[1], from + 8, 8);
    std::uint32_t top = 0;
    std::memcpy(&top, from + 16, 4);
    const auto above = static_cast<std::uint64_t>(from[20]);
    value.limb[2] = above << 32 | top;
    // The value is good if it is below 2^160, or 2^160 plus less than 7. No branch: half of all candidates
    // for random elements are refused.
    const std::uint64_t over = (above - 1) | top | value.limb[1];
    const std::uint64_t good = (above == 0) | ((over == 0) & (value.limb[0] < 7));
    for (std::size_t i = 0; i < 3; ++i) {
      a.limb[i] ^= (a.limb[i] ^ value.limb[i]) & (std::uint64_t{0} - good);
    }
    return good != 0;
  }
  void encode_sum(Sum s, std::byte* to) const noexcept { encode_elem(s, to); }
  bool decode_sum(const std::byte* from, Sum& s) const noexcept { return decode_elem(from, s); }

  /// A uniform element, see fp::random_fill.
  template <RandomSource R>
  Elem random(R& rng) const {
    Elem a;
    random_fill(rng, std::span<Elem>(&a, 1));
    return a;
  }
  template <RandomSource R>
  void random_fill(R& rng, std::span<Elem> out) const {
    fp::random_fill(*this, rng, out);
  }
};

static_assert(Field<W160>);

/// "amx", "vnni", "ifma" (AVX-512), "avx2" and "portable", as far as they are compiled in.
std::span<const Kernels<W160>> kernel_table(const W160& f) noexcept;

}  // namespace pirx::fp
