// SPDX-License-Identifier: Apache-2.0
// Products modulo powers of two on AVX2: bytes become numbers of 16 bits, even ones and odd ones apart, as
// vpmaddubsw would saturate; vpmaddwd multiplies 16 pairs and adds neighbouring products.
#include "integers.h"

#if defined(PIRX_FP_X86)

#include <immintrin.h>

#include "integers_pack.h"

namespace pirx::fp {
namespace {

#define PIRX_TARGET_AVX2 __attribute__((target("avx2")))
#define PIRX_INLINE_AVX2 PIRX_TARGET_AVX2 inline __attribute__((always_inline))

constexpr std::size_t kRows = IntegerKernels::kRows, kColumns = IntegerKernels::kColumns;

PIRX_TARGET_AVX2 void pack(std::size_t bytes, const std::byte* from, std::size_t stride, std::size_t rows,
                           std::byte* to, std::size_t panel_stride) noexcept {
  pack_any(bytes, from, stride, rows, to, panel_stride);
}

/// The digits of a block, 16 bits each; of every four, the even ones before the odd ones.
PIRX_INLINE_AVX2 void widen(const std::byte* from, std::size_t lines, std::int16_t* to) {
  for (std::size_t at = 0; at < lines * kRows; at += 16) {
    const __m256i wide = _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from + at)));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + at),
                        _mm256_shufflehi_epi16(_mm256_shufflelo_epi16(wide, 0xd8), 0xd8));
  }
}

PIRX_INLINE_AVX2 __m256i broadcast(const std::int16_t* from) {
  std::int32_t two = 0;
  std::memcpy(&two, from, sizeof two);
  return _mm256_set1_epi32(two);
}

/// The sums of kDigits neighbouring digits and one plane over one block. The sums of digit j are 16 numbers
/// behind those of digit j - 1.
template <std::size_t kDigits>
PIRX_INLINE_AVX2 void multiply_block(const std::int16_t* a, const std::byte* D, std::uint32_t* sums) {
  const __m256i low = _mm256_set1_epi16(0xff);
  auto* const to = reinterpret_cast<__m256i*>(sums);
  __m256i sum[kDigits][2];  // of eight columns
  for (std::size_t j = 0; j < kDigits; ++j) {
    for (std::size_t v = 0; v < 2; ++v) sum[j][v] = _mm256_loadu_si256(to + 2 * j + v);
  }
  for (std::size_t k = 0; k < kRows; k += 4) {
    __m256i even[2], odd[2];
    for (std::size_t v = 0; v < 2; ++v) {
      const auto* const at = D + k * kColumns + v * 32;
      const __m256i d = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at));
      even[v] = _mm256_and_si256(d, low);
      odd[v] = _mm256_srli_epi16(d, 8);
    }
    for (std::size_t j = 0; j < kDigits; ++j) {
      const __m256i a_even = broadcast(a + j * kRows + k), a_odd = broadcast(a + j * kRows + k + 2);
      for (std::size_t v = 0; v < 2; ++v) {
        sum[j][v] = _mm256_add_epi32(sum[j][v], _mm256_madd_epi16(even[v], a_even));
        sum[j][v] = _mm256_add_epi32(sum[j][v], _mm256_madd_epi16(odd[v], a_odd));
        asm("" : "+x"(sum[j][v]));  // keeps one register for it
      }
    }
  }
  for (std::size_t j = 0; j < kDigits; ++j) {
    for (std::size_t v = 0; v < 2; ++v) _mm256_storeu_si256(to + 2 * j + v, sum[j][v]);
  }
}

PIRX_TARGET_AVX2 void multiply(const IntegerKernels::Product& product) noexcept {
  const std::size_t digits = product.digits, lines = digits * kRows;
  for (std::size_t group = 0; group < product.groups; ++group) {
    for (std::size_t block = 0; block < product.blocks; ++block) {
      std::int16_t a[8 * kRows];
      widen(product.A + group * product.group_stride + block * lines, digits, a);
      for (std::size_t panel = 0; panel < product.panels; ++panel) {
        const std::byte* const d =
            product.D + panel * product.panel_stride + block * product.planes * IntegerKernels::kBlockBytes;
        std::uint32_t* const sums = product.sums + (panel * product.groups + group) * digits * kColumns;
        for (std::size_t i = 0; i < product.planes; ++i) {
          const std::byte* const plane = d + i * IntegerKernels::kBlockBytes;
          std::size_t j = 0;
          for (; i + j + 4 <= digits; j += 4) {
            multiply_block<4>(a + j * kRows, plane, sums + (i + j) * kColumns);
          }
          for (; i + j + 2 <= digits; j += 2) {
            multiply_block<2>(a + j * kRows, plane, sums + (i + j) * kColumns);
          }
          if (i + j < digits) multiply_block<1>(a + j * kRows, plane, sums + (i + j) * kColumns);
        }
      }
    }
  }
}

}  // namespace

constinit const IntegerKernels kIntegersAvx2 = {.name = "avx2",
                                                .needs = kCpuAvx2,
                                                .run = 4,
                                                // to[i][k][j] = byte i of from[k][j] + half its range.
                                                .pack = pack,
                                                // sums[i + j] += A[j] D[i], byte by byte.
                                                .multiply = multiply};

}  // namespace pirx::fp

#endif
