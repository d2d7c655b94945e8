// SPDX-License-Identifier: Apache-2.0
// R = Q * D over GF(p) for many queries, by Toom-Cook (pirx/base/toom_kernels.h): evaluation at points, a
// product at each point, interpolation. D is not prepared: each block of it is evaluated when it is
// multiplied.
#pragma once

#include <algorithm>
#include <cstring>

#include "pirx/base/buffer.h"
#include "pirx/base/toom_kernels.h"
#include "src/base/threads.h"
#include "strassen/plan.h"

namespace pirx::strassen {

/// R = Q * D as the plan says. The caller has checked the shapes. ResourceExhausted: no memory for the
/// workspace.
template <class F>
Result<void> multiply_toom(const F& f, const ToomKernels<F>& kernels, ConstView<typename F::Elem> Q,
                           ConstView<std::byte> D, View<typename F::Sum> R, const Plan& plan) {
  using Sum = typename F::Sum;
  const ToomSizes sizes = toom_sizes(
      plan, {kernels.columns, kernels.points, kernels.tile, kernels.most_rows, kernels.most_summed});
  PIRX_ASSIGN(auto workspace, AlignedBuffer::create(plan.workspace_bytes));
  auto* values = reinterpret_cast<std::uint64_t*>(workspace.data());
  const std::size_t panels = div_up(R.cols, kernels.columns);
  const std::size_t runs = div_up(panels, plan.run);
  for (std::size_t i = 0; i < R.rows; ++i) std::fill_n(R.row(i), R.cols, Sum{});

  TimeLimit* const limit = TimeLimit::current();
  for (std::size_t first = 0; first < Q.rows; first += plan.tile_queries) {
    const std::size_t queries = std::min(plan.tile_queries, Q.rows - first);
    // The values of a block of queries at one point: tile after tile, and within a tile row after row.
    const auto block_of = [&](std::size_t b) {
      return values + b * kernels.points * plan.tile_queries * plan.tile_rows;
    };
    for (std::size_t start = 0; start < D.rows && !over(limit); start += plan.chunk_rows) {
      const std::size_t height = std::min(plan.chunk_rows, D.rows - start);
      const std::size_t blocks = div_up(height, plan.tile_rows);
      const auto rows_of = [&](std::size_t b) {
        return std::min(plan.tile_rows, height - b * plan.tile_rows);
      };
#pragma omp parallel num_threads(plan.threads)
      {
        std::byte* own = workspace.data() + sizes.values + this_thread() * sizes.per_thread;
        std::byte* evaluated = own + plan.run * sizes.sums;
#pragma omp for schedule(dynamic)
        for (std::size_t b = 0; b < blocks; ++b) {
          if (over(limit)) continue;
          const std::size_t rows = rows_of(b);
          for (std::size_t i = 0; i < queries; ++i) {
            const std::size_t tile = i / kernels.tile;
            const std::size_t width = std::min(kernels.tile, queries - tile * kernels.tile);
            kernels.evaluate_scalars(Q.row(first + i) + start + b * plan.tile_rows, rows,
                                     block_of(b) + tile * kernels.tile * rows + i % kernels.tile,
                                     queries * rows, width);
          }
        }
#pragma omp for schedule(dynamic)
        for (std::size_t run = 0; run < runs; ++run) {
          if (over(limit)) continue;
          const std::size_t begin = run * plan.run, end = std::min(panels, begin + plan.run);
          const auto sums_of = [&](std::size_t panel) { return own + (panel - begin) * sizes.sums; };
          const auto count_of = [&](std::size_t panel) {
            return std::min(kernels.columns, R.cols - panel * kernels.columns);
          };
          const std::size_t point_stride = queries * kernels.sum_bytes();
          std::memset(own, 0, plan.run * sizes.sums);
          for (std::size_t b = 0; b < blocks && !over(limit); ++b) {
            const std::size_t rows = rows_of(b);
            for (std::size_t panel = begin; panel < end; ++panel) {
              kernels.evaluate_words(
                  D.row(start + b * plan.tile_rows) + panel * kernels.columns * f.word_bytes(), D.stride,
                  rows, count_of(panel), evaluated, rows * kernels.value_bytes());
              for (std::size_t p = 0; p < kernels.points; ++p) {
                kernels.multiply(queries, rows, block_of(b) + p * queries * rows,
                                 evaluated + p * rows * kernels.value_bytes(),
                                 sums_of(panel) + p * point_stride);
              }
            }
          }
          for (std::size_t panel = begin; panel < end; ++panel) {
            for (std::size_t i = 0; i < queries; ++i) {
              kernels.finish(f, sums_of(panel) + i * kernels.sum_bytes(), point_stride, count_of(panel),
                             R.row(first + i) + panel * kernels.columns);
            }
          }
        }
      }
    }
  }
  return {};
}

}  // namespace pirx::strassen
