// SPDX-License-Identifier: Apache-2.0
// The kernel table of GF(2^16).
#include "pirx/gf2e/gf2_16.h"

#include "gf2e/kernels/kernels.h"

namespace pirx::gf2e {

static_assert(Field<Gf2_16> && Gf2_16::tag() == kTagGf2_16);

std::span<const Kernels<Gf2_16>> kernel_table(const Gf2_16&) {
  // Crossovers: one core of an Intel Xeon with AVX-512 (model 167), at 1 GiB as 32768 rows of 32 KiB, levels
  // in rows at 16 and 64 MiB, by bench/engine/engine_bench. Fused and fewest products: decision 0016.
  static const Kernels<Gf2_16> table[] = {
#if defined(PIRX_GF2E_X86)
    with_sliced("gfni512", kGf2_16Gfni512, kCpuGfni, kGf2_16Sliced512,
                {.direct = 4, .fused = 32, .stored_level = 128, .fewest_products = 33}),
    with_sliced("gfni256", kGf2_16Avx2, kCpuGfni, kGf2_16Sliced256,
                {.direct = 4, .fused = 8, .fewest_products = 9}),
    with_sliced("avx2", kGf2_16Avx2, 0, kGf2_16SlicedAvx2,
                {.direct = 2, .level_in_rows = 64, .fewest_products = 1}),
#endif
    kGf2_16Portable,
  };
  return table;
}

}  // namespace pirx::gf2e
