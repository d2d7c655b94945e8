// The policy of the engine: how deep, in which blocks, on how many threads. It only decides; engine_impl.h
// does.
#include "strassen/plan.h"

#include <algorithm>
#include <string_view>

namespace pirx::strassen {
namespace {

// Sums of one panel of R that should stay in a core's cache while the rows of D pass by.
constexpr std::uint64_t kPanelBytes = std::uint64_t{1} << 18;
// Threads get panels of D at least this wide, so that no two of them share cache lines for long.
constexpr std::uint64_t kMinPanelBytes = 256;
// Byte products that make up for waking one more thread.
constexpr std::uint64_t kWorkPerThread = std::uint64_t{1} << 20;
// Panels are a multiple of this many words: whole cache lines for every size of word.
constexpr std::uint64_t kPanelUnit = 64;

constexpr std::uint64_t div_up(std::uint64_t a, std::uint64_t b) { return a / b + (a % b != 0); }

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

// Where Strassen measured faster than the plain product (bench/engine/engine_bench, 16 and 64 MiB, q = 64 and
// 256, depths 0 to 3, one core of an Intel Xeon with AVX-512): a level pays while its blocks keep this many
// queries. On the kernels that are not listed it measured no faster.
struct Measured {
  FieldTag field;
  std::string_view kernel;
  std::size_t block_queries;
};
constexpr Measured kMeasured[] = {
    {kTagGf2_8, "portable", 16},
    {kTagGf2_16, "portable", 16},
    {kTagGf2_8, "avx2", 128},
    {kTagGf2_16, "avx2", 64},
};
constexpr int kMeasuredDepth = 3;
// Blocks that are thinner than the measured ones are not worth a sum.
constexpr std::size_t kMinBlockRows = 32;
constexpr std::size_t kMinBlockBytes = 512;

int auto_depth(const Shape& shape, const KernelTraits& kernel) {
  for (const Measured& measured : kMeasured) {
    if (measured.field != kernel.field || measured.kernel != kernel.name) continue;
    int depth = 0;
    for (Shape block = shape; depth < kMeasuredDepth; ++depth) {
      block = {block.q / kScheme.kM, block.r / kScheme.kK, block.s / kScheme.kN};
      if (block.q < measured.block_queries || block.r < kMinBlockRows ||
          block.s < kMinBlockBytes / kernel.sum_size) {
        break;
      }
    }
    return depth;
  }
  return 0;
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

  // Threads share columns, which need no combining step, unless there are too few of them.
  std::uint64_t wanted = static_cast<std::uint64_t>(std::max(threads, 1));
  if (!threads_forced) {
    const std::uint64_t work = saturated_mul(q, saturated_mul(r, saturated_mul(s, kernel.entry_size)));
    wanted = std::min(wanted, 1 + work / kWorkPerThread);
  }
  const std::uint64_t panels_at_most = div_up(saturated_mul(s, kernel.entry_size), kMinPanelBytes);
  plan.split_rows = panels_at_most < wanted && r / 2 > panels_at_most;
  wanted = std::min(wanted, plan.split_rows ? r / 2 : panels_at_most);
  plan.threads = static_cast<int>(wanted);

  // Few queries take wide panels, so that D is read in long runs; the rows of a tile then give way to its
  // width.
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

std::string Plan::to_string() const {
  return "q=" + std::to_string(shape.q) + " r=" + std::to_string(shape.r) + " s=" + std::to_string(shape.s) +
         " kernel=" + kernel + " depth=" + std::to_string(depth) + " threads=" + std::to_string(threads) +
         " split=" + (split_rows ? "rows" : "columns") + " tile=" + std::to_string(tile_rows) + "x" +
         std::to_string(tile_words) + " workspace=" + std::to_string(workspace_bytes);
}

}  // namespace pirx::strassen
