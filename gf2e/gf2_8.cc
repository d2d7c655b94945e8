// SPDX-License-Identifier: Apache-2.0
// The kernel table of GF(2^8).
#include "pirx/gf2e/gf2_8.h"

#include "gf2e/kernels/kernels.h"

namespace pirx::gf2e {

static_assert(Field<Gf2_8> && Gf2_8::tag() == kTagGf2_8);

std::span<const Kernels<Gf2_8>> kernel_table(const Gf2_8&) {
  // Crossovers: one core of an Intel Xeon with AVX-512 (model 167), at 1 GiB as 32768 rows of 32 KiB, levels
  // in rows at 16 and 64 MiB, by bench/engine/engine_bench. Fused and fewest products: decision 0016.
  static const Kernels<Gf2_8> table[] = {
#if defined(PIRX_GF2E_X86)
    with_sliced("gfni512", kGf2_8Gfni512, kCpuGfni, kGf2_8Sliced512,
                {.direct = 4, .fused = 32, .stored_level = 128, .fewest_products = 33}),
    with_sliced("gfni256", kGf2_8Gfni256, kCpuGfni, kGf2_8Sliced256,
                {.direct = 4, .fused = 8, .fewest_products = 9}),
    with_sliced("avx2", kGf2_8Avx2, 0, kGf2_8SlicedAvx2,
                {.direct = 4, .fused = 8, .level_in_rows = 128, .fewest_products = 9}),
#endif
    kGf2_8Portable,
  };
  return table;
}

}  // namespace pirx::gf2e
