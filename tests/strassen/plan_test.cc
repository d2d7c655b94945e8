// The policy: pure, printable, within bounds for any shape, and its workspace exact.
#include "strassen/plan.h"

#include <gtest/gtest.h>

#include <random>

#include "pirx/gf2e/gf2.h"
#include "pirx/gf2e/gf2_16.h"
#include "pirx/gf2e/gf2_8.h"
#include "support/seed.h"

namespace pirx::strassen {
namespace {

constexpr KernelTraits kBytes{kTagGf2_8, "test", 1, 1, 1, 64, 4096};
constexpr KernelTraits kWide{kTagW160, "wide", 24, 24, 20, 32, 1280};
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
    const KernelTraits traits{f.tag(), kernels.name, size, size, f.word_bytes(), 64, 8192};
    for (const std::size_t bytes : {std::size_t{1} << 26, std::size_t{1} << 30, std::size_t{1} << 32}) {
      for (std::size_t r = 1024; r <= bytes / 128; r *= 8) {
        for (const std::size_t q : {1, 4, 9, 64, 256, 1000, 4096}) {
          for (const int threads : {1, 2, 8, 16}) {
            for (int depth = -1; depth <= 3; ++depth) {
              const Plan plan =
                  make_sliced_plan({q, r, bytes / r / size}, depth, threads, true, traits, *kernels.sliced);
              const std::uint64_t own = std::uint64_t{plan.depth == 0 ? 8u : 24u} << 20;
              EXPECT_LE(plan.workspace_bytes, (std::uint64_t{64} << 20) + std::max(threads - 2, 0) * own +
                                                  2 * q * (bytes / r) * 27 / 8)
                  << plan.to_string();
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

TEST(Plan, ChoosesStrassenOnlyWhereItMeasuredFaster) {
  const auto depth = [](const FieldTag& field, const char* name, const Shape& shape) {
    return make_plan(shape, -1, 1, true, {field, name, 1, 1, 1, 64, 4096}).depth;
  };
  EXPECT_EQ(depth(kTagGf2_8, "portable", {1, 8192, 8192}), 0);
  EXPECT_EQ(depth(kTagGf2_8, "portable", {31, 8192, 8192}), 0);
  EXPECT_EQ(depth(kTagGf2_8, "portable", {32, 8192, 8192}), 1);
  EXPECT_EQ(depth(kTagGf2_8, "portable", {4096, 8192, 8192}), 3);
  EXPECT_EQ(depth(kTagGf2_8, "portable", {256, 8192, 8}), 0) << "short rows";
  EXPECT_EQ(depth(kTagGf2_8, "portable", {256, 8, 8192}), 0) << "few rows";
  EXPECT_EQ(depth(kTagGf2_8, "avx2", {255, 8192, 8192}), 0);
  EXPECT_EQ(depth(kTagGf2_8, "avx2", {256, 8192, 8192}), 1);
  EXPECT_EQ(depth(kTagGf2_8, "gfni512", {4096, 8192, 8192}), 0);
  EXPECT_EQ(depth(kTagGf2, "portable", {4096, 8192, 8192}), 0);
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
