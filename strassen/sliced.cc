// SPDX-License-Identifier: Apache-2.0
// Products with a database in planes: threads, blocks of queries, and sums of planes in the cache.
#include "strassen/sliced.h"

#include <array>
#include <cstring>

#include "src/base/threads.h"

namespace pirx::strassen {
namespace {

constexpr std::size_t kLine = 64;

/// The bytes of a row from `column` on: 0 if the row is shorter.
std::size_t bytes_behind(std::size_t cols, std::size_t column) { return cols - std::min(cols, column); }

/// Writes the rows [row, row + rows) and columns [column, column + bytes) of a sum to rows of `bytes` bytes.
void gather(const SlicedKernels& kernels, Terms terms, std::size_t row, std::size_t rows, std::size_t column,
            std::size_t bytes, std::byte* out) noexcept {
  std::memset(out, 0, rows * bytes);
  for (const auto& term : terms) {
    const std::size_t here = std::min(bytes, bytes_behind(term.cols, column));
    if (here == 0) continue;
    for (std::size_t i = row; i < std::min(row + rows, term.rows); ++i) {
      kernels.add(term.row(i) + column, here, out + (i - row) * bytes);
    }
  }
}

/// The queries of one pass over D, or their answers: rows [first, first + rows) of what the plan multiplies.
template <class Views>
struct Pass {
  Views views;
  std::size_t first, rows;
};
using Queries = Pass<Terms>;
using Answers = Pass<Targets>;

class Product {
 public:
  Product(const SlicedKernels& kernels, const Plan& plan, Scalars scalars)
      : kernels_(kernels),
        plan_(plan),
        scheme_(kernels.schemes[plan.scheme]),
        scalars_(scalars),
        sizes_(sliced_sizes(plan, kernels)),
        fused_(plan.way == Way::kFused),
        row_bytes_(plan.shape.s * elem_bytes()) {}

  Result<void> run(std::span<const SlicedStep> steps) {
    PIRX_ASSIGN(workspace_, AlignedBuffer::create(plan_.workspace_bytes));
    for (const SlicedStep& step : steps) muladd(step);
    return {};
  }

 private:
  /// Computes one step. If threads share rows, each multiplies its own rows of D and has sums of its own.
  void muladd(const SlicedStep& step) noexcept {
    D_ = step.D;
    const std::size_t threads = static_cast<std::size_t>(plan_.threads);
    first_group_ = step.first_row / 8;
    const std::size_t groups = round_up(plan_.shape.r, 16) / 8;
    for (std::size_t at = 0; at < plan_.shape.q; at += plan_.tile_queries) {
      const std::size_t rows = std::min(plan_.tile_queries, plan_.shape.q - at);
      const Queries queries{step.Q, at, rows};
      const Answers answers{step.R, at, rows};
      if (!plan_.split_rows) {
        multiply(queries, answers, 0, groups, threads, 0);
        continue;
      }
      std::byte* partials = workspace_.data() + threads * sizes_.total(1);
      const std::uint64_t each = block_bytes(plan_.tile_queries, row_bytes_, 1);
      const std::size_t pairs = groups / 2;
#pragma omp parallel for num_threads(plan_.threads) schedule(static)
      for (std::size_t part = 0; part < threads; ++part) {
        const std::size_t first = pairs * part / threads * 2, last = pairs * (part + 1) / threads * 2;
        const View<std::byte> out{partials + part * each, rows, row_bytes_, row_bytes_};
        std::memset(out.data, 0, rows * row_bytes_);
        multiply(queries, {Targets(&out, 1), 0, rows}, first, last - first, 1, part);
      }
      for (std::size_t part = 0; part < threads; ++part) {
        for (std::size_t i = 0; i < rows; ++i) {
          add_row(partials + part * each + i * row_bytes_, row_bytes_, answers, i, 0);
        }
      }
    }
  }

  /// Adds `bytes` bytes to row i of every target, from `column` on. What has no place in a target is dropped.
  void add_row(const std::byte* from, std::size_t bytes, const Answers& R, std::size_t i,
               std::size_t column) const noexcept {
    for (const auto& target : R.views) {
      if (R.first + i >= target.rows) continue;
      const std::size_t here = std::min(bytes, bytes_behind(target.cols, column));
      if (here > 0) kernels_.add(from, here, target.row(R.first + i) + column);
    }
  }

  /// R += Q * D over the row groups [first, first + groups). For each chunk of rows it makes the queries'
  /// matrices and then multiplies every panel of D by them.
  void multiply(const Queries& Q, const Answers& R, std::size_t first, std::size_t groups,
                std::size_t threads, std::size_t team) noexcept {
    if (plan_.way == Way::kDirect) return direct(Q, R, first, groups, threads, team);
    const Region region{first, groups, (Q.rows + 7) / 8};
    const std::size_t blocks = div_up(groups, sizes_.block);
    const std::size_t chunk = std::max<std::size_t>(plan_.chunk_rows / 8 / sizes_.block, 1);
    const std::size_t panels = D_->panels();
    std::byte* space = workspace_.data() + team * sizes_.total(1);
    std::byte* per_thread = space + sizes_.matrices;
    for (std::size_t at = 0; at < blocks; at += chunk) {
      const std::size_t end = std::min(blocks, at + chunk);
#pragma omp parallel num_threads(static_cast <int>(threads)) if (threads > 1)
      {
        std::byte* own = per_thread + (threads > 1 ? this_thread() : 0) * sizes_.per_thread;
#pragma omp for schedule(dynamic)
        for (std::size_t b = at; b < end; ++b) {
          if (over(limit_)) continue;
          slice_queries(Q, region, b, space + (b - at) * matrices_bytes(region), own);
        }
#pragma omp for schedule(dynamic)
        for (std::size_t run = 0; run < panels; run += plan_.run) {
          multiply_run(R, region, run, std::min(panels, run + plan_.run), at, end, space, own);
        }
      }
    }
  }

  /// The row groups of D that are multiplied, in blocks of sizes_.block, and the number of groups of 8
  /// queries.
  struct Region {
    std::size_t first, groups, query_groups;
  };

  std::size_t matrices_bytes(const Region& region) const {
    return scheme_.products * plane_bytes(region.query_groups, sizes_.block, kernels_.matrix_bytes);
  }
  /// Groups of block `b`; the last may have fewer.
  std::size_t groups_in(const Region& region, std::size_t b) const {
    return std::min(sizes_.block, region.groups - b * sizes_.block);
  }

  void slice_queries(const Queries& Q, const Region& region, std::size_t b, std::byte* out,
                     std::byte* own) const noexcept {
    const std::size_t groups = groups_in(region, b), query_groups = region.query_groups;
    const std::size_t stride =
        plane_bytes(query_groups, fused_ ? sizes_.block : groups, kernels_.matrix_bytes);
    const bool bits = scalars_ == Scalars::kBits;
    const std::size_t group_bytes = bits ? 1 : 8 * elem_bytes();
    std::byte* gathered = own + sizes_.per_thread - sizes_.gathered;
    const std::size_t column = (region.first + b * sizes_.block) * group_bytes;
    // A single plane is the only sum of planes.
    auto* planes = reinterpret_cast<std::uint64_t*>(kernels_.planes == 1 ? out : own);
    // Tiles of query groups; for fused products single ones, of as many matrices as a full block has.
    const std::size_t tile = fused_ ? 1 : kernels_.tile, pitch = fused_ ? sizes_.block : groups;
    for (std::size_t g = 0; g < query_groups; ++g) {
      const std::size_t first = g / tile * tile;
      const std::size_t rows = std::min<std::size_t>(8, Q.rows - 8 * g);
      const std::size_t width = std::min(tile, query_groups - first);
      const Rows from = rows_of(Q, 8 * g, rows, column, groups * group_bytes, gathered);
      std::uint64_t* to = planes + (first * pitch + g % tile) * (kernels_.matrix_bytes / 8);
      if (bits) {
        kernels_.slice_bits(from.data, from.stride, from.rows, from.bytes, groups, to, width);
      } else {
        kernels_.slice_queries(from.data, from.stride, from.rows, from.bytes / elem_bytes(), groups, to,
                               stride / kernels_.matrix_bytes, width);
      }
    }
    if (kernels_.planes == 1) return;
    const std::size_t formed = scheme_.products / scheme_.parts;
    const std::size_t block_bytes = sizes_.block * kernels_.matrix_bytes;
    for (std::size_t part = 0; part < scheme_.parts; ++part) {
      if (!fused_) {
        scheme_.form(part, own, stride / kLine, kLine, stride, kLine, out + part * formed * stride, stride);
        continue;
      }
      for (std::size_t g = 0; g < query_groups; ++g) {
        scheme_.form(part, own + g * block_bytes, block_bytes / kLine, kLine, stride, kLine,
                     out + (g * scheme_.products + part * formed) * block_bytes, block_bytes);
      }
    }
  }

  /// Multiplies the blocks [begin, end) of rows by the panels [first, last) and adds the result to R. All
  /// panels of one block come first, so that the queries' matrices for the block stay in the cache.
  void multiply_run(const Answers& R, const Region& region, std::size_t first, std::size_t last,
                    std::size_t begin, std::size_t end, const std::byte* matrices,
                    std::byte* own) const noexcept {
    std::byte* formed = own + plan_.run * sizes_.sums;
    const auto sums_of = [&](std::size_t panel) { return own + (panel - first) * sizes_.sums; };
    for (std::size_t panel = first; panel < last; ++panel) std::memset(sums_of(panel), 0, sizes_.sums);
    for (std::size_t b = begin; b < end && !over(limit_); ++b) {
      const std::byte* A = matrices + (b - begin) * matrices_bytes(region);
      for (std::size_t panel = first; panel < last; ++panel) {
        Tile next{0, end};
        if (panel + 1 < last) {
          next = {panel + 1, b};
        } else if (b + 1 < end) {
          next = {first, b + 1};
        }
        multiply_tile(region, {panel, b}, next, end, A, sums_of(panel), formed);
      }
    }
    finish(R, region, first, last, own, formed);
  }

  /// A panel, and a block of rows.
  struct Tile {
    std::size_t panel, b;
  };

  void multiply_tile(const Region& region, const Tile& tile, const Tile& next, std::size_t end,
                     const std::byte* A, std::byte* sums, std::byte* formed_space) const noexcept {
    const std::size_t query_groups = region.query_groups;
    const std::size_t vectors = D_->vectors(tile.panel);
    const std::size_t row_bytes = vectors * SlicedKernels::kColumns;  // of a group in one plane
    const std::size_t group_bytes = kernels_.group_bytes(vectors);
    const std::size_t sums_stride = staggered(query_groups * row_bytes);
    const std::size_t formed = scheme_.products / scheme_.parts;
    const std::size_t groups = groups_in(region, tile.b);
    const std::size_t stride = plane_bytes(query_groups, groups, kernels_.matrix_bytes),
                      formed_stride = staggered(groups * row_bytes);
    const std::byte* from = panel(tile.panel) + (region.first + tile.b * sizes_.block) * group_bytes;
    std::span<const std::byte> behind;  // what is multiplied next
    if (next.b < end) {
      const std::size_t bytes = kernels_.group_bytes(D_->vectors(next.panel));
      behind = {panel(next.panel) + (region.first + next.b * sizes_.block) * bytes,
                groups_in(region, next.b) * bytes};
    }
    if (fused_) {
      scheme_.multiply_fused(query_groups, groups, vectors, reinterpret_cast<const std::uint64_t*>(A), from,
                             sums, behind);
      return;
    }
    // A register tile may be narrower than the panel.
    const std::size_t tiles =
        div_up(query_groups, kernels_.tile) * std::max<std::size_t>(row_bytes / kernels_.tile_bytes, 1);
    Ahead ahead(behind, scheme_.products, groups / 2 * tiles);
    for (std::size_t part = 0; part < scheme_.parts; ++part) {
      const std::byte* D = from;
      if (kernels_.planes > 1) {
        scheme_.form(part, from, groups, group_bytes, row_bytes, row_bytes, formed_space, formed_stride);
        D = formed_space;
      }
      for (std::size_t k = 0; k < formed; ++k) {
        const std::size_t product = part * formed + k;
        kernels_.multiply(query_groups, groups, vectors,
                          reinterpret_cast<const std::uint64_t*>(A + product * stride), D + k * formed_stride,
                          sums + product * sums_stride, ahead.next());
      }
    }
  }

  /// Fetches the next tile of D into the cache while this one is multiplied, some lines in each of the last
  /// calls: what came sooner would be gone again, as the matrices of a tile take more than the cache.
  class Ahead {
   public:
    /// `pairs`: the number of fetches in a call.
    Ahead(std::span<const std::byte> what, std::size_t calls, std::size_t pairs) noexcept
        : what_(what), pairs_(pairs) {
      if (what.empty()) return;
      const std::size_t lines = what.size() / kLine;
      lines_ = div_up(lines, calls * pairs);
      idle_ = calls - std::min<std::size_t>(calls, div_up(lines, lines_ * pairs));
    }
    FetchAhead next() noexcept {
      if (idle_ > 0) --idle_;
      if (idle_ > 0 || at_ >= what_.size()) return {nullptr, 0};
      const std::byte* at = what_.data() + at_;
      at_ += lines_ * pairs_ * kLine;
      return {at, lines_};
    }

   private:
    std::span<const std::byte> what_;
    std::size_t pairs_, lines_ = 0, at_ = 0;
    std::size_t idle_ = 0;  // calls before the first that fetches, and one
  };

  /// Turns the sums of the panels [first, last) into rows and adds them to every matrix of R.
  void finish(const Answers& R, const Region& region, std::size_t first, std::size_t last,
              const std::byte* sums, std::byte* rows_space) const noexcept {
    const std::size_t panel_bytes = SlicedKernels::kPanelVectors * kernels_.vector_bytes();
    const std::size_t width = (last - first) * panel_bytes;
    for (std::size_t g = 0; g < region.query_groups; ++g) {
      std::memset(rows_space, 0, 8 * width);
      for (std::size_t panel = first; panel < last; ++panel) {
        const std::size_t vectors = D_->vectors(panel);
        const std::size_t row_bytes = vectors * SlicedKernels::kColumns;
        scheme_.finish(sums + (panel - first) * sizes_.sums + g * (fused_ ? scheme_.products : 1) * row_bytes,
                       fused_ ? row_bytes : staggered(region.query_groups * row_bytes), vectors, 8,
                       vectors * kernels_.vector_bytes(), rows_space + (panel - first) * panel_bytes, width);
      }
      for (std::size_t i = 8 * g; i < std::min(8 * g + 8, R.rows); ++i) {
        add_row(rows_space + (i - 8 * g) * width, width, R, i, first * panel_bytes);
      }
    }
  }

  /// Way::kDirect: one matrix per plane and query, and no sums of planes. For few queries.
  void direct(const Queries& Q, const Answers& R, std::size_t first, std::size_t groups,
              [[maybe_unused]] std::size_t threads, std::size_t team) noexcept {
    const std::size_t elem = elem_bytes();
    const std::size_t each = kernels_.planes * elem;  // matrices of a group
    const std::size_t words = kernels_.matrix_bytes / 8;
    std::byte* space = workspace_.data() + team * sizes_.total(1);
    auto* A = reinterpret_cast<std::uint64_t*>(space);
    std::byte* gathered = space + sizes_.matrices + sizes_.per_thread - sizes_.gathered;
    const auto batch = [&](std::size_t i) { return std::min(kernels_.direct_tile, Q.rows - i); };
    const auto matrices_of = [&](std::size_t i, std::size_t g) {
      return A + (i * groups + g * batch(i)) * each * words;
    };
    for (std::size_t i = 0; i < Q.rows; i += kernels_.direct_tile) {
      for (std::size_t k = 0; k < batch(i); ++k) {
        for (std::size_t g = 0; g < groups; g += sizes_.block) {
          const std::size_t here = std::min(sizes_.block, groups - g);
          const Rows from = rows_of(Q, i + k, 1, 8 * (first + g) * elem, 8 * here * elem, gathered);
          kernels_.slice_direct(from.data, from.bytes / elem, here, batch(i),
                                matrices_of(i, g) + k * elem * words);
        }
      }
    }
    const std::size_t width = SlicedKernels::kPanelVectors * kernels_.vector_bytes();
#pragma omp parallel for num_threads(static_cast <int>(threads)) schedule(dynamic) if (threads > 1)
    for (std::size_t panel = 0; panel < D_->panels(); ++panel) {
      const std::size_t group_bytes = kernels_.group_bytes(D_->vectors(panel));
      for (std::size_t g = 0; g < groups && !over(limit_); g += sizes_.block) {
        const std::size_t here = std::min(sizes_.block, groups - g);
        for (std::size_t i = 0; i < Q.rows; i += kernels_.direct_tile) {
          for (const auto& target : R.views) {
            const std::size_t bytes = std::min(width, bytes_behind(target.cols, panel * width));
            if (bytes == 0) continue;
            kernels_.multiply_direct(batch(i), here, D_->vectors(panel), matrices_of(i, g),
                                     this->panel(panel) + (first + g) * group_bytes,
                                     target.row(R.first + i) + panel * width, target.stride, bytes);
          }
        }
      }
    }
  }

  struct Rows {
    const std::byte* data;
    std::size_t rows, bytes, stride;
  };
  /// The rows [row, row + rows) and columns [column, column + bytes) of the queries. They are borrowed if the
  /// queries are a single matrix, and added up in `space` if they are a sum of several.
  Rows rows_of(const Queries& Q, std::size_t row, std::size_t rows, std::size_t column, std::size_t bytes,
               std::byte* space) const noexcept {
    if (Q.views.size() != 1) {
      gather(kernels_, Q.views, Q.first + row, rows, column, bytes, space);
      return {space, rows, bytes, bytes};
    }
    const ConstView<std::byte>& only = Q.views[0];
    const std::size_t first = std::min(Q.first + row, only.rows);
    const std::size_t behind = bytes_behind(only.cols, column);
    rows = std::min(rows, only.rows - first);
    // There are no such bytes, so any address will do.
    if (rows == 0 || behind == 0) return {only.data, 0, 0, only.stride};
    return {only.row(first) + column, rows, behind, only.stride};
  }

  /// The groups of a panel from those of the step's first row on.
  const std::byte* panel(std::size_t panel) const noexcept {
    return D_->panel(panel) + first_group_ * kernels_.group_bytes(D_->vectors(panel));
  }
  std::size_t elem_bytes() const { return scalar_bytes(kernels_); }

  const SlicedKernels& kernels_;
  const Plan& plan_;
  const SlicedScheme& scheme_;
  const Scalars scalars_;
  const SlicedSizes sizes_;
  const bool fused_;
  const std::size_t row_bytes_;
  const SlicedMatrix* D_ = nullptr;
  std::size_t first_group_ = 0;
  TimeLimit* const limit_ = TimeLimit::current();
  AlignedBuffer workspace_;
};

}  // namespace

std::uint64_t SlicedMatrix::bytes(const SlicedKernels& kernels, std::size_t rows,
                                  std::uint64_t row_bytes) noexcept {
  const std::size_t vector = kernels.vector_bytes();
  const std::uint64_t vectors = div_up(row_bytes, vector);
  return saturated_mul(rows / 16 + (rows % 16 != 0), saturated_mul(vectors, 2 * kernels.group_bytes(1)));
}

Result<SlicedMatrix> SlicedMatrix::create(const SlicedKernels& kernels, std::size_t rows,
                                          std::size_t row_bytes) {
  SlicedMatrix out;
  PIRX_ASSIGN(out.data_, AlignedBuffer::create(SlicedMatrix::bytes(kernels, rows, row_bytes)));
  out.groups_ = round_up(rows, 16) / 8;
  out.vectors_ = div_up(row_bytes, kernels.vector_bytes());
  out.full_group_ = kernels.group_bytes(kMost);
  return out;
}

void SlicedMatrix::fill(const SlicedKernels& kernels, Terms D, [[maybe_unused]] int threads) noexcept {
  constexpr std::size_t kMostVectorBytes = 128;  // 16 planes
  PIRX_CHECK(kernels.vector_bytes() <= kMostVectorBytes);
  // Takes a few panels at a time, so that both D and the panels are read and written in runs.
  constexpr std::size_t kRunBytes = 4096;
  const std::size_t width = kMost * kernels.vector_bytes(), run_panels = kRunBytes / width;
  const std::size_t runs = div_up(panels(), run_panels);
  constexpr std::size_t kRunGroups = 64;
  const std::size_t heights = div_up(groups_, kRunGroups);
#pragma omp parallel for num_threads(threads) schedule(dynamic) if (threads > 1 && runs * heights > 1)
  for (std::size_t task = 0; task < runs * heights; ++task) {
    const std::size_t run = task / heights, first = task % heights * kRunGroups;
    alignas(kLine) std::array<std::byte, 8 * kMost * kMostVectorBytes> sum;
    for (std::size_t g = first; g < std::min(groups_, first + kRunGroups); ++g) {
      for (std::size_t panel = run * run_panels; panel < std::min(panels(), (run + 1) * run_panels);
           ++panel) {
        const std::size_t vectors = this->vectors(panel);
        std::byte* group = data_.data() + panel * groups_ * full_group_ + g * kernels.group_bytes(vectors);
        if (D.size() != 1) {
          gather(kernels, D, 8 * g, 8, panel * width, width, sum.data());
          kernels.slice(sum.data(), width, 8, width, vectors, group);
          continue;
        }
        const std::size_t row = std::min(8 * g, D[0].rows), behind = bytes_behind(D[0].cols, panel * width);
        const std::size_t height = behind == 0 ? 0 : std::min<std::size_t>(8, D[0].rows - row);
        kernels.slice(height == 0 ? D[0].data : D[0].row(row) + panel * width, D[0].stride, height, behind,
                      vectors, group);
      }
    }
  }
}

Result<void> muladd_sliced(const SlicedKernels& kernels, const Plan& plan, Scalars scalars,
                           std::span<const SlicedStep> steps) {
  PIRX_CHECK(scalars == Scalars::kElems || (kernels.slice_bits != nullptr && plan.way == Way::kPlanes));
  return Product(kernels, plan, scalars).run(steps);
}

}  // namespace pirx::strassen
