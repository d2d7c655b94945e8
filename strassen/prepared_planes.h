// A database in planes with levels of Strassen stored: instead of the blocks of D the sums of blocks that the
// scheme multiplies, each in planes of its own. A product by the scheme then forms no sum of D at all; a
// product of few queries reads as many of them as make up D (kThinScheme), which takes no more memory traffic
// than D itself.
#pragma once

#include <vector>

#include "strassen/sliced.h"

namespace pirx::strassen {

class PreparedPlanes {
 public:
  /// For `rows` rows of `row_bytes` bytes, all zero; `depth` as stored_depth() allows it. ResourceExhausted
  /// without memory.
  static Result<PreparedPlanes> create(const SlicedKernels& kernels, std::size_t rows, std::size_t row_bytes,
                                       int depth);
  /// Takes the rows of D, of the shape that create() was told. ResourceExhausted without memory.
  Result<void> fill(const SlicedKernels& kernels, ConstView<std::byte> D, int threads);
  /// What create() allocates.
  static std::uint64_t bytes(const SlicedKernels& kernels, std::size_t rows, std::uint64_t row_bytes,
                             int depth) noexcept;

  /// Levels of Strassen that are stored.
  int depth() const noexcept { return depth_; }
  /// StoredBlocks::parts matrices.
  const std::vector<SlicedMatrix>& parts() const noexcept { return parts_; }
  std::vector<SlicedMatrix>& parts() noexcept { return parts_; }

 private:
  int depth_ = 0;
  std::vector<SlicedMatrix> parts_;
};

/// R = Q * D by the plan. Q: rows of scalars as bytes; R: rows of sums as bytes. Shapes fit (the caller
/// checked). ResourceExhausted without workspace.
Result<void> multiply_planes(const SlicedKernels& kernels, ConstView<std::byte> Q, const PreparedPlanes& D,
                             View<std::byte> R, const Plan& plan);

}  // namespace pirx::strassen
