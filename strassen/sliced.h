// R = Q * D over GF(2^n) on a database in planes (pirx/base/sliced_kernels.h): Karatsuba inside, Strassen
// around it.
#pragma once

#include <span>

#include "pirx/base/buffer.h"
#include "pirx/base/sliced_kernels.h"
#include "strassen/plan.h"

namespace pirx::strassen {

/// A matrix of bytes as the sum (XOR) of others. Each may lack rows below and columns to the right, which are
/// then zero.
using Terms = std::span<const ConstView<std::byte>>;
/// Places that all get the same matrix added. Each may lack rows and columns, too: what belongs there is
/// dropped.
using Targets = std::span<const View<std::byte>>;

/// A database in planes: panel after panel of up to 256 columns, in a panel group after group of 8 rows. The
/// number of groups is even; rows and columns that are missing are zero.
class SlicedMatrix {
 public:
  /// Of `rows` rows of `bytes` bytes, all zero. ResourceExhausted without memory.
  static Result<SlicedMatrix> create(const SlicedKernels& kernels, std::size_t rows, std::size_t bytes);
  /// Takes these rows in place of what it held.
  void fill(const SlicedKernels& kernels, Terms D, int threads) noexcept;
  /// What create() allocates.
  static std::uint64_t bytes(const SlicedKernels& kernels, std::size_t rows,
                             std::uint64_t row_bytes) noexcept;

  std::size_t groups() const noexcept { return groups_; }
  std::size_t panels() const noexcept { return (vectors_ + kMost - 1) / kMost; }
  /// Vectors of 64 columns in that panel.
  std::size_t vectors(std::size_t panel) const noexcept { return std::min(kMost, vectors_ - panel * kMost); }
  const std::byte* panel(std::size_t panel) const noexcept {
    return data_.data() + panel * groups_ * full_group_;
  }
  /// All panels, one after another.
  ByteSpan bytes() const noexcept { return {data_.data(), groups_ * vectors_ * (full_group_ / kMost)}; }
  MutableByteSpan bytes() noexcept { return {data_.data(), groups_ * vectors_ * (full_group_ / kMost)}; }

 private:
  static constexpr std::size_t kMost = SlicedKernels::kPanelVectors;
  std::size_t groups_ = 0, vectors_ = 0;
  std::size_t full_group_ = 0;  // bytes of a group in a full panel
  AlignedBuffer data_;
};

/// One product of many: R += Q * D, in every place of R. Q: rows of scalars as bytes; R: rows of sums as
/// bytes.
struct SlicedStep {
  Terms Q;
  const SlicedMatrix* D;
  Targets R;
};

/// All steps by one plan, in one workspace. Shapes are the plan's (the caller checked); R overlaps no Q.
/// ResourceExhausted without workspace.
Result<void> muladd_sliced(const SlicedKernels& kernels, const Plan& plan, std::span<const SlicedStep> steps);

}  // namespace pirx::strassen
