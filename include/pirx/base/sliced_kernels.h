// SPDX-License-Identifier: Apache-2.0
// Bit-sliced products over GF(2^n), as functions on memory: a field offers them, the engine calls them.
//
// A panel is 64 to 256 columns (words, or bits for GF(2)); a group is 8 rows. A group is stored as n planes.
// Plane b holds one byte per column, and bit i of that byte is bit b of row i. A product of two elements of
// GF(2^n) is several products of sums of planes: a bilinear scheme says which sums. Each of them is a product
// of matrices of bits, computed 8 x 8 bits at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace pirx {

/// Memory to fetch into the cache during a product: `lines` cache lines from `at` on, for every two groups of
/// every register tile.
struct FetchAhead {
  const std::byte* at;
  std::size_t lines;
};

/// A way to multiply in GF(2^n) by products of bits. Sum p of an element is what product p multiplies. All
/// schemes take the same planes and give the same results.
struct SlicedScheme {
  const char* name;
  std::size_t products;  ///< of bits
  /// form() makes the products / parts sums of one part at a time.
  std::size_t parts;

  /// Forms the sums of planes of `part`. Plane b of item i is at from + i * item_stride + b * plane_stride
  /// and has item_bytes bytes, a multiple of 64. Sum p of the part, of item i, goes to out + p *
  /// product_stride + i * item_bytes.
  void (*form)(std::size_t part, const std::byte* from, std::size_t items, std::size_t item_stride,
               std::size_t plane_stride, std::size_t item_bytes, std::byte* out,
               std::size_t product_stride) noexcept;

  /// form() and the SlicedKernels::multiply() of all products in one call, for few queries: the sums are
  /// formed in registers each time they are needed. D: at most fused_groups() groups of `vectors` vectors.
  /// A: the matrices of query group after query group; within it, of product after product, fused_groups()
  /// each. out: in the same order, `vectors` vectors for each query group and product. Fetches `next` into
  /// the cache meanwhile. Null if the scheme has no such kernel.
  void (*multiply_fused)(std::size_t query_groups, std::size_t groups, std::size_t vectors,
                         const std::uint64_t* A, const std::byte* D, std::byte* out,
                         std::span<const std::byte> next) noexcept;

  /// Turns products into rows. Product p of one query group is at from + p * product_stride. Adds the first
  /// `rows` rows, of `bytes` bytes each, to `to`.
  void (*finish)(const std::byte* from, std::size_t product_stride, std::size_t vectors, std::size_t rows,
                 std::size_t bytes, std::byte* to, std::size_t stride) noexcept;
};

/// One implementation. All implementations lay planes out in the same way. Columns are counted in vectors of
/// 64; a panel has at most kPanelVectors. A function that adds to (XORs) its target says so.
struct SlicedKernels {
  /// The number of this byte order in files. A change of the order needs a new number.
  static constexpr std::uint32_t kOrder = 1;
  static constexpr std::size_t kColumns = 64;      ///< columns in a vector
  static constexpr std::size_t kPanelVectors = 4;  ///< vectors in a full panel

  std::size_t planes;  ///< n
  /// The scheme with the cheapest sums first, the one with the fewest products last. Plans take one of these.
  std::span<const SlicedScheme> schemes;
  std::size_t tile;        ///< query groups that multiply() takes at once
  std::size_t tile_bytes;  ///< bytes of columns of D that multiply() takes at once
  /// Bytes of 8 x 8 bits of queries in the form that multiply() takes: a multiple of 8.
  std::size_t matrix_bytes;
  std::size_t direct_tile;  ///< queries that multiply_direct() takes at once

  /// The bytes of a row that make one vector of columns.
  std::size_t vector_bytes() const noexcept { return planes * 8; }
  /// The groups that multiply_fused() takes at most: a panel's 32 KiB, which stay in the first-level cache.
  static constexpr std::size_t fused_groups(std::size_t planes) noexcept { return 128 / planes; }
  /// The bytes of a group in a panel of `vectors` vectors.
  std::size_t group_bytes(std::size_t vectors) const noexcept { return planes * kColumns * vectors; }

  /// Writes the first `vectors` vectors of `rows` <= 8 rows as one group of a panel. Rows have `bytes` bytes
  /// from here on, which may be more than are written; what is missing is taken as zero.
  void (*slice)(const std::byte* from, std::size_t stride, std::size_t rows, std::size_t bytes,
                std::size_t vectors, std::byte* group) noexcept;

  /// Turns queries into bit matrices. `from`: `rows` <= 8 rows of `elems` scalars; missing ones are zero. The
  /// 8 x 8 matrix of plane b and row group g < groups goes to `to` + b * plane_stride + g * group_stride,
  /// counted in matrices.
  void (*slice_queries)(const std::byte* from, std::size_t stride, std::size_t rows, std::size_t elems,
                        std::size_t groups, std::uint64_t* to, std::size_t plane_stride,
                        std::size_t group_stride) noexcept;

  /// As slice_queries, of queries of GF(2) whose scalars lie in bits: bit k of byte g is that of row 8 g + k.
  /// `bytes` bytes of each of the `rows` <= 8 rows are read; missing ones are zero. Null if planes > 1.
  void (*slice_bits)(const std::byte* from, std::size_t stride, std::size_t rows, std::size_t bytes,
                     std::size_t groups, std::uint64_t* to, std::size_t group_stride) noexcept;

  /// out ^= A * D over GF(2). A: query_groups x groups matrices in tiles of `tile` query groups (the last
  /// tile may be narrower); within a tile, group after group. D: `groups` groups, an even number, of
  /// `vectors` vectors. out: query_groups groups of `vectors` vectors.
  void (*multiply)(std::size_t query_groups, std::size_t groups, std::size_t vectors, const std::uint64_t* A,
                   const std::byte* D, std::byte* out, FetchAhead ahead) noexcept;

  /// to ^= from, over `bytes` bytes.
  void (*add)(const std::byte* from, std::size_t bytes, std::byte* to) noexcept;

  /// The matrices of one query for a multiply_direct() of `queries` queries. `from`: `elems` scalars; missing
  /// ones are zero. A group has planes / 8 matrices for each plane and query; `to` is where the first one of
  /// this query goes.
  void (*slice_direct)(const std::byte* from, std::size_t elems, std::size_t groups, std::size_t queries,
                       std::uint64_t* to) noexcept;
  /// Multiplies `queries` <= direct_tile queries by a panel, with one matrix per plane and query and without
  /// sums. Adds `bytes` bytes of each query's row to `to`. Null if planes == 1.
  void (*multiply_direct)(std::size_t queries, std::size_t groups, std::size_t vectors,
                          const std::uint64_t* A, const std::byte* D, std::byte* to, std::size_t stride,
                          std::size_t bytes) noexcept;
};

}  // namespace pirx
