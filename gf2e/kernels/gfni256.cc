// SPDX-License-Identifier: Apache-2.0
// GF(2^8) on AVX2 with GFNI: vgf2p8mulb multiplies modulo 0x11B. There is no table, and timing depends on the
// shape only.
#include "gf2e/kernels/kernels.h"

#if defined(PIRX_GF2E_X86)

#define PIRX_GF2E_TARGET __attribute__((target("avx2,gfni")))
#include "gf2e/kernels/muladd_impl.h"
// Uses the macro above.
#include "gf2e/kernels/rows256.h"

namespace pirx::gf2e {
namespace {

struct Gf2_8Ops : Rows256 {
  using Elem = Gf2_8::Elem;
  using Coef = Vec;
  static constexpr int kQ = 2, kR = 4, kR1 = 8;

  PIRX_GF2E_INLINE Coef coef(Elem c) { return _mm256_set1_epi8(static_cast<char>(c)); }
  PIRX_GF2E_INLINE Vec muladd(Vec a, const Coef& c, Vec d) { return a ^ _mm256_gf2p8mul_epi8(d, c); }
};

}  // namespace

constinit const Kernels<Gf2_8> kGf2_8Gfni256 =
    make_kernels<Gf2_8, Gf2_8Ops, Rows256>("gfni256", kCpuAvx2 | kCpuGfni, 64, 8192);

}  // namespace pirx::gf2e
#endif
