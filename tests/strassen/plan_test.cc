// SPDX-License-Identifier: Apache-2.0
// The policy: pure, printable, within bounds for any shape, and its workspace exact.
#include "strassen/plan.h"

#include <gtest/gtest.h>

#include "pirx/gf2e/gf2.h"
#include "pirx/gf2e/gf2_16.h"
#include "pirx/gf2e/gf2_8.h"
#include "support/seed.h"

namespace pirx::strassen {
namespace {

constexpr KernelTraits kBytes{"test", 1, 1, 1, 64, 4096};
constexpr KernelTraits kWide{"wide", 24, 24, 20, 32, 1280};
constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();

TEST(Plan, IsPureAndPrintable) {
  const Shape shape{256, 32768, 32768};
  const Plan plan = make_plan(shape, 2, 2, true, kBytes);
  EXPECT_EQ(plan.to_string(), make_plan(shape, 2, 2, true, kBytes).to_string());
  for (const char* part : {"q=256 ", "r=32768 ", "s=32768 ", "kernel=test ", "depth=2 ", "threads=2 ",
                           "split=columns ", "tile=256x4096 ", "workspace="}) {
    EXPECT_NE(plan.to_string().find(part), std::string::npos) << part << " in " << plan.to_string();
  }
}

TEST(Plan, WorkspaceIsExact) {
  // Two levels by hand: 128 x 128 by 128 x 2048, then 64 x 64 by 64 x 1024, twice for two threads.
  const std::uint64_t level1 = 128 * 128 + 128 * 2048 + 128 * 2048 + 2048;
  const std::uint64_t level2 = 64 * 64 + 64 * 1024 + 64 * 1024 + 1024;
  EXPECT_EQ(make_plan({256, 32768, 32768}, 2, 2, true, kBytes).workspace_bytes, 2 * (level1 + level2));
  EXPECT_EQ(make_plan({256, 32768, 32768}, 0, 2, true, kBytes).workspace_bytes, 0u);
  // Three partial results beside R.
  const Plan rows = make_plan({3, 10000, 1}, 0, 4, true, kBytes);
  EXPECT_TRUE(rows.split_rows);
  EXPECT_EQ(rows.workspace_bytes, 3u * 64);
}

// What a product in planes takes beside the database and R: at most 64 MiB, 8 MiB for each thread beyond the
// second, and twice the products of R.
template <class F>
void expect_bounded_workspace() {
  const F f;
  for (const auto& kernels : kernel_table(f)) {
    if (kernels.sliced == nullptr) continue;
    const std::size_t size = sizeof(typename F::Sum);
    // The shipped crossovers, and some that take few queries' ways as far as they go.
    for (const Crossovers& crossovers :
         {kernels.crossovers, Crossovers{.direct = 16, .fused = 256, .stored_level = 1}}) {
      const KernelTraits traits{kernels.name, size, size, f.word_bytes(), 64, 8192, crossovers};
      for (const std::size_t bytes : {std::size_t{1} << 26, std::size_t{1} << 30, std::size_t{1} << 32}) {
        for (std::size_t r = 1024; r <= bytes / 128; r *= 8) {
          for (const std::size_t q : {1, 4, 9, 64, 256, 1000, 4096}) {
            for (const int threads : {1, 2, 8, 16}) {
              for (int depth = -1; depth <= 2; ++depth) {
                for (const int stored : {0, 1, 2}) {
                  const Plan plan = make_stored_plan({q, r, bytes / r / size}, depth, stored, threads, true,
                                                     traits, *kernels.sliced);
                  const std::uint64_t beyond = std::uint64_t(std::max(threads - 2, 0)) << 23;
                  EXPECT_LE(plan.workspace_bytes,
                            (std::uint64_t{64} << 20) + beyond + 2 * q * (bytes / r) * 27 / 8)
                      << plan.to_string();
                }
              }
            }
          }
        }
      }
    }
  }
}

TEST(Plan, WorkspaceInPlanesIsBounded) {
  expect_bounded_workspace<gf2e::Gf2>();
  expect_bounded_workspace<gf2e::Gf2_8>();
  expect_bounded_workspace<gf2e::Gf2_16>();
}

// A database with stored levels: they are used while each part keeps the queries that pay, and all or none.
TEST(Plan, StoredLevelsAreUsedFromTheirCrossoverOn) {
  const gf2e::Gf2_8 f;
  for (const auto& kernels : kernel_table(f)) {
    if (kernels.sliced == nullptr) continue;
    const KernelTraits traits{kernels.name, 1, 1, 1, 64, 8192, {.direct = 4, .stored_level = 100}};
    const auto plan = [&](std::size_t q, int depth, int stored) {
      return make_stored_plan({q, 32768, 32768}, depth, stored, 1, true, traits, *kernels.sliced);
    };
    EXPECT_EQ(plan(199, -1, 1).depth, 0);
    EXPECT_EQ(plan(200, -1, 1).depth, 1);
    EXPECT_EQ(plan(399, -1, 2).depth, 0);
    EXPECT_EQ(plan(400, -1, 2).depth, 2);
    EXPECT_EQ(plan(4096, 1, 2).depth, 0) << "two levels are one step: there is no half of it";
    EXPECT_EQ(plan(64, 2, 2).depth, 2) << "asked for";
    EXPECT_EQ(plan(64, 5, 1).depth, 1) << "no more than are stored";
    EXPECT_EQ(plan(31, 2, 2).depth, 0) << "asked for, but so few queries have no quarters";
    EXPECT_EQ(plan(1, -1, 2).way, plan(1, -1, 0).way);
    EXPECT_EQ(plan(400, -1, 2).stored, 2);
    // What is planned is the product of a part.
    EXPECT_EQ(plan_of_part(plan(400, -1, 2), *kernels.sliced).shape.q, 100u);
    EXPECT_EQ(plan_of_part(plan(400, -1, 2), *kernels.sliced).shape.r, 8192u);
    EXPECT_EQ(plan_of_part(plan(1, -1, 2), *kernels.sliced).shape.q, 1u);
  }
}

TEST(Plan, StoredBlocksCoverTheDatabase) {
  auto engine = testing::seeded_engine(5);
  for (const auto& kernels : kernel_table(gf2e::Gf2_16())) {
    if (kernels.sliced == nullptr) continue;
    for (int round = 0; round < 200; ++round) {
      const std::uint64_t rows = 1 + engine() % 5000, row_bytes = 2 * (1 + engine() % 5000);
      const int depth = stored_depth(*kernels.sliced, rows, row_bytes, static_cast<int>(engine() % 5));
      const StoredBlocks blocks(*kernels.sliced, rows, row_bytes, depth);
      EXPECT_GE(blocks.rows << depth, rows);
      EXPECT_GE(blocks.row_bytes << depth, row_bytes);
      EXPECT_LT(blocks.rows << depth, rows + (std::uint64_t{16} << depth));
      EXPECT_LT(blocks.row_bytes << depth, row_bytes + (kernels.sliced->vector_bytes() << depth));
    }
    EXPECT_EQ(stored_depth(*kernels.sliced, 15, 1 << 20, 3), 0);
    EXPECT_EQ(stored_depth(*kernels.sliced, 64, 1 << 20, 3), 2);
    EXPECT_EQ(stored_depth(*kernels.sliced, 1 << 20, 1 << 20, 9), 2);
  }
}

TEST(Plan, StaysWithinTheShape) {
  auto engine = testing::seeded_engine();
  for (int round = 0; round < 20000; ++round) {
    const auto any = [&] { return engine() >> (engine() % 64); };
    const Shape shape{any(), any(), any()};
    const auto& kernel = round % 2 == 0 ? kBytes : kWide;
    const int depth = static_cast<int>(engine() % 70) - 1;
    const int threads = 1 + static_cast<int>(engine() % 64);
    const Plan plan = make_plan(shape, depth, threads, round % 3 == 0, kernel);
    SCOPED_TRACE(plan.to_string());
    ASSERT_GE(plan.tile_rows, 1u);
    ASSERT_GE(plan.tile_words, 1u);
    ASSERT_LE(plan.tile_rows, std::max<std::size_t>(shape.r, 1));
    ASSERT_LE(plan.tile_words, std::max<std::size_t>(shape.s, 1));
    ASSERT_GE(plan.threads, 1);
    ASSERT_LE(plan.threads, threads);
    ASSERT_GE(plan.depth, 0);
    if (depth >= 0) {
      ASSERT_LE(plan.depth, depth);
    }
    if (plan.depth > 0) {
      ASSERT_GE(shape.q >> plan.depth, 1u);
      ASSERT_GE(plan.tile_rows >> plan.depth, 1u);
      ASSERT_GE(plan.tile_words >> plan.depth, 1u);
    }
    if (plan.split_rows) {
      ASSERT_GE(shape.r / static_cast<std::size_t>(plan.threads), 2u);
    }
  }
}

TEST(Plan, DepthGoesAsDeepAsTheShapeAllows) {
  EXPECT_EQ(make_plan({1, 1000, 1000}, 4, 1, true, kBytes).depth, 0);
  EXPECT_EQ(make_plan({7, 1000, 1000}, 4, 1, true, kBytes).depth, 2);
  EXPECT_EQ(make_plan({1000, 1000, 3}, 4, 1, true, kBytes).depth, 1);
  EXPECT_EQ(make_plan({1000, 0, 1000}, 4, 1, true, kBytes).depth, 0);
  EXPECT_EQ(make_plan({1000, 1000, 1000}, 4, 1, true, kBytes).depth, 4);
}

TEST(Plan, ChoosesStrassenInRowsFromItsCrossoverOn) {
  const auto depth = [](std::size_t crossover, const Shape& shape) {
    return make_plan(shape, -1, 1, true, {"test", 1, 1, 1, 64, 4096, {.level_in_rows = crossover}}).depth;
  };
  EXPECT_EQ(depth(16, {1, 8192, 8192}), 0);
  EXPECT_EQ(depth(16, {31, 8192, 8192}), 0);
  EXPECT_EQ(depth(16, {32, 8192, 8192}), 1);
  EXPECT_EQ(depth(16, {4096, 8192, 8192}), 3);
  EXPECT_EQ(depth(16, {256, 8192, 8}), 0) << "short rows";
  EXPECT_EQ(depth(16, {256, 8, 8192}), 0) << "few rows";
  EXPECT_EQ(depth(128, {255, 8192, 8192}), 0);
  EXPECT_EQ(depth(128, {256, 8192, 8192}), 1);
  EXPECT_EQ(depth(0, {4096, 8192, 8192}), 0);
}

TEST(Plan, WorkspaceThatOverflowsSaturates) {
  EXPECT_EQ(make_plan({kMax, kMax, kMax}, 4, 8, true, kWide).workspace_bytes, kMax);
  EXPECT_EQ(make_plan({kMax, 1u << 20, 1}, 0, 8, true, kWide).workspace_bytes, kMax);
}

TEST(Plan, OneQueryReadsWholeRows) {
  const Plan plan = make_plan({1, 32768, 32768}, -1, 1, true, kBytes);
  EXPECT_EQ(plan.tile_words, 32768u);
  EXPECT_EQ(plan.depth, 0);
}

TEST(Plan, ThreadsShareTheColumnsEvenly) {
  for (const int threads : {2, 3, 4, 7}) {
    const Plan plan = make_plan({16, 1000, 100000}, -1, threads, true, kBytes);
    EXPECT_EQ(plan.threads, threads);
    EXPECT_FALSE(plan.split_rows);
    const std::size_t panels = (100000 + plan.tile_words - 1) / plan.tile_words;
    EXPECT_EQ(panels % static_cast<std::size_t>(threads), 0u) << plan.to_string();
  }
}

TEST(Plan, SmallProductsStayOnOneThread) {
  EXPECT_EQ(make_plan({3, 5, 1000}, -1, 8, false, kBytes).threads, 1);
  EXPECT_EQ(make_plan({3, 5, 1000}, -1, 2, true, kBytes).threads, 2);
  EXPECT_EQ(make_plan({1, 32768, 32768}, -1, 8, false, kBytes).threads, 8);
}

}  // namespace
}  // namespace pirx::strassen
