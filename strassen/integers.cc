// SPDX-License-Identifier: Apache-2.0
// Cuts numbers into digits, and products into parts that fit the caches.
#include "strassen/integers.h"

#include <algorithm>
#include <array>

#include "pirx/base/result.h"

namespace pirx::strassen {
namespace {

using fp::IntegerKernels;

constexpr std::size_t kRows = IntegerKernels::kRows, kColumns = IntegerKernels::kColumns;
constexpr std::size_t kBlock = IntegerKernels::kBlockBytes, kPanels = IntegerKernels::kMostPanels;
// The digits of a chunk of rows stay in the second-level cache while they are multiplied by many columns.
constexpr std::size_t kChunkBytes = std::size_t{1} << 18;
// The sums of columns that are under way.
constexpr std::size_t kSumBytes = std::size_t{1} << 20;
constexpr std::size_t kMostRunPanels = 256;
constexpr std::uint64_t kHalves = 0x8080808080808080;

std::size_t round_digits(unsigned bytes) noexcept { return bytes <= 4 ? 4 : bytes <= 6 ? 6 : 8; }

std::uint64_t panel_bytes(const IntegerShape& shape) noexcept {
  return saturated_mul(div_up(shape.rows, kRows), kBlock * shape.word_bytes);
}

/// The panels whose sums are in the scratch memory at a time.
std::size_t run_panels(std::size_t panels, std::size_t sums) noexcept {
  const std::size_t fit = kSumBytes / (sums * sizeof(std::uint32_t)) / kPanels * kPanels;
  return std::min(panels, std::clamp(fit, kPanels, kMostRunPanels));
}

}  // namespace

const IntegerKernels& integer_kernels() noexcept {
  static const IntegerKernels& kernels = fp::choose_integer_kernels(allowed_cpu_features_or_die());
  return kernels;
}

std::uint64_t packed_bytes(const IntegerShape& shape) noexcept {
  return saturated_mul(panel_bytes(shape), div_up(shape.columns, kColumns));
}

void pack_integers(const IntegerShape& shape, const std::byte* words, std::size_t stride, std::size_t first,
                   std::size_t count, std::byte* packed, const IntegerKernels& kernels) noexcept {
  PIRX_CHECK(shape.word_bytes >= 1 && shape.word_bytes <= IntegerKernels::kMostPlanes);
  PIRX_CHECK(first % kRows == 0 && first <= shape.rows && count <= shape.rows - first);
  constexpr std::size_t kStrip = 4;  // panels
  const std::size_t bytes = shape.word_bytes, panel_stride = panel_bytes(shape);
  const std::size_t panels = div_up(shape.columns, kColumns);
  for (std::size_t row = 0; row < count; row += kRows) {
    const std::size_t rows = std::min(kRows, count - row);
    const std::byte* const from = words + row * stride;
    std::byte* const to = packed + (first + row) / kRows * bytes * kBlock;
    for (std::size_t panel = 0; panel < panels; panel += kStrip) {
      const std::byte* const strip = from + panel * kColumns * bytes;
      if ((panel + kStrip) * kColumns <= shape.columns) {
        kernels.pack(bytes, strip, stride, rows, to + panel * panel_stride, panel_stride);
        continue;
      }
      // The last columns, with zero words.
      constexpr std::size_t kWidth = kStrip * kColumns * IntegerKernels::kMostPlanes;
      alignas(64) std::array<std::byte, kRows*kWidth> in = {}, out;
      const std::size_t width = (shape.columns - panel * kColumns) * bytes;
      for (std::size_t i = 0; i < rows; ++i) std::memcpy(in.data() + i * kWidth, strip + i * stride, width);
      kernels.pack(bytes, in.data(), kWidth, rows, out.data(), bytes * kBlock);
      for (std::size_t p = panel; p < panels; ++p) {
        std::memcpy(to + p * panel_stride, out.data() + (p - panel) * bytes * kBlock, bytes * kBlock);
      }
    }
  }
}

IntegerQueries::Layout::Layout(std::size_t count, std::size_t rows, unsigned bytes,
                               const IntegerKernels& kernels) noexcept
    : digits(round_digits(bytes)),
      groups(div_up(count, kernels.queries(digits))),
      queries(kernels.queries(digits)),
      blocks(div_up(rows, kRows)),
      block_bytes(kernels.group_bytes(digits)) {
  constexpr std::size_t kMostBlocks = IntegerKernels::kMostSummed / IntegerKernels::kMostPlanes / kRows;
  const std::uint64_t all = saturated_mul(std::max<std::size_t>(groups, 1), block_bytes);
  chunk_blocks = std::clamp<std::size_t>(kChunkBytes / all, 1, kMostBlocks);
  chunks = div_up(blocks, chunk_blocks);
}

std::size_t IntegerQueries::Layout::blocks_of(std::size_t chunk) const noexcept {
  return std::min(chunk_blocks, blocks - chunk * chunk_blocks);
}

std::uint64_t IntegerQueries::memory(std::size_t count, std::size_t rows, unsigned bytes,
                                     const IntegerKernels& kernels) noexcept {
  const Layout layout(count, rows, bytes, kernels);
  const std::uint64_t digits = saturated_mul(saturated_mul(layout.groups, layout.blocks), layout.block_bytes);
  return saturated_add(digits, saturated_mul(count, sizeof(std::uint64_t)));
}

Result<IntegerQueries> IntegerQueries::create(std::size_t count, std::size_t rows, unsigned bytes,
                                              const IntegerKernels& kernels) {
  PIRX_CHECK(bytes >= 1 && bytes <= 8);
  IntegerQueries out(count, rows, bytes, kernels);
  const Layout& layout = out.layout_;
  PIRX_ASSIGN(out.digits_, AlignedBuffer::create(saturated_mul(saturated_mul(layout.groups, layout.blocks),
                                                               layout.block_bytes)));
  PIRX_ASSIGN(out.sums_, AlignedBuffer::create(saturated_mul(count, sizeof(std::uint64_t))));
  return out;
}

void IntegerQueries::set(std::size_t k, std::span<const std::uint64_t> numbers) noexcept {
  PIRX_CHECK(k < count_ && numbers.size() == rows_);
  const std::size_t group = k / layout_.queries, within = k % layout_.queries;
  std::uint64_t sum = 0;
  for (std::size_t chunk = 0; chunk < layout_.chunks; ++chunk) {
    std::byte* block = digits_.data() + layout_.offset(chunk) + group * layout_.group_bytes(chunk);
    const std::size_t first = chunk * layout_.chunk_blocks;
    for (std::size_t b = 0; b < layout_.blocks_of(chunk); ++b, block += layout_.block_bytes) {
      const std::size_t row = (first + b) * kRows, rows = std::min(kRows, rows_ - row);
      std::uint64_t shifted[kRows];  // their bytes are the digits + 128
      for (std::size_t i = 0; i < rows; ++i) {
        sum += numbers[row + i];
        shifted[i] = numbers[row + i] + kHalves;
      }
      for (std::size_t j = 0; j < layout_.digits; ++j) {
        std::byte* const line = block + ((kernels_->spare() + j) * layout_.queries + within) * kRows;
        for (std::size_t i = 0; i < rows; ++i) {
          line[i] = static_cast<std::byte>((shifted[i] >> (8 * j) & 0xff) ^ 0x80);
        }
      }
    }
  }
  sums()[k] = sum;
}

/// One product of packed columns.
class IntegerPass {
 public:
  IntegerPass(const IntegerShape& shape, const std::byte* packed, const IntegerQueries& queries,
              std::uint32_t* sums)
      : queries_(queries),
        kernels_(*queries.kernels_),
        layout_(queries.layout_),
        packed_(packed),
        planes_(shape.word_bytes),
        panel_stride_(panel_bytes(shape)),
        run_(std::max<std::size_t>(1, kernels_.run / planes_)),
        sums_(sums) {
    PIRX_CHECK(shape.rows == queries.rows_);
  }

  /// The sums of one panel.
  static std::size_t panel_sums(const IntegerQueries& queries) noexcept {
    return queries.layout_.groups * queries.layout_.queries * queries.layout_.digits * kColumns;
  }

  /// out[k * stride + j] for `columns` columns of `panels` panels. Their sums fit into sums_.
  void multiply(std::size_t first_panel, std::size_t panels, std::size_t columns, std::uint64_t* out,
                std::size_t stride) const {
    const std::size_t count = panels * panel_sums(queries_);
    std::fill_n(sums_, count, 0);
    for (std::size_t k = 0; k < queries_.count_; ++k) {
      const std::uint64_t halves = queries_.sums()[k] << (8 * planes_ - 1);
      std::fill_n(out + k * stride, columns, std::uint64_t{0} - halves);
    }
    const std::size_t most = IntegerKernels::kMostSummed / planes_ / kRows;  // blocks
    std::size_t summed = 0;
    for (std::size_t chunk = 0; chunk < layout_.chunks; ++chunk) {
      if (summed + layout_.blocks_of(chunk) > most) {
        finish(panels, columns, out, stride);
        std::fill_n(sums_, count, 0);
        summed = 0;
      }
      multiply_chunk(chunk, first_panel, panels);
      summed += layout_.blocks_of(chunk);
    }
    finish(panels, columns, out, stride);
    const std::uint64_t mask = ~std::uint64_t{0} >> (64 - 8 * queries_.bytes_);
    for (std::size_t k = 0; k < queries_.count_; ++k) {
      for (std::size_t j = 0; j < columns; ++j) out[k * stride + j] &= mask;
    }
  }

 private:
  void multiply_chunk(std::size_t chunk, std::size_t first_panel, std::size_t panels) const {
    const std::size_t blocks = layout_.blocks_of(chunk), first = chunk * layout_.chunk_blocks;
    const std::byte* const A = queries_.digits_.data() + layout_.offset(chunk);
    for (std::size_t panel = 0; panel < panels; panel += kPanels) {
      for (std::size_t block = 0; block < blocks; block += run_) {
        const std::size_t run = std::min(run_, blocks - block);
        // The next run, or the next panels' first, or this chunk's panels in the next chunk.
        const std::byte* const next = block + run < blocks ? at(first_panel + panel, first + block + run)
                                      : panel + kPanels < panels   ? at(first_panel + panel + kPanels, first)
                                      : chunk + 1 < layout_.chunks ? at(first_panel, first + blocks)
                                                                   : nullptr;
        kernels_.multiply({.digits = layout_.digits,
                           .planes = planes_,
                           .groups = layout_.groups,
                           .panels = std::min(kPanels, panels - panel),
                           .blocks = run,
                           .A = A + block * layout_.block_bytes,
                           .group_stride = layout_.group_bytes(chunk),
                           .D = at(first_panel + panel, first + block),
                           .panel_stride = panel_stride_,
                           .next = next,
                           .sums = sums_ + panel * panel_sums(queries_)});
      }
    }
  }

  const std::byte* at(std::size_t panel, std::size_t block) const {
    return packed_ + panel * panel_stride_ + block * planes_ * kBlock;
  }

  /// Adds the sums to the answers.
  void finish(std::size_t panels, std::size_t columns, std::uint64_t* out, std::size_t stride) const {
    for (std::size_t panel = 0; panel < panels; ++panel) {
      const std::size_t width = std::min(kColumns, columns - panel * kColumns);
      for (std::size_t k = 0; k < queries_.count_; ++k) {
        const std::size_t group = k / layout_.queries, within = k % layout_.queries;
        const std::uint32_t* const sums =
            sums_ + (panel * layout_.groups + group) * layout_.queries * layout_.digits * kColumns;
        std::uint64_t total[kColumns] = {};
        for (std::size_t s = 0; s < layout_.digits; ++s) {
          const std::uint32_t* const of = sums + (s * layout_.queries + within) * kColumns;
          for (std::size_t j = 0; j < kColumns; ++j) {
            const auto value = static_cast<std::int64_t>(static_cast<std::int32_t>(of[j]));
            total[j] += static_cast<std::uint64_t>(value) << (8 * s);
          }
        }
        std::uint64_t* const to = out + k * stride + panel * kColumns;
        for (std::size_t j = 0; j < width; ++j) to[j] += total[j];
      }
    }
  }

  const IntegerQueries& queries_;
  const IntegerKernels& kernels_;
  const IntegerQueries::Layout& layout_;
  const std::byte* packed_;
  std::size_t planes_, panel_stride_;
  std::size_t run_;  ///< blocks of one product
  std::uint32_t* sums_;
};

std::size_t multiply_scratch_bytes(const IntegerShape&, const IntegerQueries& queries,
                                   std::size_t columns) noexcept {
  const std::size_t sums = IntegerPass::panel_sums(queries);
  if (sums == 0) return 0;
  return run_panels(div_up(columns, kColumns), sums) * sums * sizeof(std::uint32_t) + 64;
}

void multiply_integers(const IntegerShape& shape, const std::byte* packed, const IntegerQueries& queries,
                       std::size_t first, std::size_t columns, std::uint64_t* out, std::size_t stride,
                       MutableByteSpan scratch) {
  if (columns == 0 || queries.count() == 0) return;
  PIRX_CHECK(shape.word_bytes >= 1 && shape.word_bytes <= IntegerKernels::kMostPlanes);
  PIRX_CHECK(first % kColumns == 0 && first <= shape.columns && columns <= shape.columns - first);
  PIRX_CHECK(scratch.size() >= multiply_scratch_bytes(shape, queries, columns));
  auto* const sums =
      reinterpret_cast<std::uint32_t*>(round_up(reinterpret_cast<std::uintptr_t>(scratch.data()), 64));
  const IntegerPass pass(shape, packed, queries, sums);
  const std::size_t panels = div_up(columns, kColumns);
  const std::size_t run = run_panels(panels, IntegerPass::panel_sums(queries));
  for (std::size_t panel = 0; panel < panels; panel += run) {
    const std::size_t left = panel * kColumns;
    pass.multiply(first / kColumns + panel, std::min(run, panels - panel),
                  std::min(run * kColumns, columns - left), out + left, stride);
  }
}

}  // namespace pirx::strassen
