// AVX-512 (F, BW, VL, DQ): sixteen residues at a time.
#include "cpir/spiral/kernels/kernels.h"

#if defined(PIRX_SPIRAL_X86)
#include <immintrin.h>

#include <array>

#include "pirx/base/cpu.h"
#define PIRX_SPIRAL_TARGET __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq")))
// After the macro.
#include "cpir/spiral/kernels/ring_impl.h"

namespace pirx::cpir::spiral {
namespace {

/// Lane i of the first (part 0) or second halves of blocks of 2t numbers, out of two vectors.
template <std::size_t t, std::size_t part>
constexpr std::array<std::int32_t, 16> split_lanes() {
  std::array<std::int32_t, 16> lanes{};
  for (std::size_t i = 0; i < 16; ++i) lanes[i] = static_cast<std::int32_t>(i / t * 2 * t + part * t + i % t);
  return lanes;
}
/// The inverse: lane i of vector `part`, out of the first and second halves.
template <std::size_t t, std::size_t part>
constexpr std::array<std::int32_t, 16> merge_lanes() {
  std::array<std::int32_t, 16> lanes{};
  for (std::size_t i = 0; i < 16; ++i) {
    const std::size_t j = part * 16 + i, block = j / (2 * t), in_block = j % (2 * t);
    lanes[i] = static_cast<std::int32_t>(in_block / t * 16 + block * t + in_block % t);
  }
  return lanes;
}
template <std::size_t t>
constexpr std::array<std::int32_t, 16> spread_lanes() {
  std::array<std::int32_t, 16> lanes{};
  for (std::size_t i = 0; i < 16; ++i) lanes[i] = static_cast<std::int32_t>(i / t);
  return lanes;
}
template <std::size_t t, std::size_t part>
alignas(64) constexpr auto kSplit = split_lanes<t, part>();
template <std::size_t t, std::size_t part>
alignas(64) constexpr auto kMerge = merge_lanes<t, part>();
template <std::size_t t>
alignas(64) constexpr auto kSpread = spread_lanes<t>();

struct Ops {
  using V = __m512i;
  static constexpr std::size_t kLanes = 16, kTileQueries = 2, kTileColumns = 3;
  PIRX_SPIRAL_INLINE V load(const void* from) { return _mm512_loadu_si512(from); }
  PIRX_SPIRAL_INLINE void prefetch(const void* from) { _mm_prefetch(from, _MM_HINT_T0); }
  PIRX_SPIRAL_INLINE void store(void* to, V v) { _mm512_storeu_si512(to, v); }
  PIRX_SPIRAL_INLINE V set32(U32 x) { return _mm512_set1_epi32(static_cast<int>(x)); }
  PIRX_SPIRAL_INLINE V set64(U64 x) { return _mm512_set1_epi64(static_cast<long long>(x)); }
  PIRX_SPIRAL_INLINE V add32(V a, V b) { return _mm512_add_epi32(a, b); }
  PIRX_SPIRAL_INLINE V sub32(V a, V b) { return _mm512_sub_epi32(a, b); }
  PIRX_SPIRAL_INLINE V min32(V a, V b) { return _mm512_min_epu32(a, b); }
  PIRX_SPIRAL_INLINE V mullo32(V a, V b) { return _mm512_mullo_epi32(a, b); }
  PIRX_SPIRAL_INLINE V add64(V a, V b) { return _mm512_add_epi64(a, b); }
  PIRX_SPIRAL_INLINE V sub64(V a, V b) { return _mm512_sub_epi64(a, b); }
  PIRX_SPIRAL_INLINE V mul(V a, V b) { return _mm512_mul_epu32(a, b); }
  PIRX_SPIRAL_INLINE V high(V a) { return _mm512_srli_epi64(a, 32); }
  PIRX_SPIRAL_INLINE V up(V a) { return _mm512_slli_epi64(a, 32); }
  PIRX_SPIRAL_INLINE V srl64_by(V a, int n) { return _mm512_srl_epi64(a, _mm_cvtsi32_si128(n)); }
  PIRX_SPIRAL_INLINE V and_(V a, V b) { return _mm512_and_si512(a, b); }
  PIRX_SPIRAL_INLINE V or_(V a, V b) { return _mm512_or_si512(a, b); }
  PIRX_SPIRAL_INLINE V odd_even(V odd, V even) {
    return _mm512_mask_shuffle_epi32(odd, 0x5555, even, _MM_PERM_DDBB);
  }
  PIRX_SPIRAL_INLINE V negative_mask(V a) { return _mm512_srai_epi64(a, 63); }
  template <std::size_t t>
  PIRX_SPIRAL_INLINE void split(V& a, V& b) {
    const V first = _mm512_permutex2var_epi32(a, load(kSplit<t, 0>.data()), b);
    b = _mm512_permutex2var_epi32(a, load(kSplit<t, 1>.data()), b);
    a = first;
  }
  template <std::size_t t>
  PIRX_SPIRAL_INLINE void merge(V& a, V& b) {
    const V first = _mm512_permutex2var_epi32(a, load(kMerge<t, 0>.data()), b);
    b = _mm512_permutex2var_epi32(a, load(kMerge<t, 1>.data()), b);
    a = first;
  }
  template <std::size_t t>
  PIRX_SPIRAL_INLINE V spread(const U32* w) {
    if constexpr (t == 1) return load(w);
    const auto wanted = static_cast<__mmask16>((1u << (16 / t)) - 1);
    return _mm512_permutexvar_epi32(load(kSpread<t>.data()), _mm512_maskz_loadu_epi32(wanted, w));
  }
  PIRX_SPIRAL_INLINE void narrow_store(std::int32_t* to, V v) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm512_cvtepi64_epi32(v));
  }
  PIRX_SPIRAL_INLINE void store_interleaved(std::int64_t* to, V even, V odd) {
    const V low = _mm512_setr_epi64(0, 8, 1, 9, 2, 10, 3, 11);
    const V high = _mm512_setr_epi64(4, 12, 5, 13, 6, 14, 7, 15);
    store(to, _mm512_permutex2var_epi64(even, low, odd));
    store(to + 8, _mm512_permutex2var_epi64(even, high, odd));
  }
};

}  // namespace

const RingKernel kAvx512Kernel = Vectors<Ops>::table("avx512", kCpuAvx512);

}  // namespace pirx::cpir::spiral
#endif
