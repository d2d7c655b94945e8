// SPDX-License-Identifier: Apache-2.0
// Makes, fills and multiplies databases in planes with stored levels of Strassen.
#include "strassen/prepared_planes.h"

#include <algorithm>
#include <cstring>

#include "strassen/leaves.h"

namespace pirx::strassen {
namespace {

Error no_memory(const char* what) {
  return Error(ErrorCode::kResourceExhausted, std::string("there is no memory for ") + what);
}

/// The blocks with these numbers, in a grid with `columns` blocks of rows x width to a row. A block is cut
/// off where the matrix ends. Blocks beyond its end are left out.
template <class AnyView>
std::vector<AnyView> blocks_of(const AnyView& matrix, const std::vector<std::size_t>& numbers,
                               std::size_t columns, std::size_t rows, std::size_t width) {
  std::vector<AnyView> blocks;
  for (const std::size_t number : numbers) {
    const std::size_t row = std::min(number / columns * rows, matrix.rows);
    const std::size_t column = std::min(number % columns * width, matrix.cols);
    const std::size_t height = std::min(rows, matrix.rows - row),
                      wide = std::min(width, matrix.cols - column);
    if (height > 0 && wide > 0) blocks.push_back(matrix.window(row, column, height, wide));
  }
  return blocks;
}

}  // namespace

std::uint64_t PreparedPlanes::bytes(const SlicedKernels& kernels, std::size_t rows, std::uint64_t row_bytes,
                                    int depth) noexcept {
  const StoredBlocks blocks(kernels, rows, row_bytes, depth);
  return saturated_mul(blocks.parts, SlicedMatrix::bytes(kernels, blocks.rows, blocks.row_bytes));
}

Result<PreparedPlanes> PreparedPlanes::create(const SlicedKernels& kernels, std::size_t rows,
                                              std::size_t row_bytes, int depth) try {
  const StoredBlocks blocks(kernels, rows, row_bytes, depth);
  PreparedPlanes planes;
  planes.depth_ = depth;
  for (std::uint64_t i = 0; i < blocks.parts; ++i) {
    PIRX_ASSIGN(auto part, SlicedMatrix::create(kernels, blocks.rows, blocks.row_bytes));
    planes.parts_.push_back(std::move(part));
  }
  return planes;
} catch (const std::bad_alloc&) {
  return tl::unexpected(no_memory("the prepared database"));
}

Result<void> PreparedPlanes::fill(const SlicedKernels& kernels, ConstView<std::byte> D, int threads) try {
  const StoredBlocks blocks(kernels, D.rows, D.cols, depth_);
  const Leaves leaves = stored_leaves(depth_, true);
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    const auto terms = blocks_of(D, leaves.products[i].right, leaves.n, blocks.rows, blocks.row_bytes);
    parts_[i].fill(kernels, terms, threads);
  }
  return {};
} catch (const std::bad_alloc&) {
  return tl::unexpected(no_memory("the prepared database"));
}

Result<void> multiply_planes(const SlicedKernels& kernels, ConstView<std::byte> Q, Scalars scalars,
                             const PreparedPlanes& D, std::size_t first_row, View<std::byte> R,
                             const Plan& plan) try {
  const Leaves leaves = stored_leaves(D.depth(), plan.depth > 0);
  const StoredBlocks blocks(kernels, plan.shape.r, R.cols, D.depth());
  const Plan part = plan_of_part(plan, kernels);
  std::vector<std::vector<ConstView<std::byte>>> left;
  std::vector<std::vector<View<std::byte>>> to;
  std::vector<SlicedStep> steps;
  // A block has a multiple of 8 rows, unless it is the only one.
  const std::size_t block_bytes =
      scalars == Scalars::kBits ? div_up(blocks.rows, 8u) : blocks.rows * scalar_bytes(kernels);
  for (const Leaf& leaf : leaves.products) {
    left.push_back(blocks_of(Q, leaf.left, leaves.k, part.shape.q, block_bytes));
    to.push_back(blocks_of(R, leaf.to, leaves.n, part.shape.q, blocks.row_bytes));
  }
  for (std::size_t p = 0; p < leaves.products.size(); ++p) {
    steps.push_back({left[p], &D.parts()[leaves.products[p].part], to[p], first_row});
  }
  for (std::size_t i = 0; i < R.rows; ++i) std::memset(R.row(i), 0, R.cols);
  return muladd_sliced(kernels, part, scalars, steps);
} catch (const std::bad_alloc&) {
  return tl::unexpected(no_memory("the product"));
}

}  // namespace pirx::strassen
