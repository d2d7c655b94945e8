// SPDX-License-Identifier: Apache-2.0
// The masks of a block's columns (specification, 3.1): what a query's public half becomes when the scan
// multiplies it with a column.
#pragma once

#include "cpir/inspire/block_builder.h"
#include "cpir/inspire/rows.h"

namespace pirx::cpir::inspire {

/// Where the data is. Columns from `columns` to d count as zero.
struct BlockData {
  const ReadWords& words;
  unsigned word_bytes;  ///< 1 or 2
  std::size_t rows, first, columns;
};

/// Row k of masks[i]: the coefficients modulo prime i of sum over v of factors[v] D_(v,k), D_(v,k) = sum over
/// n of D[v d + n][first + k] X^n. The factors are transforms in Montgomery form. `workspace`: as many
/// polynomials as factors. `columns`: memory for several columns, at least column_bytes(). Internal:
/// `columns` is too small.
void column_masks(const Ring& ring, const Polynomials& factors, const BlockData& data, Polynomials& workspace,
                  MutableByteSpan columns, const std::array<Rows<std::uint32_t>, 2>& masks);
/// The bytes for one group of columns.
std::uint64_t column_bytes(std::uint64_t rows, unsigned word_bytes, std::size_t d) noexcept;

}  // namespace pirx::cpir::inspire
