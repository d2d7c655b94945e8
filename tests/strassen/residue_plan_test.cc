// SPDX-License-Identifier: Apache-2.0
// Plans of multi-modular products: every block within its limits, the workspace within the engine's.
#include "strassen/residue_plan.h"

#include <gtest/gtest.h>

namespace pirx::strassen {
namespace {

constexpr KernelTraits kW160{"amx", 24, 24, 20, 256, 2560};

TEST(ResiduePlan, KeepsItsLimits) {
  for (const std::size_t moduli : {15u, 48u}) {
    for (const bool kept : {false, true}) {
      for (const std::size_t q : {1u, 15u, 16u, 17u, 64u, 255u, 256u, 257u, 1000u, 4096u}) {
        for (const std::size_t r : {64u, 65u, 4096u, 4097u, 32768u, 1u << 20}) {
          for (const std::size_t s : {1u, 16u, 17u, 1638u, 5461u, 1u << 20}) {
            const Plan plan = make_residue_plan({q, r, s}, 2, kW160, moduli, kept);
            SCOPED_TRACE(plan.to_string());
            EXPECT_EQ(plan.way, Way::kResidues);
            EXPECT_EQ(plan.layout, kept ? Layout::kResidues : Layout::kRows);
            EXPECT_EQ(plan.tile_queries % ResidueKernels::kQueries, 0u);
            EXPECT_LE(plan.tile_queries, 256u);
            EXPECT_EQ(plan.tile_words % ResidueKernels::kColumns, 0u);
            EXPECT_GE(plan.tile_words, ResidueKernels::kColumns);
            EXPECT_LT(plan.tile_words, s + ResidueKernels::kColumns);
            // A chunk never crosses the border of a kept one.
            EXPECT_EQ(kResidueChunk % plan.chunk_rows, 0u);
            EXPECT_EQ(plan.chunk_rows % ResidueKernels::kRows, 0u);
            EXPECT_GE(plan.run, 1u);
            EXPECT_LE(plan.run, plan.tile_words / ResidueKernels::kColumns);
            const std::uint64_t answer = std::uint64_t{plan.tile_queries} * plan.tile_words * kW160.sum_size;
            EXPECT_LE(plan.workspace_bytes, (64u << 20) + 2 * answer * 27 / 8);
          }
        }
      }
    }
  }
}

TEST(ResiduePlan, SizesThatOverflowAreHuge) {
  const auto huge = static_cast<std::size_t>(-1);
  EXPECT_GE(residue_run_bytes(huge), std::uint64_t{1} << 60);
  const Plan plan = make_residue_plan({huge, huge, huge}, 1, kW160, 48, false);
  EXPECT_LE(plan.workspace_bytes, 160u << 20);
}

}  // namespace
}  // namespace pirx::strassen
