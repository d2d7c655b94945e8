// SPDX-License-Identifier: Apache-2.0
// The policy of the engine: how many levels of Strassen, which blocks, how many threads. This file only
// decides; engine_impl.h computes.
#include "strassen/plan.h"

#include <algorithm>

#include "strassen/scheme_rank47.h"

namespace pirx::strassen {
namespace {

// Sums of one panel of R that should stay in a core's cache while the rows of D pass by.
constexpr std::uint64_t kPanelBytes = std::uint64_t{1} << 18;
// Threads get panels of D at least this wide, so that no two of them share cache lines for long.
constexpr std::uint64_t kMinPanelBytes = 256;
// One more thread is woken for each this many products of bytes. For fewer it would not pay.
constexpr std::uint64_t kWorkPerThread = std::uint64_t{1} << 20;
// Panels are a multiple of this many words: whole cache lines for every size of word.
constexpr std::uint64_t kPanelUnit = 64;

/// The deepest recursion whose blocks are not empty.
int deepest(const Shape& shape) {
  int depth = 0;
  for (Shape at = shape; at.q >= kScheme.kM && at.r >= kScheme.kK && at.s >= kScheme.kN; ++depth) {
    at = {at.q / kScheme.kM, at.r / kScheme.kK, at.s / kScheme.kN};
  }
  return depth;
}

std::uint64_t power(std::uint64_t base, int exponent) {
  std::uint64_t result = 1;
  for (; exponent > 0; --exponent) result = saturated_mul(result, base);
  return result;
}

// Strassen on rows was measured to this depth.
constexpr int kMeasuredDepth = 3;
// Blocks that are thinner than the measured ones are not worth a sum.
constexpr std::size_t kMinBlockRows = 32;
constexpr std::size_t kMinBlockBytes = 512;

int auto_depth(const Shape& shape, const KernelTraits& kernel) {
  const std::size_t least = kernel.crossovers.level_in_rows;
  int depth = 0;
  while (least > 0 && depth < kMeasuredDepth && shape.q / power(kScheme.kM, depth + 1) >= least) ++depth;
  const auto too_thin = [&] {
    return shape.r / power(kScheme.kK, depth) < kMinBlockRows ||
           shape.s / power(kScheme.kN, depth) < kMinBlockBytes / kernel.sum_size;
  };
  while (depth > 0 && too_thin()) --depth;
  return depth;
}

}  // namespace

Plan make_plan(const Shape& shape, int depth, int threads, bool threads_forced, const KernelTraits& kernel) {
  Plan plan;
  plan.shape = shape;
  plan.kernel = kernel.name;
  plan.depth = std::min(depth >= 0 ? depth : auto_depth(shape, kernel), deepest(shape));

  const std::uint64_t q = std::max<std::uint64_t>(shape.q, 1);
  const std::uint64_t r = std::max<std::uint64_t>(shape.r, 1);
  const std::uint64_t s = std::max<std::uint64_t>(shape.s, 1);

  // Threads share columns, because then nothing has to be added up. If there are too few columns they share
  // rows.
  std::uint64_t wanted = static_cast<std::uint64_t>(std::max(threads, 1));
  if (!threads_forced) {
    const std::uint64_t work = saturated_mul(q, saturated_mul(r, saturated_mul(s, kernel.entry_size)));
    wanted = std::min(wanted, 1 + work / kWorkPerThread);
  }
  const std::uint64_t panels_at_most = div_up(saturated_mul(s, kernel.entry_size), kMinPanelBytes);
  plan.split_rows = panels_at_most < wanted && r / 2 > panels_at_most;
  wanted = std::min(wanted, plan.split_rows ? r / 2 : panels_at_most);
  plan.threads = static_cast<int>(wanted);

  // For few queries the panels are wide, so that D is read in long runs. A wider tile then has fewer rows.
  const std::uint64_t scale = power(2, plan.depth);
  const std::uint64_t tile_words = std::max<std::uint64_t>(
      {1, kernel.tile_bytes / kernel.entry_size, kPanelBytes / saturated_mul(q, kernel.sum_size)});
  const std::uint64_t sharing = plan.split_rows ? 1 : wanted;
  std::uint64_t panels = div_up(s, tile_words);
  panels = div_up(panels, sharing) * sharing;
  std::uint64_t words = div_up(s, panels);
  if (words < s && words > kPanelUnit) words = std::min(s, round_up(words, kPanelUnit));
  plan.tile_words = words;

  const std::uint64_t area =
      saturated_mul(std::max<std::size_t>(kernel.tile_rows, 1), std::max<std::size_t>(kernel.tile_bytes, 1));
  const std::uint64_t rows =
      std::max<std::uint64_t>({1, kernel.tile_rows, area / saturated_mul(words, kernel.entry_size)});
  plan.tile_rows = std::min(r, saturated_mul(rows, scale));

  const Shape tile{shape.q, plan.tile_rows, plan.tile_words};
  plan.depth = std::min(plan.depth, deepest(tile));
  plan.workspace_bytes =
      saturated_mul(wanted, recursion_workspace(plan.depth, tile, kernel.elem_size, kernel.sum_size));
  if (plan.split_rows) {
    const std::uint64_t partial = block_bytes(shape.q, shape.s, kernel.sum_size);
    plan.workspace_bytes = saturated_add(plan.workspace_bytes, saturated_mul(wanted - 1, partial));
  }
  return plan;
}

namespace {

// Row groups in a block: few enough that a block's sums of planes stay in the second-level cache, many enough
// that loading and storing the results beside it is cheap.
constexpr std::size_t kBlockGroups = 64;
constexpr std::size_t kBlockGroupsGf2 = 128;  // one product only
constexpr std::size_t kBlockGroupsDirect = 32;
// The bytes of matrices of queries that are made ready at a time.
constexpr std::uint64_t kMatricesBytes = std::uint64_t{32} << 20;
constexpr std::uint64_t kMatricesBytesGf2 = std::uint64_t{2} << 20;  // as large as the queries' bits
// The bytes of sums of a pass over D that should stay in the cache beside those matrices.
constexpr std::uint64_t kSumsBytes = std::uint64_t{1} << 20;
constexpr std::uint64_t kMostBlockBytes = std::uint64_t{6} << 20;  // matrices for one block of rows
constexpr std::size_t kMostRun = 4;
// Over GF(2) a panel has only 32 bytes of a row. Few queries' matrices take as long to come as a panel of D.
constexpr std::size_t kMostLongRun = 16;
constexpr std::size_t kMostQueries = 1024;
constexpr int kMostStoredDepth = 2;

std::size_t row_groups(std::size_t rows) { return static_cast<std::size_t>(div_up(rows, 16) * 2); }

std::size_t nominal_block(const Plan& plan, const SlicedKernels& sliced) {
  if (plan.way == Way::kDirect) return kBlockGroupsDirect;
  if (plan.way == Way::kFused) return SlicedKernels::fused_groups(sliced.planes);
  return sliced.planes == 1 ? kBlockGroupsGf2 : kBlockGroups;
}

/// The bytes of the matrices of `queries` queries for a block of rows.
std::uint64_t block_matrices(const Plan& plan, std::size_t queries, std::size_t block,
                             const SlicedKernels& sliced) {
  return saturated_mul(sliced.schemes[plan.scheme].products,
                       plane_bytes(div_up(queries, 8), block, sliced.matrix_bytes));
}

/// The bytes of all queries' matrices for Way::kDirect. If threads share the rows, of one thread's rows.
std::uint64_t direct_matrices(const Plan& plan, const SlicedKernels& sliced) {
  const std::uint64_t of_group =
      sliced.planes * std::max<std::size_t>(sliced.planes / 8, 1) * sliced.matrix_bytes;
  std::uint64_t groups = row_groups(plan.shape.r);
  if (plan.split_rows) groups = div_up(groups, static_cast<std::uint64_t>(plan.threads)) + 2;
  return saturated_mul(saturated_mul(plan.tile_queries, groups), of_group);
}

/// The queries of one pass over D if at most `most` fit. All passes have about the same number, a multiple of
/// the register tile `unit`.
std::size_t balanced_pass(std::size_t queries, std::size_t most, std::size_t unit) {
  const std::uint64_t passes = std::max<std::uint64_t>(div_up(queries, most), 1);
  return std::clamp<std::size_t>(round_up(div_up(queries, passes), unit), 1,
                                 std::min(most, std::max<std::size_t>(queries, 1)));
}

}  // namespace

SlicedSizes sliced_sizes(const Plan& plan, const SlicedKernels& sliced) {
  SlicedSizes sizes;
  sizes.block = nominal_block(plan, sliced);
  sizes.gathered = round_up(8 * 8 * sizes.block * scalar_bytes(sliced), 64);
  if (plan.way == Way::kDirect) {
    sizes.matrices = direct_matrices(plan, sliced);
    sizes.per_thread = sizes.gathered;
    return sizes;
  }
  const std::uint64_t query_groups = div_up(plan.tile_queries, 8);
  const std::uint64_t chunk = std::max<std::uint64_t>(plan.chunk_rows / 8 / sizes.block, 1);
  sizes.matrices = saturated_mul(chunk, block_matrices(plan, plan.tile_queries, sizes.block, sliced));
  const SlicedScheme& scheme = sliced.schemes[plan.scheme];
  sizes.sums = saturated_mul(scheme.products,
                             staggered(saturated_mul(query_groups, SlicedKernels::kPanelVectors * 64)));
  const std::uint64_t planes =
      saturated_mul(sliced.planes, plane_bytes(query_groups, sizes.block, sliced.matrix_bytes));
  const std::uint64_t formed =
      scheme.products / scheme.parts * staggered(sizes.block * SlicedKernels::kPanelVectors * 64);
  const std::uint64_t rows = 8 * plan.run * SlicedKernels::kPanelVectors * sliced.vector_bytes();
  sizes.per_thread = std::max(saturated_add(planes, sizes.gathered),
                              saturated_add(saturated_mul(plan.run, sizes.sums), std::max(formed, rows)));
  return sizes;
}

Plan make_sliced_plan(const Shape& shape, int threads, bool threads_forced, const KernelTraits& kernel,
                      const SlicedKernels& sliced) {
  Plan plan;
  plan.shape = shape;
  plan.kernel = kernel.name;
  plan.layout = Layout::kSliced;
  const std::size_t least = kernel.crossovers.fewest_products;
  if (least > 0 && shape.q >= least) plan.scheme = sliced.schemes.size() - 1;
  std::size_t most = kMostQueries;
  while (block_matrices(plan, most, kBlockGroups, sliced) > kMostBlockBytes) most /= 2;
  plan.tile_queries = balanced_pass(shape.q, most, 8 * sliced.tile);
  if (sliced.multiply_direct != nullptr && shape.q <= kernel.crossovers.direct &&
      direct_matrices(plan, sliced) <= kMatricesBytes) {
    plan.way = Way::kDirect;
  } else if (sliced.schemes[plan.scheme].multiply_fused != nullptr && shape.q <= kernel.crossovers.fused) {
    plan.way = Way::kFused;
  } else {
    plan.way = Way::kPlanes;
  }
  if (plan.way != Way::kDirect) plan.products = sliced.schemes[plan.scheme].products;

  std::uint64_t wanted = static_cast<std::uint64_t>(std::max(threads, 1));
  if (!threads_forced) {
    const std::uint64_t work = saturated_mul(
        std::max<std::size_t>(shape.q, 8), saturated_mul(shape.r, saturated_mul(shape.s, kernel.entry_size)));
    wanted = std::min(wanted, 1 + work / kWorkPerThread);
  }
  plan.tile_words = SlicedKernels::kPanelVectors * sliced.vector_bytes() / kernel.entry_size;
  const std::uint64_t pairs = std::max<std::uint64_t>(row_groups(shape.r) / 2, 1);
  const std::uint64_t panels = std::max<std::uint64_t>(div_up(shape.s, plan.tile_words), 1);
  plan.split_rows = panels < wanted && pairs > panels;
  wanted = std::min(wanted, plan.split_rows ? pairs : panels);
  plan.threads = static_cast<int>(wanted);

  SlicedSizes sizes = sliced_sizes(plan, sliced);
  const std::uint64_t share =
      plan.split_rows ? panels : panels / wanted;  // of one thread, in four runs or more
  plan.run =
      std::clamp<std::uint64_t>(std::min(kSumsBytes / std::max<std::uint64_t>(sizes.sums, 1), share / 4), 1,
                                sliced.planes == 1 || plan.way == Way::kFused ? kMostLongRun : kMostRun);
  plan.tile_rows = sizes.block * 8;
  const std::uint64_t sharing = plan.split_rows ? wanted : 1;
  const std::uint64_t matrices = block_matrices(plan, plan.tile_queries, sizes.block, sliced);
  const std::uint64_t chunks =
      std::max<std::uint64_t>((sliced.planes == 1 ? kMatricesBytesGf2 : kMatricesBytes) / sharing /
                                  std::max<std::uint64_t>(matrices, 1),
                              1);
  plan.chunk_rows = std::min(saturated_mul(chunks, plan.tile_rows),
                             round_up(std::max<std::uint64_t>(div_up(shape.r, sharing), 1), plan.tile_rows));

  sizes = sliced_sizes(plan, sliced);
  if (plan.split_rows) {
    plan.workspace_bytes = saturated_mul(
        wanted, saturated_add(sizes.total(1), block_bytes(plan.tile_queries, shape.s, kernel.sum_size)));
  } else {
    plan.workspace_bytes = sizes.total(wanted);
  }
  return plan;
}

namespace {

// Rows of a block: its values at one point stay in the first-level cache, at all points in the second.
constexpr std::size_t kToomRows = 64;
constexpr std::size_t kMostToomQueries = 256;

}  // namespace

bool prefers_toom(const Shape& shape, int depth, int threads, const KernelTraits& kernel,
                  const ToomTraits& toom) {
  // Threads share panels here. If there are far too few panels, Way::kRows is better, where threads can share
  // rows.
  const std::size_t least = kernel.crossovers.toom;
  return depth <= 0 && least > 0 && shape.q >= least && shape.r >= kToomRows &&
         div_up(shape.s, toom.columns) * 3 >= static_cast<std::uint64_t>(std::max(threads, 1));
}

ToomSizes toom_sizes(const Plan& plan, const ToomTraits& toom) {
  ToomSizes sizes;
  const std::uint64_t blocks = div_up(plan.chunk_rows, plan.tile_rows);
  sizes.values = block_bytes(plan.tile_queries * toom.points, blocks * plan.tile_rows, 8);
  sizes.sums = block_bytes(plan.tile_queries * toom.points, toom.columns, 16);
  sizes.per_thread = plan.run * sizes.sums + block_bytes(toom.points * plan.tile_rows, toom.columns, 8);
  return sizes;
}

Plan make_toom_plan(const Shape& shape, int threads, const KernelTraits& kernel, const ToomTraits& toom) {
  Plan plan;
  plan.shape = shape;
  plan.kernel = kernel.name;
  plan.way = Way::kToom;
  plan.tile_queries = balanced_pass(shape.q, kMostToomQueries, toom.tile);
  plan.tile_rows = std::min(kToomRows, toom.most_rows);
  plan.tile_words = toom.columns;
  const std::uint64_t panels = div_up(shape.s, toom.columns);
  plan.threads =
      static_cast<int>(std::min<std::uint64_t>(static_cast<std::uint64_t>(std::max(threads, 1)), panels));
  const std::uint64_t row_values = plan.tile_queries * toom.points * 8;
  plan.chunk_rows = static_cast<std::size_t>(
      std::max<std::uint64_t>(
          std::min({kMatricesBytes / row_values, toom.most_summed, round_up(shape.r, kToomRows)}) / kToomRows,
          1) *
      kToomRows);
  const ToomSizes one = toom_sizes(plan, toom);
  plan.run = std::clamp<std::size_t>(
      std::min(kSumsBytes / one.sums, panels / static_cast<std::uint64_t>(plan.threads) / 4), 1, kMostRun);
  const ToomSizes sizes = toom_sizes(plan, toom);
  plan.workspace_bytes = sizes.values + static_cast<std::uint64_t>(plan.threads) * sizes.per_thread;
  return plan;
}

StoredBlocks::StoredBlocks(const SlicedKernels& sliced, std::uint64_t matrix_rows,
                           std::uint64_t matrix_row_bytes, int depth)
    : rows(div_up(div_up(matrix_rows, power(2, depth)), 16) * 16),
      row_bytes(div_up(div_up(matrix_row_bytes, power(2, depth)), sliced.vector_bytes()) *
                sliced.vector_bytes()),
      parts(depth == 0   ? 1
            : depth == 1 ? kScheme.kRank
                         : kRank47.kRank) {
  static_assert(kMostStoredDepth == 2);
  if (depth > 0) return;
  rows = matrix_rows;
  row_bytes = matrix_row_bytes;
}

int stored_depth(const SlicedKernels& sliced, std::uint64_t rows, std::uint64_t row_bytes, int asked) {
  int depth = 0;
  while (depth < std::min(asked, kMostStoredDepth) && rows / power(2, depth + 1) >= 16 &&
         row_bytes / power(2, depth + 1) >= sliced.vector_bytes()) {
    ++depth;
  }
  return depth;
}

/// What lies in memory, so that a size_t holds it.
static Shape shape_of(std::uint64_t q, std::uint64_t r, std::uint64_t s) {
  return {static_cast<std::size_t>(q), static_cast<std::size_t>(r), static_cast<std::size_t>(s)};
}

Plan make_stored_plan(const Shape& shape, int depth, int stored, int threads, bool threads_forced,
                      const KernelTraits& kernel, const SlicedKernels& sliced) {
  if (stored == 0) return make_sliced_plan(shape, threads, threads_forced, kernel, sliced);
  const std::uint64_t split = power(2, stored), least = kernel.crossovers.stored_level;
  const bool asked = depth < 0 ? least > 0 && shape.q / split >= least : depth >= stored;
  const int levels = asked && shape.q >= 8 * split ? stored : 0;
  const std::uint64_t size = scalar_bytes(sliced);
  const StoredBlocks blocks(sliced, shape.r, saturated_mul(shape.s, size), stored);
  const Shape part = shape_of(div_up(shape.q, power(2, levels)), blocks.rows, blocks.row_bytes / size);
  // Way::kDirect writes whole batches of answers. It cannot leave out the rows with which blocks of Q are
  // padded.
  KernelTraits of_part = kernel;
  if (levels > 0) of_part.crossovers.direct = 0;
  Plan plan = make_sliced_plan(part, threads, threads_forced, of_part, sliced);
  plan.shape = shape;
  plan.depth = levels;
  plan.stored = stored;
  return plan;
}

Plan plan_of_part(const Plan& plan, const SlicedKernels& sliced) {
  Plan part = plan;
  if (plan.stored == 0) return part;
  const std::uint64_t size = scalar_bytes(sliced);
  const StoredBlocks blocks(sliced, plan.shape.r, saturated_mul(plan.shape.s, size), plan.stored);
  part.shape = shape_of(div_up(plan.shape.q, power(2, plan.depth)), blocks.rows, blocks.row_bytes / size);
  part.depth = 0;
  return part;
}

std::string Plan::to_string() const {
  static constexpr const char* kWays[] = {"", "-toom", "-residues", "", "-fused", "-direct"};
  const std::string read = layout == Layout::kSliced     ? "sliced"
                           : layout == Layout::kResidues ? "kept"
                                                         : "rows";
  return "q=" + std::to_string(shape.q) + " r=" + std::to_string(shape.r) + " s=" + std::to_string(shape.s) +
         " kernel=" + kernel + " layout=" + read + kWays[static_cast<std::size_t>(way)] +
         (products > 0 ? " products=" + std::to_string(products) : "") + " depth=" + std::to_string(depth) +
         (stored > 0 ? " stored=" + std::to_string(stored) : "") + " threads=" + std::to_string(threads) +
         " split=" + (split_rows ? "rows" : "columns") + " tile=" + std::to_string(tile_rows) + "x" +
         std::to_string(tile_words) + " workspace=" + std::to_string(workspace_bytes);
}

}  // namespace pirx::strassen
