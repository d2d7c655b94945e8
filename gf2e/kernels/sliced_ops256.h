// SPDX-License-Identifier: Apache-2.0
// The parts that the bit-sliced kernels on 256-bit vectors share. Include after sliced_impl.h.
#include <immintrin.h>

namespace pirx::gf2e {
namespace {

struct Ops256 {
  using Vec = __m256i;
  static constexpr std::size_t kBytes = 32;

  PIRX_GF2E_INLINE Vec load(const std::byte* from) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
  }
  PIRX_GF2E_INLINE void store(std::byte* to, Vec v) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), v);
  }
  PIRX_GF2E_INLINE Vec xor3(Vec a, Vec b, Vec c) { return a ^ b ^ c; }
  PIRX_GF2E_INLINE Vec set64(std::uint64_t value) {
    return _mm256_set1_epi64x(static_cast<long long>(value));
  }
  template <int bits>
  PIRX_GF2E_INLINE Vec unpack_low(Vec a, Vec b) {
    if constexpr (bits == 8) return _mm256_unpacklo_epi8(a, b);
    if constexpr (bits == 16) return _mm256_unpacklo_epi16(a, b);
    if constexpr (bits == 32) return _mm256_unpacklo_epi32(a, b);
    return _mm256_unpacklo_epi64(a, b);
  }
  template <int bits>
  PIRX_GF2E_INLINE Vec unpack_high(Vec a, Vec b) {
    if constexpr (bits == 8) return _mm256_unpackhi_epi8(a, b);
    if constexpr (bits == 16) return _mm256_unpackhi_epi16(a, b);
    if constexpr (bits == 32) return _mm256_unpackhi_epi32(a, b);
    return _mm256_unpackhi_epi64(a, b);
  }
  PIRX_GF2E_INLINE Vec twice(Vec v) { return _mm256_add_epi8(v, v); }
  PIRX_GF2E_INLINE Vec negative(Vec v) { return _mm256_cmpgt_epi8(_mm256_setzero_si256(), v); }
  PIRX_GF2E_INLINE Vec reverse_bytes(Vec v) {
    return _mm256_shuffle_epi8(
        v, _mm256_broadcastsi128_si256(_mm_setr_epi8(7, 6, 5, 4, 3, 2, 1, 0, 15, 14, 13, 12, 11, 10, 9, 8)));
  }
  PIRX_GF2E_INLINE Vec low_bytes(Vec a, Vec b) {
    const Vec mask = _mm256_set1_epi16(0xFF);
    return _mm256_permute4x64_epi64(_mm256_packus_epi16(a & mask, b & mask), 0xD8);
  }
  PIRX_GF2E_INLINE Vec high_bytes(Vec a, Vec b) {
    return _mm256_permute4x64_epi64(_mm256_packus_epi16(_mm256_srli_epi16(a, 8), _mm256_srli_epi16(b, 8)),
                                    0xD8);
  }
  PIRX_GF2E_INLINE Vec words_first(Vec low, Vec high) {
    return _mm256_unpacklo_epi8(_mm256_permute4x64_epi64(low, 0xD8), _mm256_permute4x64_epi64(high, 0xD8));
  }
  PIRX_GF2E_INLINE Vec words_last(Vec low, Vec high) {
    return _mm256_unpackhi_epi8(_mm256_permute4x64_epi64(low, 0xD8), _mm256_permute4x64_epi64(high, 0xD8));
  }
};

}  // namespace
}  // namespace pirx::gf2e
