// R = Q * D over GF(2^n) on a database in planes (pirx/base/sliced_kernels.h): Karatsuba inside, Strassen
// around it.
#pragma once

#include "pirx/base/buffer.h"
#include "pirx/base/sliced_kernels.h"
#include "strassen/plan.h"

namespace pirx::strassen {

/// A database in planes: panel after panel of up to 256 columns, in a panel group after group of 8 rows. The
/// number of groups is even; rows and columns that are missing are zero.
class SlicedMatrix {
 public:
  /// D: rows of bytes. ResourceExhausted without memory.
  static Result<SlicedMatrix> create(const SlicedKernels& kernels, ConstView<std::byte> D, int threads);

  std::size_t groups() const noexcept { return groups_; }
  std::size_t panels() const noexcept { return (vectors_ + kMost - 1) / kMost; }
  /// Vectors of 64 columns in that panel.
  std::size_t vectors(std::size_t panel) const noexcept { return std::min(kMost, vectors_ - panel * kMost); }
  const std::byte* panel(std::size_t panel) const noexcept {
    return data_.data() + panel * groups_ * full_group_;
  }

 private:
  static constexpr std::size_t kMost = SlicedKernels::kPanelVectors;
  std::size_t groups_ = 0, vectors_ = 0;
  std::size_t full_group_ = 0;  // bytes of a group in a full panel
  AlignedBuffer data_;
};

/// R = Q * D by the plan. Q: rows of scalars as bytes; R: rows of sums as bytes. Shapes fit (the caller
/// checked). ResourceExhausted without workspace.
Result<void> multiply_sliced(const SlicedKernels& kernels, ConstView<std::byte> Q, const SlicedMatrix& D,
                             View<std::byte> R, const Plan& plan);

}  // namespace pirx::strassen
