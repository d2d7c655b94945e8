// SPDX-License-Identifier: Apache-2.0
// Expansions with VAES, four nodes in a vector.
#include "kernels.h"

#if defined(PIRX_DPF_X86)

#define PIRX_DPF_TARGET __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,aes,vaes")))
#include "expand_impl.h"

namespace pirx::itpir::dpf {
namespace {

struct Vectors512 {
  using Vec = __m512i;
  static constexpr std::size_t kNodes = 4;

  PIRX_DPF_INLINE Vec load(const std::byte* from, std::size_t n) {
    return n == kNodes ? _mm512_loadu_si512(from) : _mm512_maskz_loadu_epi64(halves(n), from);
  }
  PIRX_DPF_INLINE void store(std::byte* to, Vec v, std::size_t n) {
    if (n == kNodes) {
      _mm512_storeu_si512(to, v);
    } else {
      _mm512_mask_storeu_epi64(to, halves(n), v);
    }
  }
  PIRX_DPF_INLINE Vec all(const std::byte* from) {
    return _mm512_maskz_broadcast_i32x4(0xFFFF, _mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
  }
  PIRX_DPF_INLINE Vec round(Vec v, Vec key) { return _mm512_aesenc_epi128(v, key); }
  PIRX_DPF_INLINE Vec last_round(Vec v, Vec key) { return _mm512_aesenclast_epi128(v, key); }
  PIRX_DPF_INLINE Vec seeds(Vec v) { return _mm512_andnot_si512(every(1, 0), v); }
  PIRX_DPF_INLINE Vec sigma(Vec seeds) { return turned<0x4E>(seeds) ^ (seeds & every(-1, 0)); }
  PIRX_DPF_INLINE Vec add_if_control(Vec x, Vec v, Vec correction) {
    const __mmask8 control = _mm512_test_epi64_mask(turned<0x44>(v), _mm512_set1_epi64(1));
    return _mm512_mask_xor_epi64(x, control, x, correction);
  }
  PIRX_DPF_INLINE Vec pairs_first(Vec left, Vec right) {
    return _mm512_permutex2var_epi64(left, _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11), right);
  }
  PIRX_DPF_INLINE Vec pairs_last(Vec left, Vec right) {
    return _mm512_permutex2var_epi64(left, _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15), right);
  }

 private:
  PIRX_DPF_INLINE __mmask8 halves(std::size_t nodes) {
    return static_cast<__mmask8>((1u << (2 * nodes)) - 1);
  }
  /// The same two halves in every node.
  PIRX_DPF_INLINE Vec every(long long low, long long high) {
    return _mm512_setr_epi64(low, high, low, high, low, high, low, high);
  }
  // In its masked form, because gcc 12 warns about its own header for the plain form.
  template <int kOrder>
  PIRX_DPF_INLINE Vec turned(Vec v) {
    return _mm512_maskz_shuffle_epi32(0xFFFF, v, static_cast<_MM_PERM_ENUM>(kOrder));
  }
};

}  // namespace

constinit const ExpandKernels kExpandVaes512 =
    make_expand<Vectors512>("vaes512", kCpuAvx2 | kCpuAes | kCpuAvx512 | kCpuVaes);

}  // namespace pirx::itpir::dpf
#endif
