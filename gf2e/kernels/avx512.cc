// SPDX-License-Identifier: Apache-2.0
// GF(2) on AVX-512: a masked xor, whose timing depends on the shape only.
#include "gf2e/kernels/kernels.h"

#if defined(PIRX_GF2E_X86)

#define PIRX_GF2E_TARGET __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq")))
#include "gf2e/kernels/muladd_impl.h"
// Uses the macro above.
#include "gf2e/kernels/rows512.h"

namespace pirx::gf2e {
namespace {

struct Gf2Ops : Rows512 {
  using Elem = Gf2::Elem;
  using Coef = Vec;
  static constexpr int kQ = 4, kR = 4, kR1 = 8;

  PIRX_GF2E_INLINE Coef coef(Elem c) { return _mm512_set1_epi64(-std::int64_t{c}); }
  /// 0x78: a ^ (c & d).
  PIRX_GF2E_INLINE Vec muladd(Vec a, const Coef& c, Vec d) {
    return _mm512_ternarylogic_epi64(a, c, d, 0x78);
  }
};

}  // namespace

constinit const Kernels<Gf2> kGf2Avx512 = make_kernels<Gf2, Gf2Ops, Rows512>("avx512", kCpuAvx512, 64, 8192);

}  // namespace pirx::gf2e
#endif
