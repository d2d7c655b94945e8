// SPDX-License-Identifier: Apache-2.0
// Matrix, View and ConstView: layout, windows, and sizes that do not fit in memory.
#include "pirx/base/matrix.h"

#include <gtest/gtest.h>

#include <limits>

namespace pirx::matrix {
namespace {

TEST(Matrix, IsZeroAndItsRowsStartOnCacheLines) {
  auto matrix = Matrix<std::uint16_t>::create(5, 33);
  ASSERT_TRUE(matrix) << matrix.error().to_string();
  EXPECT_EQ(matrix->rows(), 5u);
  EXPECT_EQ(matrix->cols(), 33u);
  EXPECT_EQ(matrix->view().stride, 128u);
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(matrix->row(i)) % 64, 0u);
    for (std::size_t j = 0; j < 33; ++j) EXPECT_EQ(matrix->at(i, j), 0);
  }
}

TEST(Matrix, RowsViewsAndElementsAreTheSameMemory) {
  auto matrix = Matrix<std::uint32_t>::create(4, 7);
  ASSERT_TRUE(matrix);
  for (std::size_t i = 0; i < 4; ++i) {
    for (std::size_t j = 0; j < 7; ++j) matrix->at(i, j) = static_cast<std::uint32_t>(10 * i + j);
  }
  const ConstView<std::uint32_t> view = std::as_const(*matrix).view();
  const ConstView<std::uint32_t> converted = matrix->view();
  for (std::size_t i = 0; i < 4; ++i) {
    for (std::size_t j = 0; j < 7; ++j) {
      EXPECT_EQ(view.at(i, j), 10 * i + j);
      EXPECT_EQ(converted.row(i)[j], 10 * i + j);
    }
  }
  matrix->view().at(3, 6) = 99;
  EXPECT_EQ(view.at(3, 6), 99u);
}

TEST(Matrix, MovesKeepTheElements) {
  auto matrix = Matrix<std::uint8_t>::create(2, 2);
  ASSERT_TRUE(matrix);
  matrix->at(1, 1) = 7;
  const std::uint8_t* row = matrix->row(1);
  const Matrix<std::uint8_t> moved = std::move(*matrix);
  EXPECT_EQ(moved.row(1), row);
  EXPECT_EQ(moved.at(1, 1), 7);
}

TEST(Matrix, EmptyShapesAreFine) {
  for (const auto& [rows, cols] : {std::pair<std::size_t, std::size_t>{0, 0}, {0, 9}, {9, 0}}) {
    auto matrix = Matrix<std::uint64_t>::create(rows, cols);
    ASSERT_TRUE(matrix) << rows << " x " << cols;
    EXPECT_EQ(matrix->rows(), rows);
    EXPECT_EQ(matrix->cols(), cols);
  }
}

TEST(Matrix, SizesThatOverflowAreRefused) {
  constexpr std::size_t kMax = std::numeric_limits<std::size_t>::max();
  for (const auto& [rows, cols] : {std::pair<std::size_t, std::size_t>{1, kMax},
                                   {kMax, 1},
                                   {1, kMax / 8},
                                   {kMax / 64 + 2, 1},
                                   {std::size_t{1} << 32, std::size_t{1} << 32},
                                   {1, std::size_t{1} << 60}}) {
    const auto matrix = Matrix<std::uint64_t>::create(rows, cols);
    ASSERT_FALSE(matrix) << rows << " x " << cols;
    EXPECT_EQ(matrix.error().code(), ErrorCode::kResourceExhausted);
    EXPECT_FALSE(matrix.error().message().empty());
  }
}

TEST(View, WindowsOfWindowsKeepTheStride) {
  auto matrix = Matrix<std::uint16_t>::create(9, 11);
  ASSERT_TRUE(matrix);
  for (std::size_t i = 0; i < 9; ++i) {
    for (std::size_t j = 0; j < 11; ++j) matrix->at(i, j) = static_cast<std::uint16_t>(100 * i + j);
  }
  const View<std::uint16_t> outer = matrix->view().window(2, 3, 6, 7);
  const ConstView<std::uint16_t> inner = ConstView<std::uint16_t>(outer).window(1, 2, 4, 5);
  EXPECT_EQ(inner.rows, 4u);
  EXPECT_EQ(inner.cols, 5u);
  EXPECT_EQ(inner.stride, matrix->view().stride);
  for (std::size_t i = 0; i < 4; ++i) {
    for (std::size_t j = 0; j < 5; ++j) EXPECT_EQ(inner.at(i, j), 100 * (i + 3) + j + 5);
  }
  outer.at(1, 2) = 1;
  EXPECT_EQ(matrix->at(3, 5), 1);
}

TEST(View, WindowsMayBeEmptyAtTheEdges) {
  auto matrix = Matrix<std::uint8_t>::create(3, 4);
  ASSERT_TRUE(matrix);
  EXPECT_EQ(matrix->view().window(3, 0, 0, 4).rows, 0u);
  EXPECT_EQ(matrix->view().window(0, 4, 3, 0).cols, 0u);
}

TEST(View, StridesMayBeLargerThanARow) {
  const std::uint8_t bytes[] = {1, 2, 0, 0, 0, 3, 4, 0, 0, 0, 5, 6};
  const ConstView<std::uint8_t> view{bytes, 3, 2, 5};
  EXPECT_EQ(view.at(0, 1), 2);
  EXPECT_EQ(view.at(1, 0), 3);
  EXPECT_EQ(view.at(2, 1), 6);
}

}  // namespace
}  // namespace pirx::matrix
