// SPDX-License-Identifier: Apache-2.0
// Matrix, View and ConstView. Only Matrix allocates memory. A view is a pointer, a shape and a stride in
// bytes.
#pragma once

#include <string>
#include <type_traits>

#include "pirx/base/buffer.h"

namespace pirx::matrix {

/// A borrowed, read-only, row-major matrix. Rows lie `stride` bytes apart; every stride that keeps T aligned
/// is allowed.
template <class T>
struct ConstView {
  const T* data = nullptr;
  std::size_t rows = 0;
  std::size_t cols = 0;
  std::size_t stride = 0;  ///< bytes from one row to the next

  const T* row(std::size_t i) const noexcept {
    return reinterpret_cast<const T*>(reinterpret_cast<const std::byte*>(data) + i * stride);
  }
  const T& at(std::size_t i, std::size_t j) const noexcept { return row(i)[j]; }
  /// The `height` x `width` window with its top left corner at (i, j). It must lie inside the matrix.
  ConstView window(std::size_t i, std::size_t j, std::size_t height, std::size_t width) const noexcept {
    PIRX_VERIFY_CHECK(i + height <= rows && j + width <= cols);
    return {row(i) + j, height, width, stride};
  }
};

/// A borrowed, writable, row-major matrix.
template <class T>
struct View {
  T* data = nullptr;
  std::size_t rows = 0;
  std::size_t cols = 0;
  std::size_t stride = 0;  ///< bytes from one row to the next

  T* row(std::size_t i) const noexcept {
    return reinterpret_cast<T*>(reinterpret_cast<std::byte*>(data) + i * stride);
  }
  T& at(std::size_t i, std::size_t j) const noexcept { return row(i)[j]; }
  View window(std::size_t i, std::size_t j, std::size_t height, std::size_t width) const noexcept {
    PIRX_VERIFY_CHECK(i + height <= rows && j + width <= cols);
    return {row(i) + j, height, width, stride};
  }
  operator ConstView<T>() const noexcept { return {data, rows, cols, stride}; }
};

/// Owns rows x cols elements, zero at first. Each row starts at a 64-byte boundary. T is trivially copyable,
/// and its zero is all zero bytes.
template <class T>
class Matrix {
  static_assert(std::is_trivially_copyable_v<T> && alignof(T) <= 64);

 public:
  Matrix() = default;
  /// A matrix of zeros; a shape may be empty. ResourceExhausted: the size overflows, or there is no such
  /// memory.
  static Result<Matrix> create(std::size_t rows, std::size_t cols) {
    const auto width = checked_mul(cols, sizeof(T));
    if (!width || *width > (std::uint64_t{1} << 62)) return too_large(rows, cols);
    const auto stride = round_up(*width, 64);
    const auto size = checked_mul(rows, stride);
    if (!size) return too_large(rows, cols);
    PIRX_ASSIGN(auto buffer, AlignedBuffer::create(*size));
    return Matrix(std::move(buffer), rows, cols, stride);
  }
  std::size_t rows() const noexcept { return rows_; }
  std::size_t cols() const noexcept { return cols_; }
  View<T> view() noexcept { return {reinterpret_cast<T*>(buffer_.data()), rows_, cols_, stride_}; }
  ConstView<T> view() const noexcept {
    return {reinterpret_cast<const T*>(buffer_.data()), rows_, cols_, stride_};
  }
  T* row(std::size_t i) noexcept { return view().row(i); }
  const T* row(std::size_t i) const noexcept { return view().row(i); }
  T& at(std::size_t i, std::size_t j) noexcept { return row(i)[j]; }
  const T& at(std::size_t i, std::size_t j) const noexcept { return row(i)[j]; }

 private:
  Matrix(AlignedBuffer buffer, std::size_t rows, std::size_t cols, std::size_t stride)
      : buffer_(std::move(buffer)), rows_(rows), cols_(cols), stride_(stride) {}
  static tl::unexpected<Error> too_large(std::size_t rows, std::size_t cols) {
    return fail(ErrorCode::kResourceExhausted, "a matrix of " + std::to_string(rows) + " x " +
                                                   std::to_string(cols) + " elements of " +
                                                   std::to_string(sizeof(T)) + " bytes is too large");
  }
  AlignedBuffer buffer_;
  std::size_t rows_ = 0, cols_ = 0, stride_ = 0;
};

}  // namespace pirx::matrix
