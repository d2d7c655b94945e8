// SPDX-License-Identifier: Apache-2.0
// What the rest of pirx needs of a field: the concept, the tag that names the field on the wire, and the
// table of its kernels.
//
// A database is bytes. A field reads them as words of word_bytes() bytes each (all byte values are valid
// words), multiplies words by scalars of type Elem and adds the products up in values of type Sum. For
// GF(2^8) all three are one byte. A GF(2) word packs 8 columns into a byte. A W160 word has 20 bytes, but its
// sums have 161 bits.
#pragma once

#include <concepts>
#include <cstddef>
#include <string>

#include "pirx/base/cpu.h"
#include "pirx/base/rng.h"
#include "pirx/base/wire.h"

namespace pirx {

enum class FieldKind : std::uint8_t { kBinary = 1, kPrime = 2 };

/// Names a field on the wire and in files. It takes 8 bytes: kind, 0, bits (u16), low (u32).
///
/// kBinary: GF(2^bits) modulo x^bits + ...; low is the polynomial without its leading term (0x1B for 0x11B).
/// kPrime: GF(p), p = 2^(bits-1) + low, the smallest prime above 2^(bits-1); data words have bits-1 bits.
struct FieldTag {
  FieldKind kind = FieldKind::kBinary;
  std::uint16_t bits = 0;
  std::uint32_t low = 0;

  friend bool operator==(const FieldTag&, const FieldTag&) = default;
  /// "gf2", "gf2_8", "gf2_16", "w160", "w48", "prime<bits of a word>", or "kind/bits/low" for an unknown
  /// field.
  std::string name() const;
  void encode(Writer& writer) const;
  /// Reads a tag. A well-formed tag of an unknown field is returned as it is. DataLoss: the tag is malformed.
  static Result<FieldTag> decode(Reader& reader);
};

inline constexpr FieldTag kTagGf2{FieldKind::kBinary, 1, 1};
inline constexpr FieldTag kTagGf2_8{FieldKind::kBinary, 8, 0x1B};
inline constexpr FieldTag kTagGf2_16{FieldKind::kBinary, 16, 0x50D7};
inline constexpr FieldTag kTagW160{FieldKind::kPrime, 161, 7};
inline constexpr FieldTag kTagW48{FieldKind::kPrime, 49, 21};

/// A field is a small value that is passed as `const F& f`. Every operation is defined for every argument:
/// inv(0) = 0.
template <class F>
concept Field = std::copyable<F> &&
    requires(const F& f, typename F::Elem a, typename F::Elem b, typename F::Sum s, const std::byte* from,
             std::byte* to, std::uint64_t n) {
  { f.tag() } -> std::same_as<FieldTag>;
  { f.zero() } -> std::same_as<typename F::Elem>;
  { f.one() } -> std::same_as<typename F::Elem>;
  { f.add(a, b) } -> std::same_as<typename F::Elem>;
  { f.sub(a, b) } -> std::same_as<typename F::Elem>;
  { f.mul(a, b) } -> std::same_as<typename F::Elem>;
  { f.inv(a) } -> std::same_as<typename F::Elem>;
  { f.equal(a, b) } -> std::same_as<bool>;
  /// The element with the label n < size_limit(): the bit pattern n in GF(2^n), the integer n in GF(p).
  { f.from_label(n) } -> std::same_as<typename F::Elem>;
  /// min(|F|, 2^64 - 1).
  { f.size_limit() } -> std::same_as<std::uint64_t>;
  // Database words.
  { f.word_bytes() } -> std::same_as<std::size_t>;
  { f.load_word(from) } -> std::same_as<typename F::Sum>;
  /// Writes the word whose value is s. False if no word has that value (a sum of W160 from 2^160 on).
  { f.store_word(s, to) } -> std::same_as<bool>;
  // Sums: s + s, s - s and a * s. The kernels are tested against these.
  { f.sum_add(s, s) } -> std::same_as<typename F::Sum>;
  { f.sum_sub(s, s) } -> std::same_as<typename F::Sum>;
  { f.sum_scale(a, s) } -> std::same_as<typename F::Sum>;
  { f.sum_equal(s, s) } -> std::same_as<bool>;
  // Wire: a scalar takes elem_bytes(), a sum takes sum_bytes(). The decoders refuse bytes that encode no
  // element.
  { f.elem_bytes() } -> std::same_as<std::size_t>;
  { f.sum_bytes() } -> std::same_as<std::size_t>;
  { f.encode_elem(a, to) } -> std::same_as<void>;
  { f.decode_elem(from, a) } -> std::same_as<bool>;
  { f.encode_sum(s, to) } -> std::same_as<void>;
  { f.decode_sum(from, s) } -> std::same_as<bool>;
};
// Beside the concept, every field has `template <RandomSource R> void random_fill(R&, std::span<Elem>)
// const`, which draws uniform, independent elements. decode_* return their result by reference. Elem and Sum
// are trivially copyable, and all-zero bytes mean zero.

struct SlicedKernels;
struct ResidueKernels;

/// At how many queries one way to multiply becomes faster than another. The numbers are measured, never
/// derived. 0: that way is never taken. All ways give the same product.
struct Crossovers {
  std::size_t direct = 0;    ///< from planes, one matrix per plane and query: up to this many queries
  std::size_t fused = 0;     ///< from planes, sums formed in registers: up to this many queries
  std::size_t toom = 0;      ///< from rows, Toom-Cook: from this many queries on
  std::size_t residues = 0;  ///< from rows, many small moduli: from this many queries on
  /// From prepared residues, many small moduli: from this many queries on.
  std::size_t kept_residues = 0;
  /// From rows: a level of Strassen is used while each half has this many queries.
  std::size_t level_in_rows = 0;
  /// From planes with stored levels of Strassen: a level is used while each half has this many queries.
  std::size_t stored_level = 0;
  /// From planes: the scheme with the fewest products of bits is used from this many queries on. For fewer,
  /// the one with the cheapest sums.
  std::size_t fewest_products = 0;
};
template <class F>
struct ToomKernels;

/// One implementation of the hot loops of F. Intrinsics are used nowhere else. Every function computes
/// exactly what the portable one computes, for any shape (zero included) and any alignment. Strides are in
/// bytes.
template <class F>
struct Kernels {
  using Elem = typename F::Elem;
  using Sum = typename F::Sum;
  const char* name;   ///< "portable", "avx2", "gfni512", "ifma"
  CpuFeatures needs;  ///< no features for the portable one
  /// R += Q * D. Q: q x r scalars; D: r rows of s database words; R: q x s sums. R overlaps neither Q nor D.
  void (*muladd_words)(const F& f, std::size_t q, std::size_t r, std::size_t s, const Elem* Q,
                       std::size_t q_stride, const std::byte* D, std::size_t d_stride, Sum* R,
                       std::size_t r_stride) noexcept;
  /// R += Q * D where D is an r x s matrix of sums. The same function as muladd_words if a word is a sum.
  void (*muladd_sums)(const F& f, std::size_t q, std::size_t r, std::size_t s, const Elem* Q,
                      std::size_t q_stride, const Sum* D, std::size_t d_stride, Sum* R,
                      std::size_t r_stride) noexcept;
  /// out = a + b and out = a - b over n sums. `out` may be a or b.
  void (*add)(const F& f, std::size_t n, const Sum* a, const Sum* b, Sum* out) noexcept;
  void (*sub)(const F& f, std::size_t n, const Sum* a, const Sum* b, Sum* out) noexcept;
  /// The tile that keeps D and R in the cache for many queries: rows of D, and bytes of a row of D.
  std::size_t tile_rows;
  std::size_t tile_bytes;
  /// Products with bit planes of a prepared database (pirx/base/sliced_kernels.h). Null if there are none.
  const SlicedKernels* sliced = nullptr;
  /// Toom-Cook products for many queries (pirx/base/toom_kernels.h). Null if there are none.
  const ToomKernels<F>* toom = nullptr;
  /// Products modulo small moduli for many queries (pirx/base/residue_kernels.h), for rows of at least
  /// residue_words words. Null if there are none.
  const ResidueKernels* residues = nullptr;
  std::size_t residue_words = 0;
  Crossovers crossovers = {};
};

// Every field offers this function, which is found by argument-dependent lookup:
//
//   std::span<const Kernels<F>> kernel_table(const F& f);
//
// It returns all kernels that are compiled in, the best first and the portable one last.

/// The best kernel that the allowed CPU features permit.
template <class F>
const Kernels<F>& choose_kernels(const F& f, CpuFeatures allowed) {
  const auto table = kernel_table(f);
  for (const auto& kernels : table) {
    if ((kernels.needs & ~allowed) == 0) return kernels;
  }
  return table.back();
}

}  // namespace pirx
