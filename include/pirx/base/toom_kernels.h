// SPDX-License-Identifier: Apache-2.0
// Toom-Cook products over GF(p), as functions on memory: a field offers them, the engine calls them.
//
// Scalars and words are polynomials in a power of two, evaluated at `points` small points. A product of two
// of them is one product of integers at each point. The sums of products over all rows are kept exactly,
// point by point, and interpolated once per answer. A loop over the rows then costs 7 multiplications of
// 64-bit lanes for a W160 product, where the schoolbook method costs 16.
#pragma once

#include <cstddef>
#include <cstdint>

namespace pirx {

template <class F>
struct ToomKernels {
  using Elem = typename F::Elem;
  using Sum = typename F::Sum;
  /// The number of columns that are multiplied at a time. A row of values at a point has this many qwords, a
  /// row of sums twice as many.
  std::size_t columns;
  std::size_t points;
  std::size_t tile;           ///< queries that multiply() takes at once
  std::size_t most_rows;      ///< rows in one call of multiply(), at most
  std::uint64_t most_summed;  ///< rows that may be added up before finish()

  std::size_t value_bytes() const noexcept { return columns * 8; }
  std::size_t sum_bytes() const noexcept { return columns * 16; }

  /// Evaluates `rows` scalars of one query. The value of row i at point p goes to to[p * point_stride + i *
  /// row_stride]; strides are in qwords.
  void (*evaluate_scalars)(const Elem* from, std::size_t rows, std::uint64_t* to, std::size_t point_stride,
                           std::size_t row_stride) noexcept;
  /// Evaluates `count` <= columns words of `rows` rows, which lie `stride` bytes apart. Missing columns are
  /// zero. Row i at point p goes to to + p * point_stride + i * value_bytes().
  void (*evaluate_words)(const std::byte* from, std::size_t stride, std::size_t rows, std::size_t count,
                         std::byte* to, std::size_t point_stride) noexcept;
  /// sums += A * D at one point. A: tile after tile of `tile` queries (the last one may be narrower); a tile
  /// holds row after row. D: rows of values. sums: one row of sums per query.
  void (*multiply)(std::size_t queries, std::size_t rows, const std::uint64_t* A, const std::byte* D,
                   std::byte* sums) noexcept;
  /// Adds `count` answers of one query to `to`. The sums at point p are at from + p * point_stride.
  void (*finish)(const F& f, const std::byte* from, std::size_t point_stride, std::size_t count,
                 Sum* to) noexcept;
};

}  // namespace pirx
