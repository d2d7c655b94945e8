// SPDX-License-Identifier: Apache-2.0
// PrimeField: GF(p) for the smallest prime p above 2^w, computed with NTL's integers. It is slow and obvious:
// the reference for W160, and a field for deployments that want another word size.
#pragma once

#include <span>

#include "pirx/base/field.h"
#include "pirx/fp/random.h"

namespace pirx::fp {

/// A copyable value that knows p. Thread-safe, since it uses no modulus context of NTL. Timing depends on the
/// values: do not use it for secrets where another process on the machine could measure the time.
class PrimeField {
 public:
  /// An integer below p in little-endian limbs.
  struct Elem {
    std::uint64_t limb[5] = {0, 0, 0, 0, 0};
  };
  using Sum = Elem;

  /// Finds p for words of w = word_bits bits. InvalidArgument: word_bits is not a multiple of 8 from 8 to
  /// 256.
  static Result<PrimeField> create(unsigned word_bits);
  /// The field that the tag names. InvalidArgument: the tag names no PrimeField, or its p is not the smallest
  /// prime above 2^w.
  static Result<PrimeField> create(const FieldTag& tag);

  FieldTag tag() const noexcept;
  Elem zero() const noexcept { return {}; }
  Elem one() const noexcept { return from_label(1); }
  Elem add(Elem a, Elem b) const noexcept;
  Elem sub(Elem a, Elem b) const noexcept;
  Elem mul(Elem a, Elem b) const noexcept;
  /// The inverse of a; 0 for a = 0.
  Elem inv(Elem a) const noexcept;
  bool equal(Elem a, Elem b) const noexcept;
  /// The integer n.
  Elem from_label(std::uint64_t n) const noexcept { return {{n, 0, 0, 0, 0}}; }
  std::uint64_t size_limit() const noexcept;

  std::size_t word_bytes() const noexcept { return word_bytes_; }
  Sum load_word(const std::byte* from) const noexcept;
  /// Writes the word with the value s. If s is 2^w or more, writes nothing and returns false.
  bool store_word(Sum s, std::byte* to) const noexcept;
  Sum sum_add(Sum a, Sum b) const noexcept { return add(a, b); }
  Sum sum_sub(Sum a, Sum b) const noexcept { return sub(a, b); }
  Sum sum_scale(Elem a, Sum s) const noexcept { return mul(a, s); }
  bool sum_equal(Sum a, Sum b) const noexcept { return equal(a, b); }

  std::size_t elem_bytes() const noexcept { return word_bytes_ + 1; }
  std::size_t sum_bytes() const noexcept { return elem_bytes(); }
  void encode_elem(Elem a, std::byte* to) const noexcept;
  /// Reads an element. If the bytes hold p or more, returns false and leaves `a` as it was.
  bool decode_elem(const std::byte* from, Elem& a) const noexcept;
  void encode_sum(Sum s, std::byte* to) const noexcept { encode_elem(s, to); }
  bool decode_sum(const std::byte* from, Sum& s) const noexcept { return decode_elem(from, s); }

  /// A uniform element, see fp::random_fill.
  template <RandomSource R>
  void random_fill(R& rng, std::span<Elem> out) const {
    fp::random_fill(*this, rng, out);
  }

 private:
  PrimeField(std::size_t word_bytes, std::uint32_t low);

  std::size_t word_bytes_;
  std::uint32_t low_;  // p - 2^w
  Elem prime_;
};

static_assert(Field<PrimeField>);

/// Only "portable".
std::span<const Kernels<PrimeField>> kernel_table(const PrimeField& f) noexcept;

}  // namespace pirx::fp
