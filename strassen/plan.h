// SPDX-License-Identifier: Apache-2.0
// The decisions of plan.cc, and the layout of the workspace that follows from them.
#pragma once

#include <limits>

#include "pirx/base/sliced_kernels.h"
#include "pirx/strassen/engine.h"
#include "strassen/scheme.h"

namespace pirx::strassen {

/// What a plan depends on besides the shape: the kernel, the bytes in memory of a scalar, a sum and an entry
/// of D, and the tile that the kernel asks for.
struct KernelTraits {
  const char* name;
  std::size_t elem_size;
  std::size_t sum_size;
  std::size_t entry_size;
  std::size_t tile_rows;
  std::size_t tile_bytes;
  Crossovers crossovers = {};
};

/// Chooses depth, blocks and threads for a shape. `threads` is at least 1. Depends on its arguments alone.
Plan make_plan(const Shape& shape, int depth, int threads, bool threads_forced, const KernelTraits& kernel);

/// The same for a database in planes without stored levels.
Plan make_sliced_plan(const Shape& shape, int threads, bool threads_forced, const KernelTraits& kernel,
                      const SlicedKernels& sliced);

/// The bytes of a scalar of a field in planes.
inline std::size_t scalar_bytes(const SlicedKernels& sliced) {
  return std::max<std::size_t>(sliced.planes / 8, 1);
}

/// The matrices that a database in planes with `depth` stored levels of Strassen consists of. All have the
/// same size: their grid covers the database, and each is padded to whole rows and columns of the layout.
struct StoredBlocks {
  StoredBlocks(const SlicedKernels& sliced, std::uint64_t matrix_rows, std::uint64_t matrix_row_bytes,
               int depth);
  std::uint64_t rows, row_bytes;
  std::uint64_t parts;
};

/// The number of levels to store: as many of those asked for as leave blocks of at least 16 rows and one
/// vector of columns.
int stored_depth(const SlicedKernels& sliced, std::uint64_t rows, std::uint64_t row_bytes, int asked);

/// The plan of a product with a database that has `stored` levels of Strassen. It uses all of them or none.
/// `depth`: -1 uses all if that is faster; `stored` or more uses all if there are enough queries to split.
/// Tiles, threads and workspace in the plan are those of one part's product.
Plan make_stored_plan(const Shape& shape, int depth, int stored, int threads, bool threads_forced,
                      const KernelTraits& kernel, const SlicedKernels& sliced);

/// The plan of one part of a plan from make_stored_plan; the plan itself if nothing is stored.
Plan plan_of_part(const Plan& plan, const SlicedKernels& sliced);

/// The stride between arrays of `bytes` bytes (a multiple of 64). It is never a multiple of 4 KiB: all arrays
/// would then compete for the same few lines of the first-level cache. It does not grow with every growth of
/// `bytes`, so compute sizes from strides only.
constexpr std::uint64_t staggered(std::uint64_t bytes) {
  return saturated_add(bytes, bytes % 4096 == 0 ? 256 : 0);
}

/// In a block of queries, the bytes from the matrices of one plane (or sum of planes) to those of the next.
constexpr std::uint64_t plane_bytes(std::uint64_t query_groups, std::uint64_t groups,
                                    std::uint64_t matrix_bytes) {
  return staggered(round_up(saturated_mul(saturated_mul(query_groups, groups), matrix_bytes), 64));
}

/// The blocks and the workspace that a plan needs for a product in planes.
struct SlicedSizes {
  std::size_t block = 0;       ///< row groups in a block
  std::uint64_t matrices = 0;  ///< bytes: the matrices of queries for a chunk of rows
  std::uint64_t sums = 0;      ///< bytes per thread: the products of a panel
  /// bytes per thread: the sums and one tile of D as sums of planes, or the planes of queries, whichever is
  /// more
  std::uint64_t per_thread = 0;
  std::uint64_t gathered = 0;  ///< bytes at the end of per_thread, for rows of queries that are sums

  std::uint64_t total(std::uint64_t threads) const { return matrices + threads * per_thread; }
};
/// The members of ToomKernels on which a plan depends.
struct ToomTraits {
  std::size_t columns, points, tile, most_rows;
  std::uint64_t most_summed;
};

/// Whether a product of this shape is computed by Toom-Cook.
bool prefers_toom(const Shape& shape, int depth, int threads, const KernelTraits& kernel,
                  const ToomTraits& toom);
Plan make_toom_plan(const Shape& shape, int threads, const KernelTraits& kernel, const ToomTraits& toom);

struct ToomSizes {
  std::uint64_t values = 0;  ///< bytes: the values of queries at all points, for a chunk of rows
  std::uint64_t sums = 0;    ///< bytes per thread: the sums of a panel
  /// bytes per thread: the sums of a run of panels, and one tile of D at all points
  std::uint64_t per_thread = 0;
};
ToomSizes toom_sizes(const Plan& plan, const ToomTraits& toom);

SlicedSizes sliced_sizes(const Plan& plan, const SlicedKernels& sliced);

/// The bytes of a row-major block without padding between its rows, rounded up to a cache line.
constexpr std::uint64_t block_bytes(std::uint64_t rows, std::uint64_t cols, std::uint64_t size) {
  const std::uint64_t bytes = saturated_mul(rows, saturated_mul(cols, size));
  return bytes > std::numeric_limits<std::uint64_t>::max() - 63 ? bytes : round_up(bytes, 64);
}

/// The workspace of one level of recursion on blocks of m x k by k x n: a sum of Q blocks, a sum of D blocks,
/// a product, and one row of a D block as sums.
struct LevelWorkspace {
  std::uint64_t left, right, product, row;
  constexpr LevelWorkspace(std::size_t m, std::size_t k, std::size_t n, std::size_t elem_size,
                           std::size_t sum_size)
      : left(block_bytes(m, k, elem_size)),
        right(block_bytes(k, n, sum_size)),
        product(block_bytes(m, n, sum_size)),
        row(block_bytes(1, n, sum_size)) {}
  constexpr std::uint64_t size() const {
    return saturated_add(saturated_add(left, right), saturated_add(product, row));
  }
};

/// The workspace of `depth` levels for a q x r by r x s product.
constexpr std::uint64_t recursion_workspace(int depth, Shape shape, std::size_t elem_size,
                                            std::size_t sum_size) {
  std::uint64_t bytes = 0;
  for (; depth > 0; --depth) {
    shape = {shape.q / kScheme.kM, shape.r / kScheme.kK, shape.s / kScheme.kN};
    bytes = saturated_add(bytes, LevelWorkspace(shape.q, shape.r, shape.s, elem_size, sum_size).size());
  }
  return bytes;
}

}  // namespace pirx::strassen
