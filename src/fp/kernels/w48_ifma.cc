// SPDX-License-Identifier: Apache-2.0
// AVX-512 IFMA kernels of W48: 48 columns of D at a time are unpacked to 64-bit lanes, once for all queries.
// The sums of four queries by three vectors stay in registers. The low and high 52-bit halves of the products
// are added up in separate 64-bit lanes and are reduced once per block of rows.
#include "kernels.h"

#if defined(PIRX_FP_X86)

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "ifma.h"

namespace pirx::fp {
namespace {

using Elem = W48::Elem;

// The low half of a product is below 2^52, the high half at most 2^44. reduce() takes sums of up to 512 of
// them.
constexpr std::size_t kRows = 256;
static_assert(kRows <= 512);
constexpr std::size_t kLanes = 8;
constexpr std::size_t kVectors = 3;
constexpr std::size_t kCols = kLanes * kVectors;
constexpr std::size_t kQueries = 4;
// Panels that are read together, so that few cache lines are fetched twice.
constexpr std::size_t kPanels = 2;
// With fewer queries than this, memory decides the time. Blocks then have only kFewRows rows, so that
// prefetched lines stay in the second-level cache even if rows lie a power of two apart.
constexpr std::size_t kManyQueries = 16;
constexpr std::size_t kFewRows = 64;

constexpr std::uint64_t kPrime = W48::prime()[0], kLow = W48::kLow;

PIRX_INLINE_IFMA __m512i low_48(__m512i a) {
  return _mm512_and_si512(a, all_lanes((std::uint64_t{1} << 48) - 1));
}
// The smaller of two unsigned numbers. Of a and a - p, or of a and a + p, it is the one that did not wrap
// around.
PIRX_INLINE_IFMA __m512i smaller(__m512i a, __m512i b) { return _mm512_maskz_min_epu64(0xff, a, b); }

// (low + 2^52 high + more) modulo p for low < 2^61, high <= 2^53 and more < p.
PIRX_INLINE_IFMA __m512i reduce(__m512i low, __m512i high, __m512i more) {
  // With 2^48 = -c: low - 16 c high, kept positive by a multiple of p above 16 c 2^53. Below 2^63.
  __m512i sum = _mm512_add_epi64(low, _mm512_add_epi64(more, all_lanes(kPrime * (16 * kLow << 5))));
  sum = _mm512_sub_epi64(sum, _mm512_mullo_epi64(high, all_lanes(16 * kLow)));
  // Fold the bits above 2^48 once more. The result lies between -p and p.
  const __m512i fold = _mm512_maskz_mul_epu32(0xff, shift_right(sum, 48), all_lanes(kLow));
  sum = _mm512_sub_epi64(low_48(sum), fold);
  return smaller(sum, _mm512_add_epi64(sum, all_lanes(kPrime)));
}

constexpr __mmask8 mask_of(std::size_t lanes) { return static_cast<__mmask8>((1u << lanes) - 1); }

// Loads eight columns of D into 64-bit lanes. Reads only the first `lanes` columns, and nothing beyond them.
struct WordLoader {
  static constexpr std::size_t kWidth = W48::kWordBytes;
  __mmask32 units;  // of two bytes

  PIRX_INLINE_IFMA explicit WordLoader(std::size_t lanes)
      : units(static_cast<__mmask32>((1u << (3 * lanes)) - 1)) {}
  PIRX_INLINE_IFMA __m512i load(const std::byte* from) const {
    const __m512i spread = _mm512_set_epi16(0, 23, 22, 21, 0, 20, 19, 18, 0, 17, 16, 15, 0, 14, 13, 12, 0, 11,
                                            10, 9, 0, 8, 7, 6, 0, 5, 4, 3, 0, 2, 1, 0);
    return _mm512_maskz_permutexvar_epi16(0x77777777, spread, _mm512_maskz_loadu_epi16(units, from));
  }
};

struct SumLoader {
  static constexpr std::size_t kWidth = sizeof(Elem);
  __mmask8 units;

  PIRX_INLINE_IFMA explicit SumLoader(std::size_t lanes) : units(mask_of(lanes)) {}
  PIRX_INLINE_IFMA __m512i load(const std::byte* from) const { return _mm512_maskz_loadu_epi64(units, from); }
};

struct Panel {
  alignas(64) std::uint64_t lanes[kRows][kCols];
};

// Unpacks the first `rows` rows and `cols` columns of D. Columns beyond the last one are zero.
template <class Loader>
PIRX_TARGET_IFMA void unpack(std::size_t rows, std::size_t cols, const std::byte* D, std::size_t d_stride,
                             Panel (&panels)[kPanels]) {
  constexpr std::size_t kBytes = kLanes * Loader::kWidth, kAll = kPanels * kVectors;
  for (std::size_t row = 0; row < rows; ++row, D += d_stride) {
    for (std::size_t v = 0; v < kAll; ++v) {
      const Loader loader(std::min(kLanes, cols - std::min(cols, v * kLanes)));
      _mm512_store_si512(&panels[v / kVectors].lanes[row][v % kVectors * kLanes],
                         loader.load(D + v * kBytes));
    }
    // Prefetches the next columns, which are needed when all queries are done with these. A prefetch never
    // faults.
    for (std::size_t at = 0; at < kAll * kBytes; at += 64) {
      _mm_prefetch(reinterpret_cast<const char*>(D) + kAll * kBytes + at, _MM_HINT_T1);
    }
  }
}

// R += Q * panel for kQ queries.
template <std::size_t kQ>
PIRX_TARGET_IFMA void multiply(std::size_t rows, std::size_t cols, const std::byte* Q, std::size_t q_stride,
                               const Panel& panel, std::byte* R, std::size_t r_stride) {
  __m512i low[kQ][kVectors], high[kQ][kVectors];
  for (std::size_t i = 0; i < kQ; ++i) {
    for (std::size_t v = 0; v < kVectors; ++v) low[i][v] = high[i][v] = _mm512_setzero_si512();
  }
  // Unrolled, because counting rows takes slots of the two ports that multiply.
#pragma GCC unroll 4
  for (std::size_t row = 0; row < rows; ++row) {
    __m512i d[kVectors];
    for (std::size_t v = 0; v < kVectors; ++v) d[v] = _mm512_load_si512(&panel.lanes[row][v * kLanes]);
#pragma GCC unroll 4
    for (std::size_t i = 0; i < kQ; ++i) {
      long long scalar;
      std::memcpy(&scalar, Q + i * q_stride + row * sizeof(Elem), sizeof scalar);
      const __m512i a = _mm512_set1_epi64(scalar);
#pragma GCC unroll 3
      for (std::size_t v = 0; v < kVectors; ++v) {
        low[i][v] = _mm512_madd52lo_epu64(low[i][v], d[v], a);
        high[i][v] = _mm512_madd52hi_epu64(high[i][v], d[v], a);
      }
    }
  }
#pragma GCC unroll 4
  for (std::size_t i = 0; i < kQ; ++i) {
#pragma GCC unroll 3
    for (std::size_t v = 0; v < kVectors; ++v) {
      const __mmask8 mask = mask_of(std::min(kLanes, cols - std::min(cols, v * kLanes)));
      std::byte* to = R + i * r_stride + v * kLanes * sizeof(Elem);
      const __m512i sum = reduce(low[i][v], high[i][v], _mm512_maskz_loadu_epi64(mask, to));
      _mm512_mask_storeu_epi64(to, mask, sum);
    }
  }
}

struct Ifma {
  template <bool kWords>
  static void muladd(const W48&, std::size_t q, std::size_t r, std::size_t s, const Elem* Q,
                     std::size_t q_stride, const std::byte* D, std::size_t d_stride, Elem* R,
                     std::size_t r_stride) {
    using Loader = std::conditional_t<kWords, WordLoader, SumLoader>;
    constexpr decltype(&multiply<1>) kByQueries[kQueries] = {multiply<1>, multiply<2>, multiply<3>,
                                                             multiply<4>};
    const std::size_t block = q < kManyQueries ? kFewRows : kRows;
    Panel panels[kPanels];
    for (std::size_t row = 0; row < r; row += block) {
      const std::size_t rows = std::min(block, r - row);
      for (std::size_t j = 0; j < s; j += kPanels * kCols) {
        const std::size_t end = std::min(s, j + kPanels * kCols);
        unpack<Loader>(rows, end - j, D + row * d_stride + j * Loader::kWidth, d_stride, panels);
        for (std::size_t i = 0; i < q; i += kQueries) {
          const auto* scalars = reinterpret_cast<const std::byte*>(Q) + i * q_stride + row * sizeof(Elem);
          auto* sums = reinterpret_cast<std::byte*>(R) + i * r_stride;
          for (std::size_t at = j; at < end; at += kCols) {
            kByQueries[std::min(kQueries, q - i) - 1](rows, std::min(kCols, end - at), scalars, q_stride,
                                                      panels[(at - j) / kCols], sums + at * sizeof(Elem),
                                                      r_stride);
          }
        }
      }
    }
  }

  // out = a + b or a - b, eight elements at a time.
  template <bool kSubtract>
  PIRX_TARGET_IFMA static void combine(const W48&, std::size_t n, const Elem* a, const Elem* b, Elem* out) {
    for (std::size_t i = 0; i < n; i += kLanes) {
      const __mmask8 mask = mask_of(std::min(kLanes, n - i));
      const __m512i x = _mm512_maskz_loadu_epi64(mask, a + i), y = _mm512_maskz_loadu_epi64(mask, b + i);
      const __m512i plain = kSubtract ? _mm512_sub_epi64(x, y) : _mm512_add_epi64(x, y);
      const __m512i p = all_lanes(kPrime);
      const __m512i wrapped = kSubtract ? _mm512_add_epi64(plain, p) : _mm512_sub_epi64(plain, p);
      _mm512_mask_storeu_epi64(out + i, mask, smaller(plain, wrapped));
    }
  }
};

}  // namespace

constinit const Kernels<W48> kW48Ifma =
    make_kernels<W48, Ifma>("ifma", kCpuAvx512 | kCpuAvx512Ifma, 512, 2304);

}  // namespace pirx::fp

#endif
