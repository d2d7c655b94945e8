// SPDX-License-Identifier: Apache-2.0
// Bit-sliced kernels on 512-bit vectors.
#include "gf2e/kernels/kernels.h"

#if defined(PIRX_GF2E_X86)
#include <immintrin.h>

#define PIRX_GF2E_ISA "avx512f,avx512bw,avx512vl,avx512dq,gfni"
#include "gf2e/kernels/sliced_impl.h"
// Uses the macro above.
#include "gf2e/kernels/sliced_gfni.h"

namespace pirx::gf2e {
namespace {

struct Vectors {
  using Vec = __m512i;
  static constexpr std::size_t kBytes = 64;
  static constexpr std::size_t kTile = 4, kTileVecs = 4, kFusedVecs = 2;

  PIRX_GF2E_INLINE Vec load(const std::byte* from) { return _mm512_loadu_si512(from); }
  PIRX_GF2E_INLINE void store(std::byte* to, Vec v) { _mm512_storeu_si512(to, v); }
  PIRX_GF2E_INLINE Vec xor3(Vec a, Vec b, Vec c) { return _mm512_ternarylogic_epi64(a, b, c, 0x96); }
  PIRX_GF2E_INLINE Vec affine(Vec x, Vec matrices) { return _mm512_gf2p8affine_epi64_epi8(x, matrices, 0); }
  PIRX_GF2E_INLINE Vec set64(std::uint64_t value) { return _mm512_set1_epi64(static_cast<long long>(value)); }
  template <int bits>
  PIRX_GF2E_INLINE Vec unpack_low(Vec a, Vec b) {
    if constexpr (bits == 8) return _mm512_unpacklo_epi8(a, b);
    if constexpr (bits == 16) return _mm512_unpacklo_epi16(a, b);
    if constexpr (bits == 32) return _mm512_unpacklo_epi32(a, b);
    return _mm512_unpacklo_epi64(a, b);
  }
  template <int bits>
  PIRX_GF2E_INLINE Vec unpack_high(Vec a, Vec b) {
    if constexpr (bits == 8) return _mm512_unpackhi_epi8(a, b);
    if constexpr (bits == 16) return _mm512_unpackhi_epi16(a, b);
    if constexpr (bits == 32) return _mm512_unpackhi_epi32(a, b);
    return _mm512_unpackhi_epi64(a, b);
  }
  PIRX_GF2E_INLINE Vec twice(Vec v) { return _mm512_add_epi8(v, v); }
  PIRX_GF2E_INLINE Vec negative(Vec v) { return _mm512_movm_epi8(_mm512_movepi8_mask(v)); }
  PIRX_GF2E_INLINE Vec reverse_bytes(Vec v) {
    return _mm512_shuffle_epi8(
        v, _mm512_broadcast_i32x4(_mm_setr_epi8(7, 6, 5, 4, 3, 2, 1, 0, 15, 14, 13, 12, 11, 10, 9, 8)));
  }
  PIRX_GF2E_INLINE Vec low_bytes(Vec a, Vec b) {
    const Vec mask = _mm512_set1_epi16(0xFF);
    return in_order(_mm512_packus_epi16(a & mask, b & mask));
  }
  PIRX_GF2E_INLINE Vec high_bytes(Vec a, Vec b) {
    return in_order(_mm512_packus_epi16(_mm512_srli_epi16(a, 8), _mm512_srli_epi16(b, 8)));
  }
  PIRX_GF2E_INLINE Vec words_first(Vec low, Vec high) {
    low = spread(low), high = spread(high);
    return _mm512_unpacklo_epi8(low, high);
  }
  PIRX_GF2E_INLINE Vec words_last(Vec low, Vec high) {
    low = spread(low), high = spread(high);
    return _mm512_unpackhi_epi8(low, high);
  }

 private:
  /// Puts qwords in order after packus, which works in lanes of 16 bytes. spread() is the inverse.
  PIRX_GF2E_INLINE Vec in_order(Vec v) {
    return _mm512_permutexvar_epi64(_mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7), v);
  }
  PIRX_GF2E_INLINE Vec spread(Vec v) {
    return _mm512_permutexvar_epi64(_mm512_setr_epi64(0, 4, 1, 5, 2, 6, 3, 7), v);
  }
};

using Ops = Gfni<Vectors>;

}  // namespace

constinit const SlicedKernels kGf2Sliced512 = make_sliced<Ops, Gf2>();
constinit const SlicedKernels kGf2_8Sliced512 = make_sliced<Ops, Gf2_8>();
constinit const SlicedKernels kGf2_16Sliced512 = make_sliced<Ops, Gf2_16>();

}  // namespace pirx::gf2e
#endif
