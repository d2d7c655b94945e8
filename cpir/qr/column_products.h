// The server's work: for every column of a matrix of bits, the product of the query's numbers at its ones.
#pragma once

#include <functional>

#include "bit_matrix.h"
#include "cpir/dj/ring.h"

namespace pirx::cpir::qr {

/// How many rows are taken at a time, and what that costs.
struct ColumnPlan {
  unsigned window = 1;            ///< w
  double multiplications = 0;     ///< ceil(a / w) (2^w - 1 + b), instead of a b
  std::uint64_t table_bytes = 0;  ///< of one window
};

/// Rows taken at a time at most, and most bytes of a table: it stays in a core's own cache.
inline constexpr unsigned kMaxWindow = 14;
inline constexpr std::uint64_t kMaxTableBytes = std::uint64_t{2} << 20;

/// The cheapest window for so many rows and columns.
ColumnPlan plan_columns(std::size_t rows, std::size_t columns, const dj::Ring& ring);

/// Memory that column_products takes at most beside its arguments and its result.
std::uint64_t column_products_bytes(const dj::RowKernel& kernel, unsigned modulus_bits, std::size_t columns,
                                    int threads);

/// z_j = prod of y_i over all rows i with D_ij = 1, modulo the ring's N (s = 0), big-endian one after the
/// other; so many bytes each as `out` has for each column. y: one number below N for every row. Method of the
/// four Russians (docs/protocols/quadratic_residuosity.md). `progress`, if there is one, is told which part
/// is done, 0 to 1, by the calling thread. The same for every plan, kernel and number of threads. Time does
/// not depend on the bits. ResourceExhausted.
Result<void> column_products(const dj::Ring& ring, std::span<const mpz_class> y, const BitMatrix& bits,
                             const ColumnPlan& plan, int threads, MutableByteSpan out,
                             const std::function<void(double)>& progress = {});

}  // namespace pirx::cpir::qr
