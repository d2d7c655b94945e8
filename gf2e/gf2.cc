// SPDX-License-Identifier: Apache-2.0
// The kernel table of GF(2).
#include "pirx/gf2e/gf2.h"

#include "gf2e/kernels/kernels.h"

namespace pirx::gf2e {

static_assert(Field<Gf2> && Gf2::tag() == kTagGf2);

std::span<const Kernels<Gf2>> kernel_table(const Gf2&) {
  // Crossovers: one core of an Intel Xeon with AVX-512 (model 167), at 1 GiB as 32768 rows of 32 KiB, levels
  // in rows at 16 and 64 MiB, by bench/engine/engine_bench.
  static const Kernels<Gf2> table[] = {
#if defined(PIRX_GF2E_X86)
    with_sliced("gfni512", kGf2Avx512, kCpuGfni, kGf2Sliced512, {.stored_level = 256}),
    kGf2Avx512,
    with_sliced("gfni256", kGf2Avx2, kCpuGfni, kGf2Sliced256, {}),
    with_sliced("avx2", kGf2Avx2, 0, kGf2SlicedAvx2, {}),
#endif
    kGf2Portable,
  };
  return table;
}

}  // namespace pirx::gf2e
