// SPDX-License-Identifier: Apache-2.0
// Tables of rates, and the lines between powers of two.
#include "pirx/protocol/rates.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>

#include "support/files.h"

namespace pirx {
namespace {

TEST(Rates, OnlyTimesAreTaken) {
  RateTable table;
  const RateId id{"scan", {3, 20}};
  EXPECT_EQ(id.name(), "scan/3/20");
  const auto unknown = table.seconds(id);
  pirx::testing::expect_error(unknown, ErrorCode::kUnavailable, "scan/3/20");
  for (const double wrong : {0.0, -1.0, 1e6, std::nan(""), std::numeric_limits<double>::infinity()}) {
    pirx::testing::expect_error(table.set(id, wrong), ErrorCode::kUnavailable, "scan/3/20");
  }
  EXPECT_TRUE(table.all().empty());
  ASSERT_TRUE(table.set(id, 2.5));
  EXPECT_EQ(*table.seconds(id), 2.5);
  EXPECT_FALSE(table.seconds({"scan", {3, 21}}));
  EXPECT_FALSE(table.seconds({"scan", {3}}));
}

TEST(Rates, BetweenPowersOfTwo) {
  RateTable table;
  constexpr std::array<std::uint32_t, 3> grid = {4, 8, 10};
  ASSERT_TRUE(table.set({"scan", {4, 7}}, 1));
  ASSERT_TRUE(table.set({"scan", {8, 7}}, 16));
  ASSERT_TRUE(table.set({"scan", {10, 7}}, 256));
  const auto at = [&](double size) { return *seconds_at(table, {"scan", {0, 7}}, 0, size, grid); };
  EXPECT_DOUBLE_EQ(at(16), 1);
  EXPECT_DOUBLE_EQ(at(256), 16);
  EXPECT_DOUBLE_EQ(at(1024), 256);
  EXPECT_DOUBLE_EQ(at(64), 4);       // in the middle of logarithms
  EXPECT_DOUBLE_EQ(at(512), 64);     // of the second part, which is steeper
  EXPECT_DOUBLE_EQ(at(3), 1);        // a call costs what it costs
  EXPECT_DOUBLE_EQ(at(4096), 1024);  // beyond, in proportion
  RateTable holes;
  ASSERT_TRUE(holes.set({"scan", {4, 7}}, 1));
  const auto unknown = seconds_at(holes, {"scan", {0, 7}}, 0, 64, grid);
  pirx::testing::expect_error(unknown, ErrorCode::kUnavailable);
}

}  // namespace
}  // namespace pirx
