// SPDX-License-Identifier: Apache-2.0
// Products modulo powers of two on AMX: tdpbsud multiplies 16 x 64 bytes by 64 x 16 bytes and adds the result
// to 16 x 16 sums, modulo 2^32. For plane i the tile of queries begins i digits earlier, so that each product
// falls on its sum: the spare lines are zero, and the last i digits are left out.
#include "integers.h"

#if defined(PIRX_FP_X86)

#include <immintrin.h>

#include <algorithm>

#include "integers_vnni.h"

namespace pirx::fp {
namespace amx {
namespace {

#define PIRX_TARGET_AMX __attribute__((target("amx-tile,amx-int8")))
#define PIRX_INLINE_AMX PIRX_TARGET_AMX inline __attribute__((always_inline))

constexpr std::size_t kBlock = IntegerKernels::kBlockBytes, kColumns = IntegerKernels::kColumns;

/// Six tiles of as many rows as a group of queries has, and two of 16; rows of 64 bytes.
struct alignas(64) Config {
  explicit Config(std::size_t lines) {
    for (std::size_t i = 0; i < 6; ++i) rows[i] = static_cast<std::uint8_t>(lines);
  }
  std::uint8_t palette = 1, start = 0, reserved[14] = {};
  std::uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  std::uint8_t rows[16] = {0, 0, 0, 0, 0, 0, 16, 16};
};
static_assert(sizeof(Config) == 64);

/// The places of one product, in bytes and in sums.
struct Tiles {
  std::size_t blocks, planes;
  std::size_t plane_lines;  ///< the bytes of a digit of a group
  std::size_t group_block, group_stride, panel_stride;
  std::size_t group_sums, panel_sums;
};

/// Two groups of queries by two panels of D: registers 0 to 3 hold the sums, 4 and 5 the queries, 6 and 7 D.
template <bool kTwoGroups, bool kTwoPanels>
PIRX_INLINE_AMX void multiply_tiles(const Tiles& at, const std::byte* A, const std::byte* D,
                                    std::uint32_t* sums) {
  _tile_loadd(0, sums, 64);
  if (kTwoGroups) _tile_loadd(1, sums + at.group_sums, 64);
  if (kTwoPanels) _tile_loadd(2, sums + at.panel_sums, 64);
  if (kTwoGroups && kTwoPanels) _tile_loadd(3, sums + at.panel_sums + at.group_sums, 64);
  for (std::size_t block = 0; block < at.blocks; ++block) {
    for (std::size_t i = 0; i < at.planes; ++i) {
      const std::byte* const a = A + block * at.group_block - i * at.plane_lines;
      const std::byte* const d = D + (block * at.planes + i) * kBlock;
      _tile_loadd(4, a, 64);
      _tile_loadd(6, d, 64);
      _tile_dpbsud(0, 4, 6);
      if (kTwoPanels) {
        _tile_loadd(7, d + at.panel_stride, 64);
        _tile_dpbsud(2, 4, 7);
      }
      if (kTwoGroups) {
        _tile_loadd(5, a + at.group_stride, 64);
        _tile_dpbsud(1, 5, 6);
        if (kTwoPanels) _tile_dpbsud(3, 5, 7);
      }
    }
  }
  _tile_stored(0, sums, 64);
  if (kTwoGroups) _tile_stored(1, sums + at.group_sums, 64);
  if (kTwoPanels) _tile_stored(2, sums + at.panel_sums, 64);
  if (kTwoGroups && kTwoPanels) _tile_stored(3, sums + at.panel_sums + at.group_sums, 64);
}

PIRX_TARGET_AMX void multiply(const IntegerKernels::Product& product) noexcept {
  constexpr std::size_t kSpare = IntegerKernels::kMostPlanes - 1;
  const std::size_t queries = kColumns / product.digits, lines = queries * product.digits;
  const Config config(lines);
  _tile_loadconfig(&config);
  const Tiles at{
      product.blocks,       product.planes,       queries * 64,     (kSpare + product.digits) * queries * 64,
      product.group_stride, product.panel_stride, lines * kColumns, product.groups * lines * kColumns};
  for (std::size_t panel = 0; panel < product.panels; panel += 2) {
    const bool two_panels = panel + 1 < product.panels;
    const std::byte* const d = product.D + panel * product.panel_stride;
    // The next D, an equal part with every step.
    const std::size_t all = product.next == nullptr ? 0 : product.blocks * product.planes * kBlock;
    const std::size_t steps = (product.groups + 1) / 2, part = (all / 64 + steps - 1) / steps * 64;
    for (std::size_t group = 0, done = 0; group < product.groups; group += 2, done += part) {
      for (std::size_t i = done; i < std::min(all, done + part); i += 64) {
        const std::byte* const next = product.next + panel * product.panel_stride + i;
        _mm_prefetch(reinterpret_cast<const char*>(next), _MM_HINT_T1);
        if (two_panels) _mm_prefetch(reinterpret_cast<const char*>(next + product.panel_stride), _MM_HINT_T1);
      }
      const std::byte* const a = product.A + group * product.group_stride + kSpare * at.plane_lines;
      std::uint32_t* const sums = product.sums + panel * at.panel_sums + group * at.group_sums;
      const bool two_groups = group + 1 < product.groups;
      if (two_groups && two_panels) {
        multiply_tiles<true, true>(at, a, d, sums);
      } else if (two_groups) {
        multiply_tiles<true, false>(at, a, d, sums);
      } else if (two_panels) {
        multiply_tiles<false, true>(at, a, d, sums);
      } else {
        multiply_tiles<false, false>(at, a, d, sums);
      }
    }
  }
  _tile_release();
}

}  // namespace
}  // namespace amx

constinit const IntegerKernels kIntegersAmx = {.name = "amx",
                                               .needs = kCpuAvx512 | kCpuAvx512Vnni | kCpuAmxInt8,
                                               .run = 8,
                                               .tiles = true,
                                               // to[i][k][j] = byte i of from[k][j] + half its range.
                                               .pack = vnni::pack_integers,
                                               // sums[i + j] += A[j] D[i], byte by byte.
                                               .multiply = amx::multiply};

}  // namespace pirx::fp

#endif
