// SPDX-License-Identifier: Apache-2.0
// Products of residues on AMX: tdpbsud multiplies 16 x 64 bytes by 64 x 16 bytes and adds the result to 16 x
// 16 sums.
#include "kernels.h"

#if defined(PIRX_FP_X86)

#include <immintrin.h>

#include <algorithm>

#include "residues_vnni.h"

namespace pirx::fp {
namespace {

#define PIRX_TARGET_AMX __attribute__((target("amx-tile,amx-int8")))
#define PIRX_INLINE_AMX PIRX_TARGET_AMX inline __attribute__((always_inline))

constexpr std::size_t kBlock = ResidueKernels::kBlockBytes;
constexpr std::size_t kSums = ResidueKernels::kQueries * ResidueKernels::kColumns;
// The blocks of two panels of D that stay in the first-level cache.
constexpr std::size_t kRun = 8;

/// Eight tiles of 16 rows of 64 bytes.
struct alignas(64) Config {
  std::uint8_t palette = 1, start = 0, reserved[14] = {};
  std::uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};
static_assert(sizeof(Config) == 64);
constexpr Config kConfig;

/// Prefetches the next blocks of D, some lines with every step.
struct Ahead {
  const std::byte* at[2];
  std::size_t left, lines;
  void fetch() {
    const std::size_t count = std::min(lines, left);
    for (std::size_t i = 0; i < count; ++i) {
      _mm_prefetch(reinterpret_cast<const char*>(at[0]), _MM_HINT_T1);
      _mm_prefetch(reinterpret_cast<const char*>(at[1]), _MM_HINT_T1);
      at[0] += 64;
      at[1] += 64;
    }
    left -= count;
  }
};

/// Two tiles of queries by two panels of D: registers 0 to 3 hold the sums, 4 and 5 the queries, 6 and 7 D.
template <bool kTwoTiles, bool kTwoPanels>
PIRX_INLINE_AMX void multiply_tiles(std::size_t blocks, const std::byte* A, std::size_t tile_stride,
                                    const std::byte* D, std::size_t panel_stride, std::int32_t* sums,
                                    std::size_t sums_stride, Ahead& ahead) {
  _tile_loadd(0, sums, 64);
  if (kTwoTiles) _tile_loadd(1, sums + kSums, 64);
  if (kTwoPanels) _tile_loadd(2, sums + sums_stride, 64);
  if (kTwoTiles && kTwoPanels) _tile_loadd(3, sums + sums_stride + kSums, 64);
  for (std::size_t block = 0; block < blocks; ++block) {
    ahead.fetch();
    _tile_loadd(4, A + block * kBlock, 64);
    _tile_loadd(6, D + block * kBlock, 64);
    _tile_dpbsud(0, 4, 6);
    if (kTwoPanels) {
      _tile_loadd(7, D + panel_stride + block * kBlock, 64);
      _tile_dpbsud(2, 4, 7);
    }
    if (kTwoTiles) {
      _tile_loadd(5, A + tile_stride + block * kBlock, 64);
      _tile_dpbsud(1, 5, 6);
      if (kTwoPanels) _tile_dpbsud(3, 5, 7);
    }
  }
  _tile_stored(0, sums, 64);
  if (kTwoTiles) _tile_stored(1, sums + kSums, 64);
  if (kTwoPanels) _tile_stored(2, sums + sums_stride, 64);
  if (kTwoTiles && kTwoPanels) _tile_stored(3, sums + sums_stride + kSums, 64);
}

PIRX_TARGET_AMX void multiply(std::size_t tiles, std::size_t blocks, std::size_t panels, const std::byte* A,
                              std::size_t tile_stride, const std::byte* D, std::size_t panel_stride,
                              std::int32_t* sums) noexcept {
  _tile_loadconfig(&kConfig);
  for (std::size_t panel = 0; panel < panels; panel += 2) {
    const bool two_panels = panel + 1 < panels;
    for (std::size_t block = 0; block < blocks; block += kRun) {
      const std::size_t run = std::min(kRun, blocks - block);
      const std::byte* d = D + panel * panel_stride + block * kBlock;
      const std::size_t steps = (tiles + 1) / 2 * run, lines = kRun * kBlock / 64;
      Ahead ahead{{d + run * kBlock, d + run * kBlock + (two_panels ? panel_stride : 0)},
                  lines,
                  (lines + steps - 1) / steps};
      for (std::size_t tile = 0; tile < tiles; tile += 2) {
        const std::byte* a = A + tile * tile_stride + block * kBlock;
        std::int32_t* out = sums + (panel * tiles + tile) * kSums;
        const bool two_tiles = tile + 1 < tiles;
        if (two_tiles && two_panels) {
          multiply_tiles<true, true>(run, a, tile_stride, d, panel_stride, out, tiles * kSums, ahead);
        } else if (two_tiles) {
          multiply_tiles<true, false>(run, a, tile_stride, d, panel_stride, out, tiles * kSums, ahead);
        } else if (two_panels) {
          multiply_tiles<false, true>(run, a, tile_stride, d, panel_stride, out, tiles * kSums, ahead);
        } else {
          multiply_tiles<false, false>(run, a, tile_stride, d, panel_stride, out, tiles * kSums, ahead);
        }
      }
    }
  }
  _tile_release();
}

}  // namespace

constinit const ResidueKernels kResiduesAmx = {
    // to[m][k] = from[k] mod modulus m, in [-128, 127].
    .scalars = vnni::scalars,
    // to[m][k][j] = from[k][j] mod modulus m, in [0, 255].
    .words = vnni::words,
    // sums[i][j] += A[i][0] D[0][j] + A[i][1] D[1][j] + ..., modulo one modulus.
    .multiply = multiply,
    // limbs[j] = the integer that is from[m][j] modulo each modulus m.
    .combine = vnni::combine};

}  // namespace pirx::fp

#endif
