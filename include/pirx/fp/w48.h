// W48: the integers modulo p = 2^48 + 21. A database word has exactly 6 bytes, an element has 49 bits. The
// prime field for servers that want more throughput than W160 gives, and for more than 2^16 servers.
#pragma once

#include <cstring>
#include <span>

#include "pirx/base/field.h"
#include "pirx/fp/random.h"

namespace pirx::fp {

/// The field, a value without state. Every operation takes the same time for all values. Only the results of
/// store_word and decode_*, which are public by contract, may decide a branch.
class W48 {
 public:
  /// An integer below p.
  struct Elem {
    std::uint64_t value = 0;
  };
  using Sum = Elem;

  static constexpr std::uint64_t kPrime = (std::uint64_t{1} << 48) + 21;
  static constexpr bool kPrimeField = true;  ///< words and elements are little-endian integers
  static constexpr std::size_t kWordBytes = 6;
  static constexpr std::size_t kElemBytes = 7;

  FieldTag tag() const noexcept { return kTagW48; }
  Elem zero() const noexcept { return {}; }
  Elem one() const noexcept { return from_label(1); }
  Elem add(Elem a, Elem b) const noexcept { return {below_prime(a.value + b.value - kPrime)}; }
  Elem sub(Elem a, Elem b) const noexcept { return {below_prime(a.value - b.value)}; }
  Elem mul(Elem a, Elem b) const noexcept;
  /// a^(p-2), the inverse of a; 0 for a = 0.
  Elem inv(Elem a) const noexcept;
  bool equal(Elem a, Elem b) const noexcept { return a.value == b.value; }
  /// The integer n, which must be below p.
  Elem from_label(std::uint64_t n) const noexcept { return {n}; }
  std::uint64_t size_limit() const noexcept { return kPrime; }

  std::size_t word_bytes() const noexcept { return kWordBytes; }
  /// Reads 6 bytes, little-endian.
  Sum load_word(const std::byte* from) const noexcept {
    Sum out;
    std::memcpy(&out.value, from, kWordBytes);
    return out;
  }
  /// Writes 6 bytes. If s is one of the 21 values from 2^48 on, writes nothing and returns false.
  bool store_word(Sum s, std::byte* to) const noexcept;
  Sum sum_add(Sum a, Sum b) const noexcept { return add(a, b); }
  Sum sum_sub(Sum a, Sum b) const noexcept { return sub(a, b); }
  Sum sum_scale(Elem a, Sum s) const noexcept { return mul(a, s); }
  bool sum_equal(Sum a, Sum b) const noexcept { return equal(a, b); }

  std::size_t elem_bytes() const noexcept { return kElemBytes; }
  std::size_t sum_bytes() const noexcept { return kElemBytes; }
  /// Writes 7 bytes, little-endian.
  void encode_elem(Elem a, std::byte* to) const noexcept { std::memcpy(to, &a.value, kElemBytes); }
  /// Reads 7 bytes. If they hold p or more, returns false and leaves `a` as it was.
  bool decode_elem(const std::byte* from, Elem& a) const noexcept;
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

 private:
  /// a, or a + p if a is negative as a signed number. On input -p <= a < p.
  static std::uint64_t below_prime(std::uint64_t a) noexcept {
    return a + (kPrime & (std::uint64_t{0} - (a >> 63)));
  }
};

static_assert(Field<W48>);

/// "amx", "ifma" (AVX-512), "avx2" and "portable", as far as they are compiled in.
std::span<const Kernels<W48>> kernel_table(const W48& f) noexcept;

}  // namespace pirx::fp
