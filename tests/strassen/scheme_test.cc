// SPDX-License-Identifier: Apache-2.0
// The bilinear schemes as identities over the integers, and the checker against planted mistakes.
#include <gtest/gtest.h>

#include "pirx/base/sha256.h"
#include "pirx/base/sliced_kernels.h"
#include "strassen/scheme_rank47.h"

namespace pirx::strassen {
namespace {

TEST(Scheme, StrassenMultipliesMatricesOverTheIntegers) {
  EXPECT_TRUE(multiplies_matrices(kStrassen));
  EXPECT_TRUE(multiplies_matrices(kScheme));
}

// Side files hold the sums of these tables, and their header only SlicedKernels::kOrder to tell them by:
// raise it when this digest changes (docs/prepared_format.md).
TEST(Scheme, TablesBelongToTheOrderOfSideFiles) {
  Bytes tables;
  const auto append = [&tables](const auto& table) {
    const ByteSpan bytes = std::as_bytes(std::span(&table, 1));
    tables.insert(tables.end(), bytes.begin(), bytes.end());
  };
  append(kScheme.v);
  append(kRank47.v);
  const auto digest = sha256(tables);
  std::string hex;
  for (const std::byte byte : digest) {
    constexpr char kDigits[] = "0123456789abcdef";
    hex += kDigits[static_cast<unsigned>(byte) >> 4];
    hex += kDigits[static_cast<unsigned>(byte) & 15];
  }
  EXPECT_EQ(SlicedKernels::kOrder, 1u);
  EXPECT_EQ(hex, "b4916ca900de79b5dd1cbb11a0fff7dd79bbbafc95ca4630633affddd211bfd5");
}

TEST(Scheme, StrassenMultipliesNumbers) {
  // Independent of the checker: two matrices by hand, non-commuting.
  const int a[4] = {1, 2, 3, 5}, b[4] = {7, 11, 13, 17}, wanted[4] = {33, 45, 86, 118};
  int c[4] = {};
  for (std::size_t p = 0; p < kStrassen.kRank; ++p) {
    int left = 0, right = 0;
    for (std::size_t x = 0; x < 4; ++x) {
      left += kStrassen.u[p][x] * a[x];
      right += kStrassen.v[p][x] * b[x];
    }
    for (std::size_t x = 0; x < 4; ++x) c[x] += kStrassen.w[p][x] * left * right;
  }
  for (std::size_t x = 0; x < 4; ++x) EXPECT_EQ(c[x], wanted[x]);
}

TEST(Scheme, EveryChangedCoefficientIsCaught) {
  for (std::size_t p = 0; p < kStrassen.kRank; ++p) {
    for (std::size_t x = 0; x < 4; ++x) {
      for (const auto table : {0, 1, 2}) {
        for (const std::int8_t value : {std::int8_t{-1}, std::int8_t{0}, std::int8_t{1}}) {
          auto scheme = kStrassen;
          std::int8_t& entry = (table == 0 ? scheme.u : table == 1 ? scheme.v : scheme.w)[p][x];
          if (entry == value) continue;
          entry = value;
          EXPECT_FALSE(multiplies_matrices(scheme)) << table << " " << p << " " << x;
        }
      }
    }
  }
}

TEST(Scheme, Rank47MultipliesMatricesModuloTwoOnly) {
  EXPECT_TRUE(multiplies_matrices(kRank47, 2));
  EXPECT_FALSE(multiplies_matrices(kRank47)) << "it has no signs";
  EXPECT_TRUE(multiplies_matrices(kRank47Thin, 2));
}

TEST(Scheme, EveryProductOfRank47IsNeeded) {
  for (std::size_t p = 0; p < kRank47.kRank; ++p) {
    for (const auto table : {0, 1, 2}) {
      auto scheme = kRank47;
      std::int8_t& entry = (table == 0 ? scheme.u : table == 1 ? scheme.v : scheme.w)[p][(5 * p) % 16];
      entry = static_cast<std::int8_t>(1 - entry);
      EXPECT_FALSE(multiplies_matrices(scheme, 2)) << table << " " << p;
    }
  }
}

TEST(Scheme, TheCheckerKnowsRectangularSchemes) {
  // <1, 2, 1; 2>: a dot product.
  constexpr BilinearScheme<1, 2, 1, 2> dot = {{{1, 0}, {0, 1}}, {{1, 0}, {0, 1}}, {{1}, {1}}};
  EXPECT_TRUE(multiplies_matrices(dot));
  // <2, 1, 2; 4>: an outer product.
  constexpr BilinearScheme<2, 1, 2, 4> outer = {{{1, 0}, {1, 0}, {0, 1}, {0, 1}},
                                                {{1, 0}, {0, 1}, {1, 0}, {0, 1}},
                                                {{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}, {0, 0, 0, 1}}};
  EXPECT_TRUE(multiplies_matrices(outer));
}

}  // namespace
}  // namespace pirx::strassen
