// SPDX-License-Identifier: Apache-2.0
// R = Q * D over GF(2^n) with a database in planes (pirx/base/sliced_kernels.h), by a bilinear scheme.
#pragma once

#include <span>

#include "pirx/base/buffer.h"
#include "pirx/base/sliced_kernels.h"
#include "strassen/plan.h"

namespace pirx::strassen {

/// A matrix of bytes, given as the sum (XOR) of others. Those may be smaller: rows missing at the bottom and
/// columns missing at the right are zero.
using Terms = std::span<const ConstView<std::byte>>;
/// Matrices to each of which the same matrix is added. They may be smaller; what has no place in them is
/// dropped.
using Targets = std::span<const View<std::byte>>;

/// A database in planes: panels of up to 256 columns one after another; within a panel, groups of 8 rows one
/// after another. The number of groups is even. Missing rows and columns are zero.
class SlicedMatrix {
 public:
  /// A matrix of `rows` rows of `bytes` bytes, all zero. ResourceExhausted: no memory.
  static Result<SlicedMatrix> create(const SlicedKernels& kernels, std::size_t rows, std::size_t bytes);
  /// Replaces the content by the rows of D.
  void fill(const SlicedKernels& kernels, Terms D, int threads) noexcept;
  /// The bytes that create() allocates.
  static std::uint64_t bytes(const SlicedKernels& kernels, std::size_t rows,
                             std::uint64_t row_bytes) noexcept;

  std::size_t groups() const noexcept { return groups_; }
  std::size_t panels() const noexcept { return div_up(vectors_, kMost); }
  /// The number of vectors of 64 columns in a panel.
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

/// How the scalars of Q lie: as the field has them, or, in GF(2), 8 in a byte: bit k of byte g is row 8 g +
/// k.
enum class Scalars : std::uint8_t { kElems, kBits };

/// One of several products. Adds Q * D to every matrix of R. Q: rows of scalars as bytes; R: rows of sums as
/// bytes. The plan's rows of D begin at `first_row`, a multiple of 16.
struct SlicedStep {
  Terms Q;
  const SlicedMatrix* D;
  Targets R;
  std::size_t first_row = 0;
};

/// Computes all steps with one plan and one workspace. The caller has checked the shapes; R overlaps no Q.
/// ResourceExhausted: no memory for the workspace.
Result<void> muladd_sliced(const SlicedKernels& kernels, const Plan& plan, Scalars scalars,
                           std::span<const SlicedStep> steps);

}  // namespace pirx::strassen
