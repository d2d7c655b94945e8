// SPDX-License-Identifier: Apache-2.0
// Bit-sliced GF(2^n) (SlicedKernels) for any vector width. The includer defines PIRX_GF2E_ISA, the names of
// its instruction sets for the target attribute, and passes an Ops class:
//
//   Vec, kBytes, load, store, xor3, set64       a vector of kBytes bytes
//   unpack_low<bits>, unpack_high<bits>         interleave the lanes of two vectors
//   reverse_bytes, transpose_bits               in each qword: its 8 bytes, its 8 x 8 bits
//   low_bytes(a, b), high_bytes(a, b)           of the 16-bit words in a and b
//   words_first, words_last(low, high)          the inverse of both: the words of a, and those of b
//   twice, negative                             of bytes; negative: all ones if the top bit is set
//   Matrix, kMatrixBytes, matrix                8 x 8 bits of queries, ready for products
//   ready(v), store_matrix(m, to)               makes them of a matrix in each qword, then of one such qword
//   Data, data                                  a vector that is ready for products
//   add_product(sum, x, a)                      sum + a x
//   add_products(sum, x, a, y, b)               sum + a x + b y
//   kTile, kTileVecs                            a register tile: 2 or 4 query groups x vectors
//   kFusedVecs                                  vectors in a tile of nine products of a query group: a
//   divisor
//                                               of those in a full panel
//
// A matrix is a qword whose byte 7 - i is row i: bit i of a product is the parity of row i & x. Loops and
// addresses depend on shapes only.
#include <algorithm>
#include <cstring>
#include <utility>

#include "gf2e/kernels/kernels.h"
#include "gf2e/kernels/schemes.h"
#include "pirx/base/sliced_kernels.h"

#define PIRX_GF2E_TARGET __attribute__((target(PIRX_GF2E_ISA)))
// Loops that take what a CPU can issue. In gcc's order for this CPU they are a fifth faster, also on one of
// AMD (Zen 5), than in its order for no CPU in particular.
#define PIRX_GF2E_SCHEDULED __attribute__((target(PIRX_GF2E_ISA ",tune=icelake-server")))
#ifndef PIRX_GF2E_INLINE
#define PIRX_GF2E_INLINE PIRX_GF2E_TARGET __attribute__((always_inline)) static inline
#endif

namespace pirx::gf2e {
namespace {

template <class Ops, class F>
struct Sliced {
  using Vec = typename Ops::Vec;
  static constexpr std::size_t kPlanes = F::tag().bits;
  static constexpr std::size_t kElem = sizeof(typename F::Elem);
  static constexpr std::size_t kHalf = Ops::kBytes / 8;         // groups of 8 scalars in a vector
  static constexpr std::size_t kWords = Ops::kMatrixBytes / 8;  // qwords of a matrix of queries
  static constexpr std::size_t kColumns = SlicedKernels::kColumns;
  static constexpr std::size_t kVecs = kColumns / Ops::kBytes;  // registers in a vector of columns
  static_assert(Ops::kTile == 2 || Ops::kTile == 4);            // see multiply_direct
  static_assert(SlicedKernels::kPanelVectors * kVecs % Ops::kFusedVecs == 0);

  // --- transposing

  /// Transposes the 8 x 8 bytes that eight vectors hold in each of their qwords.
  PIRX_GF2E_INLINE void transpose_bytes(Vec (&v)[8]) {
    Vec a[8], b[8];
    for (int i = 0; i < 4; ++i) {
      a[i] = Ops::template unpack_low<8>(v[2 * i], v[2 * i + 1]);
      a[i + 4] = Ops::template unpack_high<8>(v[2 * i], v[2 * i + 1]);
    }
    for (int half = 0; half < 8; half += 4) {
      for (int i = 0; i < 2; ++i) {
        b[half + i] = Ops::template unpack_low<16>(a[half + 2 * i], a[half + 2 * i + 1]);
        b[half + i + 2] = Ops::template unpack_high<16>(a[half + 2 * i], a[half + 2 * i + 1]);
      }
    }
    // b[0] and b[1]: bytes 0 to 3 of the even qwords, rows 0 to 3 and 4 to 7. b[2] and b[3]: bytes 4 to 7.
    // From b[4] on: the odd qwords.
    for (int half = 0; half < 8; half += 4) {
      for (int i = 0; i < 2; ++i) {
        a[half + 2 * i] = Ops::template unpack_low<32>(b[half + 2 * i], b[half + 2 * i + 1]);
        a[half + 2 * i + 1] = Ops::template unpack_high<32>(b[half + 2 * i], b[half + 2 * i + 1]);
      }
    }
    for (int i = 0; i < 4; ++i) {
      v[2 * i] = Ops::template unpack_low<64>(a[i], a[i + 4]);
      v[2 * i + 1] = Ops::template unpack_high<64>(a[i], a[i + 4]);
    }
  }

  /// Bit i of byte j of each qword becomes bit j of byte 7 - i.
  PIRX_GF2E_INLINE Vec transpose_bits(Vec v) { return Ops::transpose_bits(v); }

  /// Turns eight rows of bytes into eight planes, and back: bit i of byte c of plane b is bit b of byte c of
  /// row i.
  PIRX_GF2E_INLINE void transpose_planes(Vec (&v)[8]) {
    for (int i = 0; i < 4; ++i) std::swap(v[i], v[7 - i]);
    transpose_bytes(v);
    for (Vec& x : v) x = transpose_bits(x);
    transpose_bytes(v);
  }

  // --- the database

  /// Writes the planes of Ops::kBytes columns of eight rows; plane b goes to out + b * plane_stride.
  PIRX_GF2E_INLINE void slice_rows(const std::byte* from, std::size_t stride, std::byte* out,
                                   std::size_t plane_stride) {
    Vec low[8];
    if constexpr (kPlanes == 8) {
      for (std::size_t i = 0; i < 8; ++i) low[i] = Ops::load(from + i * stride);
      transpose_planes(low);
    } else {
      static_assert(kPlanes == 16);
      Vec high[8];
      for (std::size_t i = 0; i < 8; ++i) {
        const Vec first = Ops::load(from + i * stride), last = Ops::load(from + i * stride + Ops::kBytes);
        low[i] = Ops::low_bytes(first, last);
        high[i] = Ops::high_bytes(first, last);
      }
      transpose_planes(low);
      transpose_planes(high);
      for (std::size_t b = 0; b < 8; ++b) Ops::store(out + (b + 8) * plane_stride, high[b]);
    }
    for (std::size_t b = 0; b < 8; ++b) Ops::store(out + b * plane_stride, low[b]);
  }

  PIRX_GF2E_TARGET static void slice(const std::byte* from, std::size_t stride, std::size_t rows,
                                     std::size_t bytes, std::size_t vectors, std::byte* group) noexcept {
    if constexpr (kPlanes == 1) return slice_columns(from, stride, rows, bytes, vectors, group);
    constexpr std::size_t kVectorBytes = kPlanes * 8;
    alignas(64) std::byte padded[8][kVectorBytes];
    const std::size_t plane_stride = vectors * kColumns;
    for (std::size_t v = 0; v < vectors; ++v) {
      const std::size_t at = v * kVectorBytes;
      const std::byte* rows_from = from + at;
      std::size_t row_stride = stride;
      if (rows < 8 || bytes < at + kVectorBytes) {
        std::memset(padded, 0, sizeof padded);
        const std::size_t count = bytes > at ? std::min(bytes - at, kVectorBytes) : 0;
        for (std::size_t i = 0; i < rows && count > 0; ++i)
          std::memcpy(padded[i], rows_from + i * stride, count);
        rows_from = padded[0];
        row_stride = kVectorBytes;
      }
      if constexpr (kPlanes > 1) {
        for (std::size_t part = 0; part < kVecs; ++part) {
          slice_rows(rows_from + part * Ops::kBytes * kElem, row_stride,
                     group + v * kColumns + part * Ops::kBytes, plane_stride);
        }
      }
    }
  }

  /// GF(2): a panel of eight rows. Bit i of byte c of `out` is bit c of row i.
  PIRX_GF2E_INLINE void slice_columns(const std::byte* from, std::size_t stride, std::size_t rows,
                                      std::size_t bytes, std::size_t vectors, std::byte* out) {
    constexpr std::size_t kLane = 16;
    static_assert(SlicedKernels::kPanelVectors * 8 <= Ops::kBytes);
    Vec v[8];
    if (rows == 8 && bytes >= Ops::kBytes) {
      for (std::size_t i = 0; i < 8; ++i) v[7 - i] = Ops::load(from + i * stride);
    } else {
      alignas(64) std::byte row[Ops::kBytes] = {};
      for (std::size_t i = 0; i < 8; ++i) {
        std::memset(row, 0, sizeof row);
        if (i < rows) std::memcpy(row, from + i * stride, std::min(bytes, vectors * 8));
        v[7 - i] = Ops::load(row);
      }
    }
    // Each round doubles the run of rows that lie side by side, until lane L of v[k] has the eight rows of
    // columns 16 L + 2 k and 16 L + 2 k + 1, counted in bytes.
    for (int round = 0; round < 3; ++round) {
      Vec w[8];
      for (std::size_t i = 0; i < 4; ++i) {
        w[2 * i] = Ops::template unpack_low<8>(v[i], v[i + 4]);
        w[2 * i + 1] = Ops::template unpack_high<8>(v[i], v[i + 4]);
      }
      for (std::size_t i = 0; i < 8; ++i) v[i] = w[i];
    }
    alignas(64) std::byte lanes[8][Ops::kBytes];
    for (std::size_t k = 0; k < 8; ++k) Ops::store(lanes[k], transpose_bits(v[k]));
    for (std::size_t pair = 0; pair < vectors * 4; ++pair)
      std::memcpy(out + pair * kLane, lanes[pair % 8] + pair / 8 * kLane, kLane);
  }

  // --- queries

  PIRX_GF2E_TARGET static void slice_queries(const std::byte* from, std::size_t stride, std::size_t rows,
                                             std::size_t elems, std::size_t groups, std::uint64_t* to,
                                             std::size_t plane_stride, std::size_t group_stride) noexcept {
    alignas(64) std::byte padded[8][Ops::kBytes * kElem];
    for (std::size_t g = 0; g < groups; g += kHalf) {
      const std::size_t first = 8 * g;
      const std::byte* rows_from = from + first * kElem;
      std::size_t row_stride = stride;
      if (rows < 8 || elems < first + Ops::kBytes) {
        std::memset(padded, 0, sizeof padded);
        const std::size_t count = elems > first ? std::min(elems - first, Ops::kBytes) * kElem : 0;
        for (std::size_t i = 0; i < rows && count > 0; ++i)
          std::memcpy(padded[i], rows_from + i * stride, count);
        rows_from = padded[0];
        row_stride = sizeof padded[0];
      }
      const std::size_t here = std::min(kHalf, groups - g);
      Vec bytes[8];
      for (std::size_t half = 0; half < kElem; ++half) {
        for (std::size_t i = 0; i < 8; ++i) {
          bytes[7 - i] = transpose_bits(Ops::reverse_bytes(half_of(rows_from + i * row_stride, half)));
        }
        transpose_bytes(bytes);
        for (std::size_t b = 0; b < std::min<std::size_t>(kPlanes, 8); ++b) {
          alignas(64) std::uint64_t matrices[kHalf];
          Ops::store(reinterpret_cast<std::byte*>(matrices), Ops::ready(bytes[b]));
          std::uint64_t* out = to + ((8 * half + b) * plane_stride + g * group_stride) * kWords;
          for (std::size_t j = 0; j < here; ++j)
            Ops::store_matrix(matrices[j], out + j * group_stride * kWords);
        }
      }
    }
  }

  PIRX_GF2E_TARGET static void slice_bits(const std::byte* from, std::size_t stride, std::size_t rows,
                                          std::size_t bytes, std::size_t groups, std::uint64_t* to,
                                          std::size_t group_stride) noexcept {
    alignas(64) std::byte padded[Ops::kBytes], turned[8][Ops::kBytes];
    Vec v[8];
    for (std::size_t g = 0; g < groups; g += Ops::kBytes) {
      const std::size_t count = bytes > g ? std::min(bytes - g, Ops::kBytes) : 0;
      for (std::size_t i = 0; i < 8; ++i) {
        if (i < rows && count == Ops::kBytes) {
          v[7 - i] = Ops::load(from + i * stride + g);
          // The next call goes on where this one ends, in as many rows, which no hardware foresees.
          __builtin_prefetch(from + i * stride + g + groups);
          continue;
        }
        std::memset(padded, 0, sizeof padded);
        if (i < rows && count > 0) std::memcpy(padded, from + i * stride + g, count);
        v[7 - i] = Ops::load(padded);
      }
      transpose_bytes(v);
      for (std::size_t m = 0; m < 8; ++m) Ops::store(turned[m], Ops::ready(v[m]));
      // Qword j of turned[m] is the matrix of group 8j + m.
      const std::size_t here = std::min(Ops::kBytes, groups - g);
      for (std::size_t k = 0; k < here; ++k) {
        std::uint64_t matrix;
        std::memcpy(&matrix, turned[k % 8] + k / 8 * 8, sizeof matrix);
        Ops::store_matrix(matrix, to + (g + k) * group_stride * kWords);
      }
    }
  }

  /// The low bytes (half 0) or the high bytes of Ops::kBytes scalars.
  PIRX_GF2E_INLINE Vec half_of(const std::byte* from, std::size_t half) {
    if constexpr (kElem == 1) {
      return Ops::load(from);
    } else {
      const Vec first = Ops::load(from), last = Ops::load(from + Ops::kBytes);
      return half == 0 ? Ops::low_bytes(first, last) : Ops::high_bytes(first, last);
    }
  }

  // --- products of bit matrices

  /// Matrices are read one after another. They are prefetched this far ahead: 16 lines.
  static constexpr std::size_t kMatricesAhead = 128;

  PIRX_GF2E_INLINE void fetch(FetchAhead& ahead) {
    for (std::size_t i = 0; i < ahead.lines; ++i) {
      __builtin_prefetch(ahead.at, 0, 2);
      ahead.at += 64;
    }
  }

  template <std::size_t kQ, std::size_t kV>
  PIRX_GF2E_INLINE void multiply_tile(std::size_t groups, std::size_t group_bytes, const std::uint64_t* A,
                                      const std::byte* D, std::byte* out, FetchAhead& ahead) {
    Vec sum[kQ][kV];
    for (std::size_t q = 0; q < kQ; ++q) {
      for (std::size_t v = 0; v < kV; ++v) sum[q][v] = Ops::load(out + q * group_bytes + v * Ops::kBytes);
    }
    const std::byte* next = out + kQ * group_bytes;  // the results of the next tile, which follow
    for (std::size_t g = 0; g < groups; g += 2) {
      fetch(ahead);
      __builtin_prefetch(A + kMatricesAhead);
      if (g % 4 == 0) {
        __builtin_prefetch(next);
        next += 64;
      }
      typename Ops::Data first[kV], second[kV];
      for (std::size_t v = 0; v < kV; ++v) {
        first[v] = Ops::data(Ops::load(D + v * Ops::kBytes));
        second[v] = Ops::data(Ops::load(D + group_bytes + v * Ops::kBytes));
      }
      for (std::size_t q = 0; q < kQ; ++q) {
        const auto a = Ops::matrix(A + q * kWords), b = Ops::matrix(A + (kQ + q) * kWords);
        for (std::size_t v = 0; v < kV; ++v)
          sum[q][v] = Ops::add_products(sum[q][v], first[v], a, second[v], b);
      }
      D += 2 * group_bytes;
      A += 2 * kQ * kWords;
    }
    for (std::size_t q = 0; q < kQ; ++q) {
      for (std::size_t v = 0; v < kV; ++v) Ops::store(out + q * group_bytes + v * Ops::kBytes, sum[q][v]);
    }
  }

  template <std::size_t kQ>
  PIRX_GF2E_TARGET static void multiply_queries(std::size_t groups, std::size_t vectors,
                                                const std::uint64_t* A, const std::byte* D, std::byte* out,
                                                FetchAhead& ahead) {
    const std::size_t group_bytes = vectors * kColumns;
    std::size_t at = 0;
    for (; at + Ops::kTileVecs * Ops::kBytes <= group_bytes; at += Ops::kTileVecs * Ops::kBytes) {
      multiply_tile<kQ, Ops::kTileVecs>(groups, group_bytes, A, D + at, out + at, ahead);
    }
    for (; at < group_bytes; at += Ops::kBytes) {
      multiply_tile<kQ, 1>(groups, group_bytes, A, D + at, out + at, ahead);
    }
  }

  PIRX_GF2E_TARGET static void multiply(std::size_t query_groups, std::size_t groups, std::size_t vectors,
                                        const std::uint64_t* A, const std::byte* D, std::byte* out,
                                        FetchAhead ahead) noexcept {
    for (; query_groups >= Ops::kTile; query_groups -= Ops::kTile) {
      multiply_queries<Ops::kTile>(groups, vectors, A, D, out, ahead);
      A += Ops::kTile * groups * kWords;
      out += Ops::kTile * vectors * kColumns;
    }
    multiply_rest<Ops::kTile - 1>(query_groups, groups, vectors, A, D, out, ahead);
  }
  template <std::size_t kQ>
  PIRX_GF2E_TARGET static void multiply_rest(std::size_t query_groups, std::size_t groups,
                                             std::size_t vectors, const std::uint64_t* A, const std::byte* D,
                                             std::byte* out, FetchAhead& ahead) {
    if constexpr (kQ > 0) {
      if (query_groups == kQ) return multiply_queries<kQ>(groups, vectors, A, D, out, ahead);
      multiply_rest<kQ - 1>(query_groups, groups, vectors, A, D, out, ahead);
    }
  }

  // --- results

  /// Adds `bytes` <= vector_bytes bytes of `rows` rows to `to`.
  PIRX_GF2E_INLINE void add_rows(const std::byte* from, std::size_t from_stride, std::size_t rows,
                                 std::size_t bytes, std::byte* to, std::size_t stride) {
    for (std::size_t i = 0; i < rows; ++i) {
      const std::byte* source = from + i * from_stride;
      std::byte* target = to + i * stride;
      std::size_t at = 0;
      for (; at + Ops::kBytes <= bytes; at += Ops::kBytes) {
        Ops::store(target + at, Ops::load(target + at) ^ Ops::load(source + at));
      }
      for (; at < bytes; ++at) target[at] ^= source[at];
    }
  }

  PIRX_GF2E_TARGET static void add(const std::byte* from, std::size_t bytes, std::byte* to) noexcept {
    add_rows(from, 0, 1, bytes, to, 0);
  }

  // --- few queries

  static constexpr std::size_t kDirectTile = kPlanes == 1 ? 0 : Ops::kTile / kElem;

  /// Multiplies elements, split into bytes, by x, the element 2: bits move up by one, and where the top bit
  /// falls out, the bits of F::tag().low are added.
  PIRX_GF2E_INLINE void times_x(Vec (&bytes)[kElem]) {
    constexpr std::uint64_t kEach = 0x0101010101010101;
    const Vec carry = Ops::negative(bytes[kElem - 1]);
    if constexpr (kElem == 2) {
      bytes[1] = Ops::twice(bytes[1]) ^ (Ops::negative(bytes[0]) & Ops::set64(kEach)) ^
                 (carry & Ops::set64((F::tag().low >> 8) * kEach));
    }
    bytes[0] = Ops::twice(bytes[0]) ^ (carry & Ops::set64((F::tag().low & 0xFF) * kEach));
  }

  PIRX_GF2E_TARGET static void slice_direct(const std::byte* from, std::size_t elems, std::size_t groups,
                                            std::size_t queries, std::uint64_t* to) noexcept {
    if constexpr (kPlanes > 1) {
      for (std::size_t g = 0; g < groups; g += kHalf) {
        alignas(64) std::byte padded[Ops::kBytes * kElem] = {};
        const std::size_t first = 8 * g;
        if (elems > first) {
          std::memcpy(padded, from + first * kElem, std::min(elems - first, Ops::kBytes) * kElem);
        }
        const std::size_t here = std::min(kHalf, groups - g);
        Vec scalar[kElem];
        for (std::size_t h = 0; h < kElem; ++h) scalar[h] = half_of(padded, h);
        for (std::size_t b = 0; b < kPlanes; ++b) {
          // scalar is c * x^b; row i of the matrix for output byte h is bit 8h + i of eight scalars.
          for (std::size_t h = 0; h < kElem; ++h) {
            alignas(64) std::uint64_t matrices[kHalf];
            const Vec rows = Ops::transpose_bits(Ops::reverse_bytes(scalar[h]));
            Ops::store(reinterpret_cast<std::byte*>(matrices), Ops::ready(Ops::reverse_bytes(rows)));
            for (std::size_t j = 0; j < here; ++j) {
              Ops::store_matrix(matrices[j], to + (((g + j) * kPlanes + b) * queries * kElem + h) * kWords);
            }
          }
          times_x(scalar);
        }
      }
    }
  }

  /// D is one stream of whole panels, prefetched this many bytes ahead.
  static constexpr std::size_t kDirectAhead = 3072;

  /// kQ queries' output bytes of kV vectors: kHalves for each query, low bytes first, then high bytes.
  template <std::size_t kQ, std::size_t kV>
  PIRX_GF2E_INLINE void direct_columns(std::size_t groups, std::size_t plane_bytes, const std::uint64_t* A,
                                       const std::byte* D, std::byte* out, std::size_t out_stride) {
    constexpr std::size_t kSums = kQ * kElem;
    Vec sum[kSums][kV];
    for (std::size_t h = 0; h < kSums; ++h) {
      for (std::size_t v = 0; v < kV; ++v) sum[h][v] = Ops::set64(0);
    }
    for (std::size_t pair = 0; pair < groups * kPlanes / 2; ++pair) {
      typename Ops::Data first[kV], second[kV];
      for (std::size_t v = 0; v < kV; ++v) {
        first[v] = Ops::data(Ops::load(D + v * Ops::kBytes));
        second[v] = Ops::data(Ops::load(D + plane_bytes + v * Ops::kBytes));
      }
      for (std::size_t h = 0; h < kSums; ++h) {
        const auto a = Ops::matrix(A + h * kWords), c = Ops::matrix(A + (kSums + h) * kWords);
        for (std::size_t v = 0; v < kV; ++v)
          sum[h][v] = Ops::add_products(sum[h][v], first[v], a, second[v], c);
      }
      for (std::size_t line = 0; line < kV * Ops::kBytes; line += 64) {
        __builtin_prefetch(D + kDirectAhead + line);
        __builtin_prefetch(D + kDirectAhead + plane_bytes + line);
      }
      D += 2 * plane_bytes;
      A += 2 * kSums * kWords;
    }
    for (std::size_t q = 0; q < kQ; ++q) {
      std::byte* row = out + q * out_stride;
      for (std::size_t v = 0; v < kV; ++v) {
        if constexpr (kElem == 1) {
          Ops::store(row + v * Ops::kBytes, sum[q][v]);
        } else {
          Ops::store(row + 2 * v * Ops::kBytes, Ops::words_first(sum[2 * q][v], sum[2 * q + 1][v]));
          Ops::store(row + (2 * v + 1) * Ops::kBytes, Ops::words_last(sum[2 * q][v], sum[2 * q + 1][v]));
        }
      }
    }
  }

  template <std::size_t kQ>
  PIRX_GF2E_TARGET static void direct_queries(std::size_t groups, std::size_t vectors, const std::uint64_t* A,
                                              const std::byte* D, std::byte* to, std::size_t stride,
                                              std::size_t bytes) {
    constexpr std::size_t kWidth = SlicedKernels::kPanelVectors * kPlanes * 8;
    alignas(64) std::byte out[kQ * kWidth];
    const std::size_t plane_bytes = vectors * kColumns;
    std::size_t at = 0;
    for (; at + Ops::kTileVecs * Ops::kBytes <= plane_bytes; at += Ops::kTileVecs * Ops::kBytes) {
      direct_columns<kQ, Ops::kTileVecs>(groups, plane_bytes, A, D + at, out + at * kElem, kWidth);
    }
    for (; at < plane_bytes; at += Ops::kBytes) {
      direct_columns<kQ, 1>(groups, plane_bytes, A, D + at, out + at * kElem, kWidth);
    }
    add_rows(out, kWidth, kQ, bytes, to, stride);
  }

  PIRX_GF2E_TARGET static void multiply_direct(std::size_t queries, std::size_t groups, std::size_t vectors,
                                               const std::uint64_t* A, const std::byte* D, std::byte* to,
                                               std::size_t stride, std::size_t bytes) noexcept {
    if constexpr (kPlanes > 1) {
      if (queries == 1) return direct_queries<1>(groups, vectors, A, D, to, stride, bytes);
      if constexpr (kDirectTile >= 2) {
        if (queries == 2) return direct_queries<2>(groups, vectors, A, D, to, stride, bytes);
      }
      if constexpr (kDirectTile >= 4) {
        if (queries == 3) return direct_queries<3>(groups, vectors, A, D, to, stride, bytes);
        if (queries == 4) return direct_queries<4>(groups, vectors, A, D, to, stride, bytes);
      }
    }
  }
};

/// The functions of one scheme.
template <class Ops, class F, class Scheme>
struct ByScheme {
  using S = Sliced<Ops, F>;
  using Vec = typename Ops::Vec;
  static constexpr std::size_t kPlanes = S::kPlanes, kColumns = S::kColumns, kWords = S::kWords;
  static constexpr std::size_t kProducts = Scheme::kScheme.kRank;
  static constexpr std::size_t kParts = Scheme::kSums.kParts, kFormed = kProducts / kParts;

  // --- programs of exclusive ors

  /// The value of step `step` of `part`. Value i is at values[i].
  template <const auto& program, std::size_t part, std::size_t step>
  PIRX_GF2E_INLINE Vec value_of(const Vec* values) {
    constexpr Step s = program.step[program.first[part] + step];
    if constexpr (s.has_three()) return Ops::xor3(values[s.a], values[s.b], values[s.c]);
    return values[s.a] ^ values[s.b];
  }

  /// Stores `vec` for each output of `part` that is this value.
  template <const auto& program, std::size_t part, std::size_t value, std::size_t output = 0>
  PIRX_GF2E_INLINE void store_outputs(Vec vec, std::byte* out, std::size_t stride) {
    if constexpr (output < program.kPartOutputs) {
      if constexpr (program.output[part * program.kPartOutputs + output] == value) {
        Ops::store(out + output * stride, vec);
      }
      store_outputs<program, part, value, output + 1>(vec, out, stride);
    }
  }

  /// Runs a part whose inputs are at the front of `values`, and stores output k at out + k * stride.
  template <const auto& program, std::size_t part, std::size_t... input, std::size_t... step>
  PIRX_GF2E_INLINE void run(Vec* values, std::byte* out, std::size_t stride, std::index_sequence<input...>,
                            std::index_sequence<step...>) {
    (store_outputs<program, part, input>(values[input], out, stride), ...);
    ((values[sizeof...(input) + step] = value_of<program, part, step>(values),
      store_outputs<program, part, sizeof...(input) + step>(values[sizeof...(input) + step], out, stride)),
     ...);
  }
  /// Runs a program of one part whose inputs are at the front of `values`.
  template <const auto& program, std::size_t... step>
  PIRX_GF2E_INLINE void run(Vec* values, std::index_sequence<step...>) {
    ((values[program.kInputs + step] = value_of<program, 0, step>(values)), ...);
  }

  template <std::size_t part>
  PIRX_GF2E_TARGET static void form_part(const std::byte* from, std::size_t items, std::size_t item_stride,
                                         std::size_t plane_stride, std::size_t item_bytes, std::byte* out,
                                         std::size_t product_stride) {
    constexpr std::size_t kSteps = Scheme::kSums.steps_of(part);
    for (std::size_t i = 0; i < items; ++i) {
      for (std::size_t at = 0; at < item_bytes; at += Ops::kBytes) {
        Vec values[kPlanes + kSteps];
        for (std::size_t b = 0; b < kPlanes; ++b) {
          values[b] = Ops::load(from + i * item_stride + b * plane_stride + at);
        }
        run<Scheme::kSums, part>(values, out + i * item_bytes + at, product_stride,
                                 std::make_index_sequence<kPlanes>(), std::make_index_sequence<kSteps>());
      }
    }
  }
  template <std::size_t... each>
  PIRX_GF2E_INLINE void form_one(std::size_t part, const std::byte* from, std::size_t items,
                                 std::size_t item_stride, std::size_t plane_stride, std::size_t item_bytes,
                                 std::byte* out, std::size_t product_stride, std::index_sequence<each...>) {
    ((part == each ? form_part<each>(from, items, item_stride, plane_stride, item_bytes, out, product_stride)
                   : void()),
     ...);
  }
  PIRX_GF2E_TARGET static void form(std::size_t part, const std::byte* from, std::size_t items,
                                    std::size_t item_stride, std::size_t plane_stride, std::size_t item_bytes,
                                    std::byte* out, std::size_t product_stride) noexcept {
    form_one(part, from, items, item_stride, plane_stride, item_bytes, out, product_stride,
             std::make_index_sequence<kParts>());
  }

  // --- products with sums that are formed in registers

  /// Whether a part's sums, for the products of a register tile, leave registers to form them in. With 9 they
  /// do (PARTS in generate_schemes.py decides).
  static constexpr bool kFuses = kPlanes > 1 && kFormed == 9;
  static constexpr std::size_t kFusedGroups = SlicedKernels::fused_groups(kPlanes);

  /// Lines of the next tile that are prefetched for each group, at most: more would be dropped.
  static constexpr std::size_t kMostFetched = 4;

  /// The arguments of a fused product, and what moves on from tile to tile.
  struct Fused {
    std::size_t groups;
    const std::uint64_t* A;  ///< of a query group
    const std::byte* D;
    std::byte* out;
    const std::byte *next, *end;
    std::size_t lines;
  };

  /// Adds the products of value `value` of `part` to their sums.
  template <std::size_t part, std::size_t value, std::size_t kV, std::size_t kValues, std::size_t output = 0>
  PIRX_GF2E_INLINE void add_outputs(const Vec (&values)[kV][kValues], const std::uint64_t* A,
                                    Vec (&sum)[kFormed][kV]) {
    if constexpr (output < kFormed) {
      if constexpr (Scheme::kSums.output[part * kFormed + output] == value) {
        const auto a = Ops::matrix(A + (part * kFormed + output) * kFusedGroups * kWords);
        for (std::size_t v = 0; v < kV; ++v) {
          sum[output][v] = Ops::add_product(sum[output][v], Ops::data(values[v][value]), a);
        }
      }
      add_outputs<part, value, kV, kValues, output + 1>(values, A, sum);
    }
  }

  template <std::size_t part, std::size_t step, std::size_t kV, std::size_t kValues>
  PIRX_GF2E_INLINE void add_step(Vec (&values)[kV][kValues], const std::uint64_t* A,
                                 Vec (&sum)[kFormed][kV]) {
    for (std::size_t v = 0; v < kV; ++v) {
      values[v][kPlanes + step] = value_of<Scheme::kSums, part, step>(values[v]);
    }
    add_outputs<part, kPlanes + step>(values, A, sum);
  }

  /// The products of one part, of one query group and kV vectors.
  template <std::size_t part, std::size_t kV, std::size_t... plane, std::size_t... step>
  PIRX_GF2E_INLINE void fused_tile(Fused& f, std::size_t row_bytes, std::size_t at,
                                   std::index_sequence<plane...>, std::index_sequence<step...>) {
    const std::size_t group_bytes = kPlanes * row_bytes;
    std::byte* out = f.out + part * kFormed * row_bytes + at;
    Vec sum[kFormed][kV];
    for (std::size_t k = 0; k < kFormed; ++k) {
      for (std::size_t v = 0; v < kV; ++v) sum[k][v] = Ops::load(out + k * row_bytes + v * Ops::kBytes);
    }
    const std::byte* D = f.D + at;
    const std::uint64_t* A = f.A;
    for (std::size_t g = 0; g < f.groups; ++g) {
      for (std::size_t i = 0; i < f.lines && f.next < f.end; ++i, f.next += 64)
        __builtin_prefetch(f.next, 0, 2);
      Vec values[kV][kPlanes + sizeof...(step)];
      for (std::size_t v = 0; v < kV; ++v) {
        ((values[v][plane] = Ops::load(D + plane * row_bytes + v * Ops::kBytes)), ...);
      }
      (add_outputs<part, plane>(values, A, sum), ...);
      (add_step<part, step>(values, A, sum), ...);
      D += group_bytes;
      A += kWords;
    }
    for (std::size_t k = 0; k < kFormed; ++k) {
      for (std::size_t v = 0; v < kV; ++v) Ops::store(out + k * row_bytes + v * Ops::kBytes, sum[k][v]);
    }
  }

  template <std::size_t part>
  PIRX_GF2E_SCHEDULED static void fused_part(Fused& f, std::size_t vectors) {
    constexpr auto kPlane = std::make_index_sequence<kPlanes>();
    constexpr auto kStep = std::make_index_sequence<Scheme::kSums.steps_of(part)>();
    constexpr std::size_t kWidth = Ops::kFusedVecs * Ops::kBytes,
                          kFull = SlicedKernels::kPanelVectors * kColumns;
    if (vectors == SlicedKernels::kPanelVectors) {  // constant strides need no registers
      for (std::size_t at = 0; at < kFull; at += kWidth) {
        fused_tile<part, Ops::kFusedVecs>(f, kFull, at, kPlane, kStep);
      }
      return;
    }
    for (std::size_t at = 0; at < vectors * kColumns; at += Ops::kBytes) {
      fused_tile<part, 1>(f, vectors * kColumns, at, kPlane, kStep);
    }
  }

  template <std::size_t... part>
  PIRX_GF2E_INLINE void fused_parts(Fused& f, std::size_t vectors, std::index_sequence<part...>) {
    (fused_part<part>(f, vectors), ...);
  }

  PIRX_GF2E_SCHEDULED static void multiply_fused(std::size_t query_groups, std::size_t groups,
                                                 std::size_t vectors, const std::uint64_t* A,
                                                 const std::byte* D, std::byte* out,
                                                 std::span<const std::byte> next) noexcept {
    if (query_groups == 0 || groups == 0) return;
    const std::size_t steps =
        query_groups * kParts * groups * std::max<std::size_t>(vectors / Ops::kFusedVecs, 1);
    const std::size_t lines = (next.size() / 64 + steps - 1) / steps;
    // A tile whose prefetch the CPU dropped is read once from end to end, which memory does faster than
    // reading it in the order of the products.
    for (std::size_t at = 0; at < groups * kPlanes * vectors * kColumns; at += Ops::kBytes) {
      asm volatile("" ::"v"(Ops::load(D + at)));
    }
    Fused f{groups, A, D, out, next.data(), next.data() + next.size(), std::min(lines, kMostFetched)};
    for (std::size_t q = 0; q < query_groups; ++q) {
      fused_parts(f, vectors, std::make_index_sequence<kParts>());
      f.A += kProducts * kFusedGroups * kWords;
      f.out += kProducts * vectors * kColumns;
    }
  }

  // --- results

  /// Turns bytes of columns into eight rows of bits.
  PIRX_GF2E_INLINE void finish_bits(const std::byte* source, std::size_t at, std::byte* out,
                                    std::size_t stride) {
    // Their 8 x 8 bits are transposed, and the 8 bytes of each byte position go to 8 rows.
    alignas(64) std::byte columns[Ops::kBytes];
    Ops::store(columns, S::transpose_bits(Ops::reverse_bytes(Ops::load(source))));
    for (std::size_t p = 0; p < Ops::kBytes / 8; ++p) {
      for (std::size_t i = 0; i < 8; ++i) out[i * stride + at / 8 + p] = columns[8 * p + i];
    }
  }

  PIRX_GF2E_TARGET static void finish(const std::byte* from, std::size_t product_stride, std::size_t vectors,
                                      std::size_t rows, std::size_t bytes, std::byte* to,
                                      std::size_t stride) noexcept {
    constexpr std::size_t kVectorBytes = kPlanes * 8;
    constexpr std::size_t kSteps = Scheme::kResults.steps_of(0);
    alignas(64) std::byte out[8][kVectorBytes];
    for (std::size_t v = 0; v < vectors && v * kVectorBytes < bytes; ++v) {
      for (std::size_t part = 0; part < S::kVecs; ++part) {
        const std::byte* source = from + v * kColumns + part * Ops::kBytes;
        if constexpr (kPlanes == 1) {
          finish_bits(source, part * Ops::kBytes, out[0], kVectorBytes);
        } else {
          Vec values[kProducts + kSteps];
          for (std::size_t p = 0; p < kProducts; ++p) values[p] = Ops::load(source + p * product_stride);
          run<Scheme::kResults>(values, std::make_index_sequence<kSteps>());
          Vec low[8];
          for (std::size_t b = 0; b < 8; ++b) low[b] = values[Scheme::kResults.output[b]];
          S::transpose_planes(low);
          if constexpr (kPlanes == 8) {
            for (std::size_t i = 0; i < 8; ++i) Ops::store(out[i] + part * Ops::kBytes, low[i]);
          } else {
            Vec high[8];
            for (std::size_t b = 0; b < 8; ++b) high[b] = values[Scheme::kResults.output[8 + b]];
            S::transpose_planes(high);
            for (std::size_t i = 0; i < 8; ++i) {
              Ops::store(out[i] + 2 * part * Ops::kBytes, Ops::words_first(low[i], high[i]));
              Ops::store(out[i] + (2 * part + 1) * Ops::kBytes, Ops::words_last(low[i], high[i]));
            }
          }
        }
      }
      const std::size_t at = v * kVectorBytes;
      S::add_rows(out[0], kVectorBytes, rows, std::min(bytes - at, kVectorBytes), to + at, stride);
    }
  }

  static constexpr SlicedScheme scheme() {
    SlicedScheme made{.name = Scheme::kName,
                      .products = kProducts,
                      .parts = kParts,
                      // out[k] = sum k of the planes: row k of A times them.
                      .form = form,
                      // out[p] ^= A[p] * (sum p of the planes of D), for all products p.
                      .multiply_fused = nullptr,
                      // to[i][j] ^= bit i of each product from[p][j], put together by C.
                      .finish = finish};
    if constexpr (kFuses) made.multiply_fused = multiply_fused;
    return made;
  }
};

/// The schemes of F, in the order of SchemesOf.
template <class Ops, class F, class Schemes>
struct AllSchemes;
template <class Ops, class F, class... Scheme>
struct AllSchemes<Ops, F, std::tuple<Scheme...>> {
  static constexpr SlicedScheme kAll[] = {ByScheme<Ops, F, Scheme>::scheme()...};
};

template <class Ops, class F>
constexpr SlicedKernels make_sliced() {
  using S = Sliced<Ops, F>;
  return {.planes = S::kPlanes,
          .schemes = AllSchemes<Ops, F, typename SchemesOf<F>::Type>::kAll,
          .tile = Ops::kTile,
          .tile_bytes = Ops::kTileVecs * Ops::kBytes,
          .matrix_bytes = Ops::kMatrixBytes,
          .direct_tile = S::kDirectTile,
          // group[b][j] bit i = bit b of row[i][j], for 8 rows.
          .slice = S::slice,
          // to[b][g] = the 8 x 8 matrix of the bits b of queries 0 to 7 at rows 8 g to 8 g + 7.
          .slice_queries = S::slice_queries,
          // to[g] = the 8 x 8 matrix of the bits of queries 0 to 7 at rows 8 g to 8 g + 7.
          .slice_bits = S::kPlanes > 1 ? nullptr : S::slice_bits,
          // out[i][j] ^= A[i][0] D[0][j] ^ ... ^ A[i][g - 1] D[g - 1][j] over GF(2), A[i][k] a matrix of 8 x
          // 8 bits, D[k][j] a vector of 8 bits.
          .multiply = S::multiply,
          // to[j] ^= from[j].
          .add = S::add,
          // Row i of to[g][b][h] = bit 8 h + i of x^b times the scalars 8 g to 8 g + 7: multiplying by a
          // scalar is linear, and these matrices are where it takes bit b of an element.
          .slice_direct = S::slice_direct,
          // to[i][j] ^= Q[i][0] D[0][j] + ... + Q[i][r - 1] D[r - 1][j] in GF(2^n), from planes without sums.
          .multiply_direct = S::kPlanes > 1 ? S::multiply_direct : nullptr};
}

}  // namespace
}  // namespace pirx::gf2e
