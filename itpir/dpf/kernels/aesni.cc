// SPDX-License-Identifier: Apache-2.0
// Expansions with AES-NI, a node in a vector.
#include "kernels.h"

#if defined(PIRX_DPF_X86)

#define PIRX_DPF_TARGET __attribute__((target("avx2,aes")))
#include "expand_impl.h"

namespace pirx::itpir::dpf {
namespace {

struct Vectors128 {
  using Vec = __m128i;
  static constexpr std::size_t kNodes = 1;

  PIRX_DPF_INLINE Vec load(const std::byte* from, std::size_t) { return all(from); }
  PIRX_DPF_INLINE void store(std::byte* to, Vec v, std::size_t n) {
    if (n > 0) _mm_storeu_si128(reinterpret_cast<__m128i*>(to), v);
  }
  PIRX_DPF_INLINE Vec all(const std::byte* from) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
  }
  PIRX_DPF_INLINE Vec round(Vec v, Vec key) { return _mm_aesenc_si128(v, key); }
  PIRX_DPF_INLINE Vec last_round(Vec v, Vec key) { return _mm_aesenclast_si128(v, key); }
  PIRX_DPF_INLINE Vec seeds(Vec v) { return _mm_andnot_si128(_mm_set_epi64x(0, 1), v); }
  PIRX_DPF_INLINE Vec sigma(Vec seeds) {
    return _mm_shuffle_epi32(seeds, 0x4E) ^ (seeds & _mm_set_epi64x(0, -1));
  }
  PIRX_DPF_INLINE Vec add_if_control(Vec x, Vec v, Vec correction) {
    const Vec control = _mm_shuffle_epi32(v, 0x44) & _mm_set1_epi64x(1);
    return x ^ (correction & _mm_sub_epi64(_mm_setzero_si128(), control));
  }
  PIRX_DPF_INLINE Vec pairs_first(Vec left, Vec) { return left; }
  PIRX_DPF_INLINE Vec pairs_last(Vec, Vec right) { return right; }
};

}  // namespace

constinit const ExpandKernels kExpandAesni = make_expand<Vectors128>("aesni", kCpuAvx2 | kCpuAes);

}  // namespace pirx::itpir::dpf
#endif
