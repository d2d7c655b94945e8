// Known answers of the papers' formulas.
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "bench/planner/paper_figures.h"

namespace pirx::planner {
namespace {

const PaperFigure& figure(const std::vector<PaperFigure>& all, std::string_view table, std::string_view row,
                          std::string_view column) {
  for (const auto& one : all) {
    if (one.table == table && one.row == row && one.column == column) return one;
  }
  ADD_FAILURE() << table << " " << row << " " << column;
  return all.front();
}

TEST(PaperTest, FormulasHaveKnownAnswers) {
  EXPECT_EQ(tree_bits(8, 3, 1, 1024), 68608);
  EXPECT_EQ(tree_bits(2, 12, 1, 1024), 105472);
  EXPECT_EQ(tree_bits(8, 4, 1, 1024), 105472);
  EXPECT_NEAR(1e-6 / multiplication_seconds(1024, 11000e6), .2623, 5e-5);
  EXPECT_NEAR(1e-6 / multiplication_seconds(1024, 7500e6), .1788, 5e-5);
  EXPECT_NEAR(break_even_bandwidth(8e7, 1024, 1 / .273e6), 210.5e3, 50);
  EXPECT_NEAR(break_even_bandwidth(8e6, 1024, 1 / .273e6), 75.3e3, 50);
}

// The two misprints of Table 2, and none else.
TEST(PaperTest, BandwidthsOf001) {
  std::set<std::string> differ;
  std::size_t all = 0;
  for (const auto& one : paper_figures()) {
    if (one.table != "001 Table 2") continue;
    ++all;
    ASSERT_TRUE(one.printed);
    if (*one.printed != one.computed) differ.insert(one.column + " " + one.row);
    EXPECT_EQ(*one.printed != one.computed, !one.remark.empty()) << one.row;
  }
  EXPECT_EQ(all, 16u);
  EXPECT_EQ(differ, (std::set<std::string>{"quadratic n = 4", "quadratic n = 16"}));
  const auto figures = paper_figures();
  EXPECT_EQ(figure(figures, "001 Table 2", "n = 4", "quadratic").computed, 8192);
  EXPECT_EQ(figure(figures, "001 Table 2", "n = 16", "quadratic").computed, 18432);
  EXPECT_EQ(figure(figures, "001 Table 1", "n = 512", "octal").computed, 63);
  EXPECT_EQ(figure(figures, "001 Table 1", "n = 512", "binary").computed, 54);
}

// Nine times of one exponentiation explain the authors' tables of server times.
TEST(PaperTest, TimesOf001) {
  std::size_t close = 0, all = 0;
  for (const auto& one : paper_figures()) {
    if (one.table != "001 Table 4" && one.table != "001 Table 5" && one.table != "001 Table 6") continue;
    ++all;
    close += std::abs(one.computed / *one.printed - 1) <= .05;
    EXPECT_LT(std::abs(one.computed / *one.printed - 1), .2) << one.table << one.column << one.row;
    EXPECT_EQ(std::abs(one.computed / *one.printed - 1) > .05, !one.remark.empty());
  }
  EXPECT_EQ(all, 48u);
  EXPECT_GE(close, 34u);
  const auto figures = paper_figures();
  EXPECT_NEAR(figure(figures, "001 Table 4", "n = 512", "octal").computed, 2563, 1);
  EXPECT_NEAR(figure(figures, "001 Table 4", "n = 512", "binary").computed, 28022, 30);
  EXPECT_NEAR(figure(figures, "001 Table 5", "n = 512", "octal").computed, 820, 1);
  EXPECT_NEAR(figure(figures, "001 Table 6", "n = 512", "octal").computed, 714, 1);
}

TEST(PaperTest, RatiosOf001) {
  const auto figures = paper_figures();
  EXPECT_NEAR(figure(figures, "001 Table 7", "items of 1 K", "proposed").computed, 67 / 512., 1e-9);
  EXPECT_NEAR(figure(figures, "001 Table 7", "items of 32 K", "proposed").computed, .0155, 5e-5);
  EXPECT_NEAR(figure(figures, "001 Table 7", "items of 2 M", "proposed").computed, .0079, 5e-5);
  EXPECT_NEAR(figure(figures, "001 Table 7", "items of 32 K", "lattice [1,2]").computed, 14, 1e-9);
  EXPECT_NEAR(figure(figures, "001 section 6", "2^16 items of 1 K", "proposed").computed, .0030, 5e-5);
  EXPECT_NEAR(figure(figures, "001 section 4.4", "n = 512", "binary / octal, modulus squared").computed, 5.32,
              .005);
}

TEST(PaperTest, ThresholdsOf004) {
  const auto figures = paper_figures();
  EXPECT_NEAR(figure(figures, "004 section 3.2", "0.273 10^6/s measured", "t_mul").computed, 3663, 1);
  EXPECT_NEAR(figure(figures, "004 section 4", "no communication counted", "threshold").computed, 273, .5);
  EXPECT_NEAR(figure(figures, "004 section 4", "10 Mbit/s", "t_mul / t_t").computed, 36.6, .05);
  EXPECT_NEAR(figure(figures, "004 section 4", "both directions", "break-even size").computed, 4.19, .005);
  EXPECT_NEAR(figure(figures, "004 Figure 3", "1995, home", "t_mul / t_t").computed, 3.3, .05);
  EXPECT_NEAR(figure(figures, "004 Figure 3", "2005, home", "t_mul / t_t").computed, 11.2, .05);
  EXPECT_NEAR(figure(figures, "004 Figure 3", "2035, home", "t_mul / t_t").computed, 18.6, .05);
}

}  // namespace
}  // namespace pirx::planner
