// SPDX-License-Identifier: Apache-2.0
// What the kernels on AVX-512 IFMA share: lanes of 64 bits, and the words of W160 in them. Only for files in
// this folder.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#define PIRX_TARGET_IFMA __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512ifma")))
#define PIRX_INLINE_IFMA \
  __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512ifma"), always_inline)) inline

namespace pirx::fp {

// Shifts in their masked form, because gcc 12 warns about its own header for the plain form. The instruction
// is the same.
PIRX_INLINE_IFMA __m512i shift_left(__m512i a, unsigned bits) {
  return _mm512_maskz_slli_epi64(0xff, a, bits);
}
PIRX_INLINE_IFMA __m512i shift_right(__m512i a, unsigned bits) {
  return _mm512_maskz_srli_epi64(0xff, a, bits);
}

PIRX_INLINE_IFMA __m512i all_lanes(std::uint64_t value) {
  return _mm512_set1_epi64(static_cast<long long>(value));
}

/// Eight integers x + 2^64 y + 2^128 z, lane by lane.
struct Lanes {
  __m512i x, y, z;
};

/// Masks for load_words(): of the 40 dwords of eight words of W160, those of the first `lanes` words are
/// read.
struct WordMasks {
  __mmask16 first, second, third;

  PIRX_INLINE_IFMA explicit WordMasks(std::size_t lanes) {
    const std::uint64_t mask = (std::uint64_t{1} << (5 * lanes)) - 1;
    first = static_cast<__mmask16>(mask);
    second = static_cast<__mmask16>(mask >> 12);
    third = static_cast<__mmask16>(mask >> 24);
  }
};

/// Reads dwords 0-15, 12-27 and 24-39 and spreads them to lanes of two, two and one dwords. Reads nothing
/// beyond the last word.
PIRX_INLINE_IFMA Lanes load_words(const std::byte* from, const WordMasks& masks) {
  const __m512i a = _mm512_maskz_loadu_epi32(masks.first, from);
  const __m512i b = _mm512_maskz_loadu_epi32(masks.second, from + 48);
  const __m512i c = _mm512_maskz_loadu_epi32(masks.third, from + 96);
  const __m512i x_ab = _mm512_setr_epi32(0, 1, 5, 6, 10, 11, 19, 20, 24, 25, 29, 30, 0, 0, 0, 0);
  const __m512i x_c = _mm512_setr_epi32(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 6, 7, 11, 12);
  const __m512i y_ab = _mm512_setr_epi32(2, 3, 7, 8, 12, 13, 21, 22, 26, 27, 0, 0, 0, 0, 0, 0);
  const __m512i y_c = _mm512_setr_epi32(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3, 4, 8, 9, 13, 14);
  const __m512i z_ab = _mm512_setr_epi32(4, 0, 9, 0, 14, 0, 23, 0, 28, 0, 0, 0, 0, 0, 0, 0);
  const __m512i z_c = _mm512_setr_epi32(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 5, 0, 10, 0, 15, 0);
  return {_mm512_mask_permutexvar_epi32(_mm512_permutex2var_epi32(a, x_ab, b), 0xf000, x_c, c),
          _mm512_mask_permutexvar_epi32(_mm512_permutex2var_epi32(a, y_ab, b), 0xfc00, y_c, c),
          _mm512_mask_permutexvar_epi32(_mm512_maskz_permutex2var_epi32(0x5555, a, z_ab, b), 0x5400, z_c, c)};
}

}  // namespace pirx::fp
