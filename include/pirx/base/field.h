// What a field is to the rest of pirx: the concept, the tag that names it on the wire, and its kernel table.
//
// A database is bytes. A field reads them as words of word_bytes() bytes each (any bytes are a valid word),
// multiplies words by scalars of type Elem and accumulates into values of type Sum. For GF(2^8) all three are
// one byte; a GF(2) word packs 8 columns in a byte; a W160 word has 20 bytes but its sums have 161 bits.
#pragma once

#include <concepts>
#include <cstddef>
#include <string>

#include "pirx/base/cpu.h"
#include "pirx/base/rng.h"
#include "pirx/base/wire.h"

namespace pirx {

enum class FieldKind : std::uint8_t { kBinary = 1, kPrime = 2 };

/// Names a field on the wire and in files. 8 bytes: kind, 0, bits (u16), low (u32).
/// kBinary: GF(2^bits) modulo x^bits + ..., low = the polynomial without its leading term (0x1B for 0x11B).
/// kPrime: GF(p), p = 2^(bits-1) + low, the smallest prime above 2^(bits-1); data words have bits-1 bits.
struct FieldTag {
  FieldKind kind = FieldKind::kBinary;
  std::uint16_t bits = 0;
  std::uint32_t low = 0;

  friend bool operator==(const FieldTag&, const FieldTag&) = default;
  /// "gf2", "gf2_8", "gf2_16", "w160", "w48", "prime<bits of a word>" or "kind/bits/low" for an unknown one.
  std::string name() const;
  void encode(Writer& writer) const;
  /// DataLoss on a malformed tag; an unknown but well-formed one is returned as it is.
  static Result<FieldTag> decode(Reader& reader);
};

inline constexpr FieldTag kTagGf2{FieldKind::kBinary, 1, 1};
inline constexpr FieldTag kTagGf2_8{FieldKind::kBinary, 8, 0x1B};
inline constexpr FieldTag kTagGf2_16{FieldKind::kBinary, 16, 0x50D7};
inline constexpr FieldTag kTagW160{FieldKind::kPrime, 161, 7};
inline constexpr FieldTag kTagW48{FieldKind::kPrime, 49, 21};

/// A field as a small value, passed as `const F& f`. Arithmetic is total: inv(0) = 0.
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
  /// The element labelled n: the byte pattern n for GF(2^n), the integer n for GF(p). n < size_limit().
  { f.from_label(n) } -> std::same_as<typename F::Elem>;
  /// min(|F|, 2^64 - 1).
  { f.size_limit() } -> std::same_as<std::uint64_t>;
  // Database words.
  { f.word_bytes() } -> std::same_as<std::size_t>;
  { f.load_word(from) } -> std::same_as<typename F::Sum>;
  /// Writes the word that s stands for; false when s is no word (a sum of W160 at or above 2^160).
  { f.store_word(s, to) } -> std::same_as<bool>;
  // Sums: add, sub, and a * s; the oracle of the kernels.
  { f.sum_add(s, s) } -> std::same_as<typename F::Sum>;
  { f.sum_sub(s, s) } -> std::same_as<typename F::Sum>;
  { f.sum_scale(a, s) } -> std::same_as<typename F::Sum>;
  { f.sum_equal(s, s) } -> std::same_as<bool>;
  // The wire. elem_bytes() for one scalar, sum_bytes() for one sum; decoders refuse values that are no
  // element.
  { f.elem_bytes() } -> std::same_as<std::size_t>;
  { f.sum_bytes() } -> std::same_as<std::size_t>;
  { f.encode_elem(a, to) } -> std::same_as<void>;
  { f.decode_elem(from, a) } -> std::same_as<bool>;
  { f.encode_sum(s, to) } -> std::same_as<void>;
  { f.decode_sum(from, s) } -> std::same_as<bool>;
};
// Beside the concept every field has `template <RandomSource R> Elem random(R&) const` (uniform over F) and
// `template <RandomSource R> void random_fill(R&, std::span<Elem>) const`. decode_* take their result by
// reference. Elem and Sum are trivially copyable and all-zero bytes mean zero.

struct SlicedKernels;
struct ResidueKernels;

/// From how many queries of one product on one way of multiplying is faster than another: measured, never
/// derived. 0: that way is never taken. All ways give the same product.
struct Crossovers {
  std::size_t direct = 0;         ///< planes, one matrix a plane and query: up to so many queries
  std::size_t fused = 0;          ///< planes, sums formed in registers: up to so many queries
  std::size_t toom = 0;           ///< rows, Toom-Cook: from so many queries on
  std::size_t residues = 0;       ///< rows, many small moduli: from so many queries on
  std::size_t kept_residues = 0;  ///< the same where the database's residues were prepared
  std::size_t level_in_rows = 0;  ///< rows: a level of Strassen while each half has so many queries
  std::size_t stored_level = 0;   ///< planes, levels of Strassen stored: the same
};
template <class F>
struct ToomKernels;

/// One implementation of the hot loops of F. The only place for intrinsics. Every function computes exactly
/// what the portable one does, for any shape (zero included), any alignment, and strides in bytes.
template <class F>
struct Kernels {
  using Elem = typename F::Elem;
  using Sum = typename F::Sum;
  const char* name;   ///< "portable", "avx2", "gfni512", "ifma"
  CpuFeatures needs;  ///< 0 for the portable one
  /// R += Q * D. Q: q x r scalars; D: r rows of s database words; R: q x s sums. R overlaps neither Q nor D.
  void (*muladd_words)(const F& f, std::size_t q, std::size_t r, std::size_t s, const Elem* Q,
                       std::size_t q_stride, const std::byte* D, std::size_t d_stride, Sum* R,
                       std::size_t r_stride) noexcept;
  /// R += Q * D with D an r x s matrix of sums. The same function where a word is a sum.
  void (*muladd_sums)(const F& f, std::size_t q, std::size_t r, std::size_t s, const Elem* Q,
                      std::size_t q_stride, const Sum* D, std::size_t d_stride, Sum* R,
                      std::size_t r_stride) noexcept;
  /// out = a + b and out = a - b over n sums; out may be a or b.
  void (*add)(const F& f, std::size_t n, const Sum* a, const Sum* b, Sum* out) noexcept;
  void (*sub)(const F& f, std::size_t n, const Sum* a, const Sum* b, Sum* out) noexcept;
  /// Tile that keeps D and R in cache for many queries: rows of D, and bytes of a row of D.
  std::size_t tile_rows;
  std::size_t tile_bytes;
  /// The bit-sliced way for products with a prepared database (pirx/base/sliced_kernels.h); null: there is
  /// none.
  const SlicedKernels* sliced = nullptr;
  /// The Toom-Cook way for many queries (pirx/base/toom_kernels.h); null: there is none.
  const ToomKernels<F>* toom = nullptr;
  /// The multi-modular way for many queries (pirx/base/residue_kernels.h), for rows of at least so many
  /// words; null: there is none.
  const ResidueKernels* residues = nullptr;
  std::size_t residue_words = 0;
  Crossovers crossovers = {};
};

// Every field offers, found by argument-dependent lookup:
//   std::span<const Kernels<F>> kernel_table(const F& f);   all compiled in, best first, the portable one
//   last
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
