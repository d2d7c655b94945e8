// SPDX-License-Identifier: Apache-2.0
// A database in planes with stored levels of Strassen. Instead of the blocks of D it holds the sums of blocks
// that the scheme multiplies, each in planes of its own. A product by the scheme then forms no sum of D. A
// product of few queries needs only a few of the sums (kThinScheme): it reads no more memory than D has.
#pragma once

#include <vector>

#include "strassen/sliced.h"

namespace pirx::strassen {

class PreparedPlanes {
 public:
  /// Memory for `rows` rows of `row_bytes` bytes, all zero. `depth` must be allowed by stored_depth().
  /// ResourceExhausted: no memory.
  static Result<PreparedPlanes> create(const SlicedKernels& kernels, std::size_t rows, std::size_t row_bytes,
                                       int depth);
  /// Stores the rows of D, which has the shape given to create(). ResourceExhausted: no memory.
  Result<void> fill(const SlicedKernels& kernels, ConstView<std::byte> D, int threads);
  /// The bytes that create() allocates.
  static std::uint64_t bytes(const SlicedKernels& kernels, std::size_t rows, std::uint64_t row_bytes,
                             int depth) noexcept;

  /// The number of Strassen levels that are stored.
  int depth() const noexcept { return depth_; }
  /// StoredBlocks::parts matrices.
  const std::vector<SlicedMatrix>& parts() const noexcept { return parts_; }
  std::vector<SlicedMatrix>& parts() noexcept { return parts_; }

 private:
  int depth_ = 0;
  std::vector<SlicedMatrix> parts_;
};

/// R = Q * D as the plan says, with the rows of D from `first_row` on, a multiple of 16, which is 0 if levels
/// are stored. Q: rows of scalars as bytes; R: rows of sums as bytes. The caller has checked the shapes.
/// ResourceExhausted: no memory for the workspace.
Result<void> multiply_planes(const SlicedKernels& kernels, ConstView<std::byte> Q, Scalars scalars,
                             const PreparedPlanes& D, std::size_t first_row, View<std::byte> R,
                             const Plan& plan);

}  // namespace pirx::strassen
