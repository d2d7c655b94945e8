// SPDX-License-Identifier: Apache-2.0
// Bit-sliced kernels on 256-bit vectors, for CPUs with GFNI but without AVX-512.
#include "gf2e/kernels/kernels.h"

#if defined(PIRX_GF2E_X86)
#define PIRX_GF2E_ISA "avx2,gfni"
#include "gf2e/kernels/sliced_impl.h"
// Uses the macro above.
#include "gf2e/kernels/sliced_gfni.h"
#include "gf2e/kernels/sliced_ops256.h"

namespace pirx::gf2e {
namespace {

struct Vectors : Ops256 {
  static constexpr std::size_t kTile = 2, kTileVecs = 4, kFusedVecs = 1;

  PIRX_GF2E_INLINE Vec affine(Vec x, Vec matrices) { return _mm256_gf2p8affine_epi64_epi8(x, matrices, 0); }
};

using Ops = Gfni<Vectors>;

}  // namespace

constinit const SlicedKernels kGf2Sliced256 = make_sliced<Ops, Gf2>();
constinit const SlicedKernels kGf2_8Sliced256 = make_sliced<Ops, Gf2_8>();
constinit const SlicedKernels kGf2_16Sliced256 = make_sliced<Ops, Gf2_16>();

}  // namespace pirx::gf2e
#endif
