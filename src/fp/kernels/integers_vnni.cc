// SPDX-License-Identifier: Apache-2.0
// Products modulo powers of two on AVX-512 VNNI: vpdpbusd multiplies 64 pairs of bytes and adds the products
// in groups of four, modulo 2^32.
#include "integers.h"

#if defined(PIRX_FP_X86)

#include <immintrin.h>

#include "integers_vnni.h"

namespace pirx::fp {
namespace vnni {

#define PIRX_TARGET_VNNI __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512vnni")))
#define PIRX_INLINE_VNNI PIRX_TARGET_VNNI inline __attribute__((always_inline))

namespace {

constexpr std::size_t kRows = IntegerKernels::kRows, kColumns = IntegerKernels::kColumns;
constexpr std::size_t kBlock = IntegerKernels::kBlockBytes;

/// Sixteen words of kBytes bytes, in lanes of 32 bits.
template <std::size_t kBytes>
PIRX_INLINE_VNNI __m512i load_words(const std::byte* from) {
  if constexpr (kBytes == 1) {
    return _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
  } else if constexpr (kBytes == 2) {
    return _mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
  } else if constexpr (kBytes == 3) {
    // Twelve bytes to a quarter of the vector, then three to a lane.
    const __m512i twelve =
        _mm512_permutexvar_epi32(_mm512_setr_epi32(0, 1, 2, 0, 3, 4, 5, 0, 6, 7, 8, 0, 9, 10, 11, 0),
                                 _mm512_maskz_loadu_epi8(0xffffffffffff, from));
    const __m128i three = _mm_setr_epi8(0, 1, 2, -1, 3, 4, 5, -1, 6, 7, 8, -1, 9, 10, 11, -1);
    return _mm512_shuffle_epi8(twelve, _mm512_broadcast_i32x4(three));
  } else {
    return _mm512_loadu_si512(from);
  }
}

/// Byte `of` of each lane, at each of its four bytes.
PIRX_INLINE_VNNI __m512i byte_of_lane(int of) {
  return _mm512_broadcast_i32x4(
      _mm_add_epi32(_mm_set1_epi32(of * 0x01010101), _mm_setr_epi32(0, 0x04040404, 0x08080808, 0x0c0c0c0c)));
}

template <std::size_t kBytes>
PIRX_TARGET_VNNI void pack_words(const std::byte* from, std::size_t stride, std::size_t rows, std::byte* to,
                                 std::size_t panel_stride) {
  constexpr std::size_t kWidth = kBytes * kColumns;
  const __m512i half = _mm512_set1_epi8(static_cast<char>(0x80));
  __m512i byte[kBytes];
  for (std::size_t i = 0; i < kBytes; ++i) byte[i] = byte_of_lane(static_cast<int>(i));
  for (std::size_t row = 0; row < kRows; row += 4) {
    for (std::size_t panel = 0; panel < 4; ++panel) {
      __m512i in[4];
      for (std::size_t v = 0; v < 4; ++v) {
        const std::byte* const at = from + (row + v) * stride + panel * kWidth;
        in[v] = row + v < rows ? load_words<kBytes>(at) : _mm512_setzero_si512();
      }
      for (std::size_t i = 0; i < kBytes; ++i) {
        __m512i out = _mm512_shuffle_epi8(in[0], byte[i]);
        out = _mm512_mask_shuffle_epi8(out, 0x2222222222222222, in[1], byte[i]);
        out = _mm512_mask_shuffle_epi8(out, 0x4444444444444444, in[2], byte[i]);
        out = _mm512_mask_shuffle_epi8(out, 0x8888888888888888, in[3], byte[i]);
        if (i + 1 == kBytes) out = _mm512_xor_si512(out, half);
        // Past the caches: a packed matrix is larger than they are.
        auto* const line = to + panel * panel_stride + i * kBlock + row * kColumns;
        _mm512_stream_si512(reinterpret_cast<__m512i*>(line), out);
      }
    }
  }
  _mm_sfence();
}

PIRX_INLINE_VNNI __m512i broadcast(const std::byte* from) {
  std::int32_t word = 0;
  std::memcpy(&word, from, sizeof word);
  return _mm512_set1_epi32(word);
}

/// Fetches the D of the next product, some lines of all panels with every four rows.
struct Ahead {
  const std::byte* at;
  std::size_t panel_stride, lines, step, left = 0;
  template <std::size_t kPanels>
  PIRX_INLINE_VNNI void fetch() {
    for (left += lines; left >= step; left -= step, at += 64) {
      for (std::size_t p = 0; p < kPanels; ++p) {
        _mm_prefetch(reinterpret_cast<const char*>(at + p * panel_stride), _MM_HINT_T1);
      }
    }
  }
};

/// kQueries queries and kPanels panels, whose sums stay in registers.
template <std::size_t kDigits, std::size_t kPlanes, std::size_t kQueries, std::size_t kPanels>
PIRX_TARGET_VNNI void multiply_tile(const IntegerKernels::Product& product, const std::byte* A,
                                    const std::byte* D, std::uint32_t* sums, Ahead& ahead) {
  const std::size_t panel_stride = product.panel_stride, group_stride = product.group_stride;
  std::size_t sums_stride = product.groups * kDigits * kColumns;
  __m512i sum[kPanels][kQueries][kDigits];
#pragma GCC unroll 8
  for (std::size_t p = 0; p < kPanels; ++p) {
#pragma GCC unroll 8
    for (std::size_t q = 0; q < kQueries; ++q) {
#pragma GCC unroll 8
      for (std::size_t s = 0; s < kDigits; ++s) {
        sum[p][q][s] = _mm512_loadu_si512(sums + p * sums_stride + (q * kDigits + s) * kColumns);
      }
    }
  }
  for (std::size_t block = 0; block < product.blocks; ++block) {
    for (std::size_t k = 0; k < kRows; k += 4) {
      ahead.fetch<kPanels>();
#pragma GCC unroll 4
      for (std::size_t i = 0; i < kPlanes; ++i) {
        __m512i d[kPanels];
#pragma GCC unroll 8
        for (std::size_t p = 0; p < kPanels; ++p) {
          d[p] = _mm512_loadu_si512(D + p * panel_stride + i * kBlock + k * kColumns);
        }
#pragma GCC unroll 8
        for (std::size_t q = 0; q < kQueries; ++q) {
#pragma GCC unroll 8
          for (std::size_t s = i; s < kDigits; ++s) {
            const __m512i a = broadcast(A + q * group_stride + (s - i) * kRows + k);
#pragma GCC unroll 8
            for (std::size_t p = 0; p < kPanels; ++p) {
              sum[p][q][s] = _mm512_dpbusd_epi32(sum[p][q][s], d[p], a);
            }
          }
        }
      }
    }
    A += kDigits * kRows;
    D += kPlanes * kBlock;
  }
  // The addresses of the sums are computed anew, as registers that kept them would be missing in the loop.
  asm("" : "+r"(sums), "+r"(sums_stride));
#pragma GCC unroll 8
  for (std::size_t p = 0; p < kPanels; ++p) {
#pragma GCC unroll 8
    for (std::size_t q = 0; q < kQueries; ++q) {
#pragma GCC unroll 8
      for (std::size_t s = 0; s < kDigits; ++s) {
        _mm512_storeu_si512(sums + p * sums_stride + (q * kDigits + s) * kColumns, sum[p][q][s]);
      }
    }
  }
}

/// kPanels panels and all queries, kQueries at a time, then one at a time.
template <std::size_t kDigits, std::size_t kPlanes, std::size_t kQueries, std::size_t kPanels>
void multiply_panels(const IntegerKernels::Product& product, std::size_t panel) {
  const std::size_t steps = (product.groups / kQueries + product.groups % kQueries) * kRows / 4;
  const bool fetches = product.next != nullptr;
  const std::byte* const D = product.D + panel * product.panel_stride;
  Ahead ahead{fetches ? product.next + panel * product.panel_stride : D, product.panel_stride,
              fetches ? kPlanes * kBlock / 64 : 0, steps};
  for (std::size_t group = 0; group < product.groups;) {
    const std::byte* const A = product.A + group * product.group_stride;
    std::uint32_t* const sums = product.sums + (panel * product.groups + group) * kDigits * kColumns;
    if (group + kQueries <= product.groups) {
      multiply_tile<kDigits, kPlanes, kQueries, kPanels>(product, A, D, sums, ahead);
      group += kQueries;
    } else {
      multiply_tile<kDigits, kPlanes, 1, kPanels>(product, A, D, sums, ahead);
      ++group;
    }
  }
}

template <std::size_t kDigits, std::size_t kPlanes>
void multiply_words(const IntegerKernels::Product& product) {
  constexpr std::size_t kPanels = kDigits == 4 ? 4 : 2;  // up to 16 sums
  std::size_t panel = 0;
  if constexpr (kDigits == 4) {
    if (product.groups > 1) {
      for (; panel + 2 <= product.panels; panel += 2) multiply_panels<kDigits, kPlanes, 2, 2>(product, panel);
    }
  }
  for (; panel + kPanels <= product.panels; panel += kPanels) {
    multiply_panels<kDigits, kPlanes, 1, kPanels>(product, panel);
  }
  for (; panel < product.panels; ++panel) multiply_panels<kDigits, kPlanes, 1, 1>(product, panel);
}

template <std::size_t kDigits>
void multiply_digits(const IntegerKernels::Product& product) {
  switch (product.planes) {
    case 1:
      return multiply_words<kDigits, 1>(product);
    case 2:
      return multiply_words<kDigits, 2>(product);
    case 3:
      return multiply_words<kDigits, 3>(product);
    default:
      return multiply_words<kDigits, 4>(product);
  }
}

void multiply_integers(const IntegerKernels::Product& product) noexcept {
  switch (product.digits) {
    case 4:
      return multiply_digits<4>(product);
    case 6:
      return multiply_digits<6>(product);
    default:
      return multiply_digits<8>(product);
  }
}

}  // namespace

void pack_integers(std::size_t bytes, const std::byte* from, std::size_t stride, std::size_t rows,
                   std::byte* to, std::size_t panel_stride) noexcept {
  switch (bytes) {
    case 1:
      return pack_words<1>(from, stride, rows, to, panel_stride);
    case 2:
      return pack_words<2>(from, stride, rows, to, panel_stride);
    case 3:
      return pack_words<3>(from, stride, rows, to, panel_stride);
    default:
      return pack_words<4>(from, stride, rows, to, panel_stride);
  }
}

}  // namespace vnni

constinit const IntegerKernels kIntegersVnni = {.name = "vnni",
                                                .needs = kCpuAvx512 | kCpuAvx512Vnni,
                                                .run = 8,
                                                // to[i][k][j] = byte i of from[k][j] + half its range.
                                                .pack = vnni::pack_integers,
                                                // sums[i + j] += A[j] D[i], byte by byte.
                                                .multiply = vnni::multiply_integers};

}  // namespace pirx::fp

#endif
