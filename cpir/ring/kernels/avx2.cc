// SPDX-License-Identifier: Apache-2.0
// The kernels on AVX2: eight residues at a time.
#include "cpir/ring/kernels/kernels.h"

#if defined(PIRX_RING_X86)
#include <immintrin.h>

#include "pirx/base/cpu.h"
#define PIRX_RING_TARGET __attribute__((target("avx2")))
// After the macro.
#include "cpir/ring/kernels/ring_impl.h"

namespace pirx::cpir {
namespace {

struct Ops {
  using V = __m256i;
  static constexpr std::size_t kLanes = 8, kTileQueries = 1, kTileColumns = 2;
  PIRX_RING_INLINE V load(const void* from) { return _mm256_loadu_si256(static_cast<const V*>(from)); }
  PIRX_RING_INLINE void prefetch(const void* from) { _mm_prefetch(from, _MM_HINT_T0); }
  PIRX_RING_INLINE void store(void* to, V v) { _mm256_storeu_si256(static_cast<V*>(to), v); }
  PIRX_RING_INLINE V set32(U32 x) { return _mm256_set1_epi32(static_cast<int>(x)); }
  PIRX_RING_INLINE V set64(U64 x) { return _mm256_set1_epi64x(static_cast<long long>(x)); }
  PIRX_RING_INLINE V add32(V a, V b) { return _mm256_add_epi32(a, b); }
  PIRX_RING_INLINE V sub32(V a, V b) { return _mm256_sub_epi32(a, b); }
  PIRX_RING_INLINE V min32(V a, V b) { return _mm256_min_epu32(a, b); }
  PIRX_RING_INLINE V mullo32(V a, V b) { return _mm256_mullo_epi32(a, b); }
  PIRX_RING_INLINE V xor_(V a, V b) { return _mm256_xor_si256(a, b); }
  PIRX_RING_INLINE bool any_negative32(V a) { return _mm256_movemask_ps(_mm256_castsi256_ps(a)) != 0; }
  PIRX_RING_INLINE V add_floats(V a, V b) {
    return _mm256_castps_si256(_mm256_add_ps(_mm256_castsi256_ps(a), _mm256_castsi256_ps(b)));
  }
  PIRX_RING_INLINE V sub_floats(V a, V b) {
    return _mm256_castps_si256(_mm256_sub_ps(_mm256_castsi256_ps(a), _mm256_castsi256_ps(b)));
  }
  PIRX_RING_INLINE V add64(V a, V b) { return _mm256_add_epi64(a, b); }
  PIRX_RING_INLINE V sub64(V a, V b) { return _mm256_sub_epi64(a, b); }
  PIRX_RING_INLINE V mul(V a, V b) { return _mm256_mul_epu32(a, b); }
  PIRX_RING_INLINE V high(V a) { return _mm256_srli_epi64(a, 32); }
  PIRX_RING_INLINE V up(V a) { return _mm256_slli_epi64(a, 32); }
  PIRX_RING_INLINE V srl64_by(V a, int n) { return _mm256_srl_epi64(a, _mm_cvtsi32_si128(n)); }
  PIRX_RING_INLINE V and_(V a, V b) { return _mm256_and_si256(a, b); }
  PIRX_RING_INLINE V or_(V a, V b) { return _mm256_or_si256(a, b); }
  PIRX_RING_INLINE V odd_even(V odd, V even) {
    return _mm256_blend_epi32(_mm256_srli_epi64(even, 32), odd, 0xAA);
  }
  PIRX_RING_INLINE V negative_mask(V a) { return _mm256_cmpgt_epi64(_mm256_setzero_si256(), a); }
  template <std::size_t t>
  PIRX_RING_INLINE void step(V& a, V& b) {
    const V old = a;
    if constexpr (t == 4) {
      a = _mm256_permute2x128_si256(old, b, 0x20);
      b = _mm256_permute2x128_si256(old, b, 0x31);
    } else if constexpr (t == 2) {
      a = _mm256_unpacklo_epi64(old, b);
      b = _mm256_unpackhi_epi64(old, b);
    } else {
      const __m256 even = _mm256_castsi256_ps(old), odd = _mm256_castsi256_ps(b);
      a = _mm256_castps_si256(_mm256_shuffle_ps(even, odd, 0x88));
      b = _mm256_castps_si256(_mm256_shuffle_ps(even, odd, 0xDD));
    }
  }
  template <std::size_t t>
  PIRX_RING_INLINE void back(V& a, V& b) {
    if constexpr (t == 1) {
      const V old = a;
      a = _mm256_unpacklo_epi32(old, b);
      b = _mm256_unpackhi_epi32(old, b);
    } else {
      step<t>(a, b);
    }
  }
  PIRX_RING_INLINE void natural(V& a, V& b) {
    back<1>(a, b);
    back<2>(a, b);
    back<4>(a, b);
  }
  PIRX_RING_INLINE void unnatural(V& a, V& b) {
    step<4>(a, b);
    step<2>(a, b);
    step<1>(a, b);
  }
  template <std::size_t t>
  PIRX_RING_INLINE V spread(const U32* w) {
    if constexpr (t == 1)
      return _mm256_permutevar8x32_epi32(load(w), _mm256_setr_epi32(0, 2, 1, 3, 4, 6, 5, 7));
    const auto* from = reinterpret_cast<const __m128i*>(w);
    if constexpr (t == 2) {
      return _mm256_permutevar8x32_epi32(_mm256_castsi128_si256(_mm_loadu_si128(from)),
                                         _mm256_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3));
    }
    return _mm256_permutevar8x32_epi32(_mm256_castsi128_si256(_mm_loadl_epi64(from)),
                                       _mm256_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1));
  }
  PIRX_RING_INLINE void narrow_store(std::int32_t* to, V v) {
    const V low = _mm256_permutevar8x32_epi32(v, _mm256_setr_epi32(0, 2, 4, 6, 0, 2, 4, 6));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm256_castsi256_si128(low));
  }
  PIRX_RING_INLINE void store_interleaved(std::int64_t* to, V even, V odd) {
    const V low = _mm256_unpacklo_epi64(even, odd), high = _mm256_unpackhi_epi64(even, odd);
    store(to, _mm256_permute2x128_si256(low, high, 0x20));
    store(to + 4, _mm256_permute2x128_si256(low, high, 0x31));
  }
};

}  // namespace

const RingKernel kAvx2Kernel = Vectors<Ops>::table("avx2", kCpuAvx2);

}  // namespace pirx::cpir
#endif
