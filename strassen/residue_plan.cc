// SPDX-License-Identifier: Apache-2.0
// Chooses the blocks and computes the workspace of the product modulo small moduli.
#include "strassen/residue_plan.h"

#include <algorithm>

namespace pirx::strassen {
namespace {

constexpr std::size_t kPassQueries = 256;
// The bytes of residues of queries, and of words, that are made ready at a time.
constexpr std::uint64_t kScalarsBytes = std::uint64_t{25} << 20;
constexpr std::uint64_t kWordsBytes = std::uint64_t{14} << 20;
// Four bytes for each modulus make up to 192 bytes for each sum, which has 24 bytes in the answer. There is a
// limit for what exceeds 27/4 of the answer, and one for all sums.
constexpr std::uint64_t kExcessBytes = std::uint64_t{20} << 20;
constexpr std::uint64_t kAllSumsBytes = std::uint64_t{96} << 20;

}  // namespace

ResidueSizes residue_sizes(const Plan& plan, std::size_t moduli) {
  ResidueSizes sizes;
  const std::uint64_t tiles = div_up(plan.tile_queries, ResidueKernels::kQueries);
  const std::uint64_t panels = div_up(plan.tile_words, ResidueKernels::kColumns);
  sizes.scalars = moduli * residue_run_bytes(tiles * round_up(plan.chunk_rows, ResidueKernels::kRows));
  sizes.sums = moduli * panels * tiles * ResidueKernels::kQueries * ResidueKernels::kColumns * 4;
  if (plan.layout != Layout::kResidues) sizes.words = moduli * plan.run * residue_run_bytes(plan.chunk_rows);
  return sizes;
}

Plan make_residue_plan(const Shape& shape, int threads, const KernelTraits& kernel, std::size_t moduli,
                       bool kept) {
  Plan plan;
  plan.shape = shape;
  plan.kernel = kernel.name;
  plan.layout = kept ? Layout::kResidues : Layout::kRows;
  plan.way = Way::kResidues;
  plan.threads = std::max(threads, 1);
  constexpr std::uint64_t kQueries = ResidueKernels::kQueries, kColumns = ResidueKernels::kColumns;
  const std::uint64_t tiles = div_up(std::max<std::size_t>(shape.q, 1), kQueries);
  const std::uint64_t passes = div_up(tiles, kPassQueries / kQueries);
  plan.tile_queries = div_up(tiles, passes) * kQueries;

  const std::uint64_t panels = std::max<std::uint64_t>(div_up(shape.s, kColumns), 1);
  const std::uint64_t panel_sums = moduli * plan.tile_queries * kColumns * 4;
  const std::uint64_t panel_answers = plan.tile_queries * kColumns * kernel.sum_size;
  const std::uint64_t excess = panel_sums > panel_answers * 27 / 4 ? panel_sums - panel_answers * 27 / 4 : 1;
  const std::uint64_t fitting =
      std::clamp<std::uint64_t>(std::min(kExcessBytes / excess, kAllSumsBytes / panel_sums), 1, panels);
  plan.tile_words = div_up(panels, div_up(panels, fitting)) * kColumns;

  plan.chunk_rows = kResidueChunk;
  while (plan.chunk_rows > ResidueKernels::kRows &&
         (plan.chunk_rows / 2 >= shape.r || residue_sizes(plan, moduli).scalars > kScalarsBytes)) {
    plan.chunk_rows /= 2;
  }
  plan.tile_rows = std::min<std::size_t>(plan.chunk_rows, ResidueKernels::kRows);
  plan.run = plan.tile_words / kColumns;
  if (!kept) {
    plan.run =
        std::clamp<std::uint64_t>(kWordsBytes / (moduli * residue_run_bytes(plan.chunk_rows)), 1, plan.run);
    // All runs are about equally wide.
    plan.run = div_up(plan.tile_words / kColumns, div_up(plan.tile_words / kColumns, plan.run));
  }
  plan.workspace_bytes = residue_sizes(plan, moduli).total();
  return plan;
}

}  // namespace pirx::strassen
