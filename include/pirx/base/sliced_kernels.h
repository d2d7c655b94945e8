// The bit-sliced way to multiply over GF(2^n), as functions on memory: what a field offers and the engine
// calls.
//
// A panel is 64 to 256 columns (words; bits for GF(2)), a group is 8 rows. Plane b of a group holds one byte
// per column, whose bit i is bit b of row i. A product of two elements of GF(2^n), n = 2^k, is 3^k products
// of sums of planes (Karatsuba, k levels), each a product of matrices of bits, 8 x 8 of them at a time.
#pragma once

#include <cstddef>
#include <cstdint>

namespace pirx {

/// One implementation. All of them lay planes out alike. Columns are counted in vectors of 64, at most
/// kPanelVectors in a panel. Functions add to (XOR) their target where they say so.
struct SlicedKernels {
  /// Names this order of bytes in files: another order, another number.
  static constexpr std::uint32_t kOrder = 1;
  static constexpr std::size_t kColumns = 64;      ///< of a vector
  static constexpr std::size_t kPanelVectors = 4;  ///< of a full panel

  std::size_t planes;        ///< n
  std::size_t products;      ///< 3^k: 1, 27 or 81
  std::size_t parts;         ///< sums are formed `products / parts` at a time, from one part each: 1, 9, 27
  std::size_t tile;          ///< query groups that multiply() takes at once
  std::size_t tile_bytes;    ///< columns of D that it takes at once
  std::size_t fused_tile;    ///< query groups that multiply_fused() takes at once
  std::size_t fused_bytes;   ///< columns of D times query groups that it takes at once
  std::size_t matrix_bytes;  ///< of 8 x 8 bits of queries as multiply() takes them: a multiple of 8
  std::size_t direct_tile;   ///< queries that multiply_direct() takes at once

  /// Bytes of a row that make a vector of columns.
  std::size_t vector_bytes() const noexcept { return planes * 8; }
  /// Bytes of a group in a panel of so many vectors.
  std::size_t group_bytes(std::size_t vectors) const noexcept { return planes * kColumns * vectors; }

  /// `rows` <= 8 rows of `bytes` bytes, those behind taken for zero, to one group of a panel.
  void (*slice)(const std::byte* from, std::size_t stride, std::size_t rows, std::size_t bytes,
                std::size_t vectors, std::byte* group) noexcept;

  /// Queries to bit matrices. `from`: `rows` <= 8 rows of `elems` scalars; missing ones are zero. Writes for
  /// plane b and row group g < groups the 8 x 8 matrix at b * plane_stride + g * group_stride (counted in
  /// matrices) from `to`.
  void (*slice_queries)(const std::byte* from, std::size_t stride, std::size_t rows, std::size_t elems,
                        std::size_t groups, std::uint64_t* to, std::size_t plane_stride,
                        std::size_t group_stride) noexcept;

  /// Planes that form() takes at once.
  static constexpr std::size_t formed_planes(std::size_t planes) noexcept { return planes < 2 ? planes : 2; }

  /// The sums of planes that Karatsuba multiplies, of the bytewise sum of `count` sources: plane b of item i
  /// is at source + i * item_stride + b * plane_stride and has item_bytes bytes (a multiple of 64); sum p of
  /// item i goes to out + p * product_stride + i * item_bytes. Takes formed_planes() planes, gives products /
  /// parts sums.
  void (*form)(const std::byte* const* sources, std::size_t count, std::size_t items, std::size_t item_stride,
               std::size_t plane_stride, std::size_t item_bytes, std::byte* out,
               std::size_t product_stride) noexcept;

  /// Lines of memory to fetch into the cache meanwhile: `lines` from `at` on for every two groups of every
  /// register tile.
  struct Ahead {
    const std::byte* at;
    std::size_t lines;
  };

  /// out ^= A * D over GF(2). A: query_groups x groups matrices, tile after tile of `tile` query groups (the
  /// last one narrower), in a tile group after group. D: groups (an even number) of `vectors` vectors. out:
  /// query_groups of `vectors` vectors.
  void (*multiply)(std::size_t query_groups, std::size_t groups, std::size_t vectors, const std::uint64_t* A,
                   const std::byte* D, std::byte* out, Ahead ahead) noexcept;

  /// form() and multiply() of its products in one, for few queries: the sums are made in registers again and
  /// again. `count` is a power of two up to 8. Products' matrices are A_stride apart (in matrices), tiled by
  /// fused_tile, their results out_stride bytes. Null where there is nothing to form.
  void (*multiply_fused)(std::size_t query_groups, std::size_t groups, std::size_t vectors,
                         const std::uint64_t* A, std::size_t A_stride, const std::byte* const* sources,
                         std::size_t count, std::size_t group_stride, std::size_t plane_stride,
                         std::byte* out, std::size_t out_stride, Ahead ahead) noexcept;

  /// Products to rows: product p of one query group is at from + p * product_stride. Adds the first `rows`
  /// rows, `bytes` bytes each, to `to`.
  void (*finish)(const std::byte* from, std::size_t product_stride, std::size_t vectors, std::size_t rows,
                 std::size_t bytes, std::byte* to, std::size_t stride) noexcept;

  /// to ^= from, over `bytes` bytes.
  void (*add)(const std::byte* from, std::size_t bytes, std::byte* to) noexcept;

  /// One query's matrices for multiply_direct of `queries` queries: `elems` scalars, those behind taken for
  /// zero. A group has for each plane, for each query, planes / 8 matrices; `to` is where this query's first
  /// one goes.
  void (*slice_direct)(const std::byte* from, std::size_t elems, std::size_t groups, std::size_t queries,
                       std::uint64_t* to) noexcept;
  /// Adds the rows of `queries` <= direct_tile queries over a panel to `to`, `bytes` bytes of each: a matrix
  /// per plane and query, no sums. Null where planes == 1.
  void (*multiply_direct)(std::size_t queries, std::size_t groups, std::size_t vectors,
                          const std::uint64_t* A, const std::byte* D, std::byte* to, std::size_t stride,
                          std::size_t bytes) noexcept;
};

}  // namespace pirx
