// SPDX-License-Identifier: Apache-2.0
// The kernels on AVX-512 (F, BW, VL, DQ): sixteen residues at a time.
#include "cpir/ring/kernels/kernels.h"

#if defined(PIRX_RING_X86)
#include <immintrin.h>

#include <array>

#include "pirx/base/cpu.h"
#define PIRX_RING_TARGET __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq")))
// After the macro.
#include "cpir/ring/kernels/ring_impl.h"

namespace pirx::cpir {
namespace {

using Lanes = std::array<std::int32_t, 16>;
/// Which block of 2t numbers, out of two vectors, is in which lane behind step<t>.
template <std::size_t t>
constexpr Lanes kBlocks{};
template <>
alignas(64) constexpr Lanes kBlocks<8>{0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1};
template <>
alignas(64) constexpr Lanes kBlocks<4>{0, 0, 0, 0, 2, 2, 2, 2, 1, 1, 1, 1, 3, 3, 3, 3};
template <>
alignas(64) constexpr Lanes kBlocks<2>{0, 0, 1, 1, 4, 4, 5, 5, 2, 2, 3, 3, 6, 6, 7, 7};
template <>
alignas(64) constexpr Lanes kBlocks<1>{0, 2, 1, 3, 8, 10, 9, 11, 4, 6, 5, 7, 12, 14, 13, 15};
/// Where the numbers of one vector, out of two, are behind step<1>: those of block b, one in each.
template <std::int32_t part>
constexpr Lanes natural_lanes() {
  Lanes lanes{};
  for (std::int32_t i = 0; i < 16; ++i) {
    const std::int32_t number = 16 * part + i;
    for (std::int32_t lane = 0; lane < 16; ++lane) {
      if (kBlocks<1>[static_cast<std::size_t>(lane)] == number / 2)
        lanes[static_cast<std::size_t>(i)] = lane + 16 * (number % 2);
    }
  }
  return lanes;
}
/// The other way: first (part 0) or second numbers of blocks.
template <std::int32_t part>
constexpr Lanes unnatural_lanes() {
  Lanes lanes{};
  for (std::size_t lane = 0; lane < 16; ++lane) lanes[lane] = 2 * kBlocks<1>[lane] + part;
  return lanes;
}
template <std::int32_t part>
alignas(64) constexpr Lanes kNatural = natural_lanes<part>();
template <std::int32_t part>
alignas(64) constexpr Lanes kUnnatural = unnatural_lanes<part>();

struct Ops {
  using V = __m512i;
  static constexpr std::size_t kLanes = 16, kTileQueries = 2, kTileColumns = 3;
  PIRX_RING_INLINE V load(const void* from) { return _mm512_loadu_si512(from); }
  PIRX_RING_INLINE void prefetch(const void* from) { _mm_prefetch(from, _MM_HINT_T0); }
  PIRX_RING_INLINE void store(void* to, V v) { _mm512_storeu_si512(to, v); }
  PIRX_RING_INLINE V set32(U32 x) { return _mm512_set1_epi32(static_cast<int>(x)); }
  PIRX_RING_INLINE V set64(U64 x) { return _mm512_set1_epi64(static_cast<long long>(x)); }
  PIRX_RING_INLINE V add32(V a, V b) { return _mm512_add_epi32(a, b); }
  PIRX_RING_INLINE V sub32(V a, V b) { return _mm512_sub_epi32(a, b); }
  PIRX_RING_INLINE V min32(V a, V b) { return _mm512_min_epu32(a, b); }
  PIRX_RING_INLINE V mullo32(V a, V b) { return _mm512_mullo_epi32(a, b); }
  PIRX_RING_INLINE V xor_(V a, V b) { return _mm512_xor_si512(a, b); }
  PIRX_RING_INLINE bool any_negative32(V a) { return _mm512_movepi32_mask(a) != 0; }
  PIRX_RING_INLINE V add_floats(V a, V b) {
    return _mm512_castps_si512(_mm512_add_ps(_mm512_castsi512_ps(a), _mm512_castsi512_ps(b)));
  }
  PIRX_RING_INLINE V sub_floats(V a, V b) {
    return _mm512_castps_si512(_mm512_sub_ps(_mm512_castsi512_ps(a), _mm512_castsi512_ps(b)));
  }
  PIRX_RING_INLINE V add64(V a, V b) { return _mm512_add_epi64(a, b); }
  PIRX_RING_INLINE V sub64(V a, V b) { return _mm512_sub_epi64(a, b); }
  PIRX_RING_INLINE V mul(V a, V b) { return _mm512_mul_epu32(a, b); }
  PIRX_RING_INLINE V high(V a) { return _mm512_srli_epi64(a, 32); }
  PIRX_RING_INLINE V up(V a) { return _mm512_slli_epi64(a, 32); }
  PIRX_RING_INLINE V srl64_by(V a, int n) { return _mm512_srl_epi64(a, _mm_cvtsi32_si128(n)); }
  PIRX_RING_INLINE V and_(V a, V b) { return _mm512_and_si512(a, b); }
  PIRX_RING_INLINE V or_(V a, V b) { return _mm512_or_si512(a, b); }
  PIRX_RING_INLINE V odd_even(V odd, V even) {
    return _mm512_mask_shuffle_epi32(odd, 0x5555, even, _MM_PERM_DDBB);
  }
  PIRX_RING_INLINE V negative_mask(V a) { return _mm512_srai_epi64(a, 63); }
  template <std::size_t t>
  PIRX_RING_INLINE void step(V& a, V& b) {
    const V old = a;
    if constexpr (t == 8) {
      a = _mm512_shuffle_i64x2(old, b, 0x44);
      b = _mm512_shuffle_i64x2(old, b, 0xEE);
    } else if constexpr (t == 4) {
      a = _mm512_shuffle_i64x2(old, b, 0x88);
      b = _mm512_shuffle_i64x2(old, b, 0xDD);
    } else if constexpr (t == 2) {
      a = _mm512_unpacklo_epi64(old, b);
      b = _mm512_unpackhi_epi64(old, b);
    } else {
      const __m512 even = _mm512_castsi512_ps(old), odd = _mm512_castsi512_ps(b);
      a = _mm512_castps_si512(_mm512_shuffle_ps(even, odd, 0x88));
      b = _mm512_castps_si512(_mm512_shuffle_ps(even, odd, 0xDD));
    }
  }
  template <std::size_t t>
  PIRX_RING_INLINE void back(V& a, V& b) {
    const V old = a;
    if constexpr (t == 4) {
      a = _mm512_permutex2var_epi64(old, _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11), b);
      b = _mm512_permutex2var_epi64(old, _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15), b);
    } else if constexpr (t == 1) {
      a = _mm512_unpacklo_epi32(old, b);
      b = _mm512_unpackhi_epi32(old, b);
    } else {
      step<t>(a, b);
    }
  }
  PIRX_RING_INLINE void natural(V& a, V& b) {
    const V first = _mm512_permutex2var_epi32(a, load(kNatural<0>.data()), b);
    b = _mm512_permutex2var_epi32(a, load(kNatural<1>.data()), b);
    a = first;
  }
  PIRX_RING_INLINE void unnatural(V& a, V& b) {
    const V first = _mm512_permutex2var_epi32(a, load(kUnnatural<0>.data()), b);
    b = _mm512_permutex2var_epi32(a, load(kUnnatural<1>.data()), b);
    a = first;
  }
  template <std::size_t t>
  PIRX_RING_INLINE V spread(const U32* w) {
    const auto wanted = static_cast<__mmask16>((1u << (16 / t)) - 1);
    return _mm512_permutexvar_epi32(load(kBlocks<t>.data()), _mm512_maskz_loadu_epi32(wanted, w));
  }
  PIRX_RING_INLINE void narrow_store(std::int32_t* to, V v) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm512_cvtepi64_epi32(v));
  }
  PIRX_RING_INLINE void store_interleaved(std::int64_t* to, V even, V odd) {
    const V low = _mm512_setr_epi64(0, 8, 1, 9, 2, 10, 3, 11);
    const V high = _mm512_setr_epi64(4, 12, 5, 13, 6, 14, 7, 15);
    store(to, _mm512_permutex2var_epi64(even, low, odd));
    store(to + 8, _mm512_permutex2var_epi64(even, high, odd));
  }
};

}  // namespace

const RingKernel kAvx512Kernel = Vectors<Ops>::table("avx512", kCpuAvx512);

}  // namespace pirx::cpir
#endif
