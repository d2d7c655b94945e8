// SPDX-License-Identifier: Apache-2.0
// Products over the integers modulo powers of two, from products of bytes.
//
// A matrix D of words of up to four bytes is packed into planes: plane i holds byte i of each word plus half
// the range of words, as numbers of 0 to 255. A block is 64 rows of 16 columns of one plane and has 1024
// bytes: for every four rows, the bytes of these four rows side by side, column after column. A panel is 16
// columns: for every 64 rows, its planes' blocks.
//
// A number modulo 2^(8 digits) is a sum of digits of a byte, in [-128, 127], times powers of 256. Queries lie
// in groups. A group is, for every 64 rows, lines of 64 bytes: line (spare + j) * queries + k holds digit j
// of query k, and the lines before are zero.
//
// All products of digit j and plane i are added up in sum i + j; those of i + j >= digits are left out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "pirx/base/cpu.h"

namespace pirx::fp {

struct IntegerKernels {
  static constexpr std::size_t kRows = 64, kColumns = 16, kBlockBytes = 1024;
  static constexpr std::size_t kMostPlanes = 4;
  /// Panels of one product.
  static constexpr std::size_t kMostPanels = 4;
  /// Rows times planes that may be added up: 255 * 128 * kMostSummed < 2^31.
  static constexpr std::size_t kMostSummed = std::size_t{1} << 16;

  /// One product. The sums of panel p and group g are 32-bit numbers modulo 2^32 at
  /// sums + (p * groups + g) * digits * queries * 16: sum s of query k, of 16 columns, is number
  /// (s * queries + k) * 16 of them.
  struct Product {
    std::size_t digits = 0;  ///< 4, 6 or 8
    std::size_t planes = 0;  ///< 1 to 4
    std::size_t groups = 0, panels = 0, blocks = 0;
    const std::byte* A = nullptr;  ///< the first group
    std::size_t group_stride = 0;
    const std::byte* D = nullptr;  ///< the first panel
    std::size_t panel_stride = 0;
    const std::byte* next = nullptr;  ///< the D of the next product, which is fetched ahead; may be null
    std::uint32_t* sums = nullptr;
  };

  const char* name = nullptr;
  CpuFeatures needs = 0;
  std::size_t run = 0;  ///< blocks of all planes of a panel that one product should take
  bool tiles = false;   ///< groups of as many queries as fill 16 rows, with spare lines
  /// Writes a block of each plane of four panels, panel_stride bytes apart: `rows` <= kRows rows, `stride`
  /// bytes apart, of 64 words of `bytes` bytes. Missing rows are zero words.
  void (*pack)(std::size_t bytes, const std::byte* from, std::size_t stride, std::size_t rows, std::byte* to,
               std::size_t panel_stride) noexcept = nullptr;
  /// sums += A * D.
  void (*multiply)(const Product& product) noexcept = nullptr;

  /// The queries of a group, and its spare lines for each.
  std::size_t queries(std::size_t digits) const noexcept { return tiles ? kColumns / digits : 1; }
  std::size_t spare() const noexcept { return tiles ? kMostPlanes - 1 : 0; }
  /// The bytes of 64 rows of a group.
  std::size_t group_bytes(std::size_t digits) const noexcept {
    return (spare() + digits) * queries(digits) * kRows;
  }
};

/// All kernels of this build, fastest first. The last one needs nothing.
std::span<const IntegerKernels> integer_kernel_table() noexcept;
/// The fastest ones that need no other features.
const IntegerKernels& choose_integer_kernels(CpuFeatures features) noexcept;

}  // namespace pirx::fp
