// What plan.cc decides, and the layout of the workspace that the decision implies.
#pragma once

#include <limits>

#include "pirx/strassen/engine.h"
#include "strassen/scheme.h"

namespace pirx::strassen {

/// What a plan depends on besides the shape: the field, the kernel, sizes of one scalar, one sum and one
/// entry of D as it lies in memory, and the tile that the kernel asks for.
struct KernelTraits {
  FieldTag field;
  const char* name;
  std::size_t elem_size;
  std::size_t sum_size;
  std::size_t entry_size;
  std::size_t tile_rows;
  std::size_t tile_bytes;
};

/// The policy: depth, blocks and threads for a shape. `threads` is at least 1. Pure.
Plan make_plan(const Shape& shape, int depth, int threads, bool threads_forced, const KernelTraits& kernel);

constexpr std::uint64_t saturated_mul(std::uint64_t a, std::uint64_t b) {
  return checked_mul(a, b).value_or(std::numeric_limits<std::uint64_t>::max());
}
constexpr std::uint64_t saturated_add(std::uint64_t a, std::uint64_t b) {
  return checked_add(a, b).value_or(std::numeric_limits<std::uint64_t>::max());
}

/// Bytes of a row-major block without padding between its rows, rounded up to a cache line.
constexpr std::uint64_t block_bytes(std::uint64_t rows, std::uint64_t cols, std::uint64_t size) {
  const std::uint64_t bytes = saturated_mul(rows, saturated_mul(cols, size));
  return bytes > std::numeric_limits<std::uint64_t>::max() - 63 ? bytes : round_up(bytes, 64);
}

/// Workspace of one level of recursion on blocks of m x k by k x n: a sum of Q blocks, a sum of D blocks, a
/// product, and one row of a D block as sums.
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

/// Workspace of `depth` levels on a q x r by r x s product.
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
