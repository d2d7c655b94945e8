// The kernel table of GF(2^16).
#include "pirx/gf2e/gf2_16.h"

#include "gf2e/kernels/kernels.h"

namespace pirx::gf2e {

static_assert(Field<Gf2_16> && Gf2_16::tag() == kTagGf2_16);

std::span<const Kernels<Gf2_16>> kernel_table(const Gf2_16&) {
  static const Kernels<Gf2_16> table[] = {
#if defined(PIRX_GF2E_X86)
    with_sliced("gfni512", kGf2_16Gfni512, kCpuGfni, kGf2_16Sliced512),
    with_sliced("gfni256", kGf2_16Avx2, kCpuGfni, kGf2_16Sliced256),
    with_sliced("avx2", kGf2_16Avx2, 0, kGf2_16SlicedAvx2),
#endif
    kGf2_16Portable,
  };
  return table;
}

}  // namespace pirx::gf2e
