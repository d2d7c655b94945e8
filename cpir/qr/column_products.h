// SPDX-License-Identifier: Apache-2.0
// The server's work: for every column of a matrix of bits, the product of the query's numbers in the rows
// where the column has ones.
#pragma once

#include <functional>

#include "bit_matrix.h"
#include "cpir/dj/ring.h"

namespace pirx::cpir::qr {

/// How many rows are taken at a time, and what that costs.
struct ColumnPlan {
  unsigned window = 1;            ///< w
  double multiplications = 0;     ///< ceil(a / w) (2^w - 1 + b), instead of a b
  std::uint64_t table_bytes = 0;  ///< bytes of the table of one window
};

/// The most rows taken at a time, and the largest table in bytes, which fits a core's own cache.
inline constexpr unsigned kMaxWindow = 14;
inline constexpr std::uint64_t kMaxTableBytes = std::uint64_t{2} << 20;

/// The cheapest window for `rows` rows and `columns` columns.
ColumnPlan plan_columns(std::size_t rows, std::size_t columns, const dj::Ring& ring);

/// The bytes of memory that column_products takes at most, beside its arguments and its result.
std::uint64_t column_products_bytes(const dj::RowKernel& kernel, unsigned modulus_bits, std::size_t columns,
                                    int threads);

/// z_j = prod of y_i over all rows i with D_ij = 1, modulo the ring's N (s = 0), by the method of the four
/// Russians (docs/protocols/quadratic_residuosity.md). On input y has one number below N for every row. On
/// output `out` has the z_j one after the other, big-endian, each with its share of the bytes of `out`. The
/// calling thread calls `progress`, which may be empty, with the part that is done (0 to 1). The result is
/// the same for every plan, kernel and thread count. Time does not depend on the bits. ResourceExhausted: no
/// memory.
Result<void> column_products(const dj::Ring& ring, std::span<const mpz_class> y, const BitMatrix& bits,
                             const ColumnPlan& plan, int threads, MutableByteSpan out,
                             const std::function<void(double)>& progress = {});

}  // namespace pirx::cpir::qr
