// SPDX-License-Identifier: Apache-2.0
// W160 by Toom-Cook on AVX-512 IFMA: four limbs of 40 bits, evaluated at the points 0, 1, 2, 3, 4, 5 and
// infinity (number p is point p; the last one is infinity). A value has at most 48 bits. A product has 96
// bits and is kept as two sums of 52-bit halves.
#include "kernels.h"

#if defined(PIRX_FP_X86)

#include <algorithm>
#include <array>

#include "ifma.h"
#include "word_prime_arith.h"

namespace pirx::fp {
namespace {

using Elem = W160::Elem;

constexpr std::size_t kPoints = 7;
constexpr std::size_t kLanes = 8;
constexpr std::size_t kVecs = 3;  // of eight columns
constexpr std::size_t kTile = 4;  // queries: with kVecs and two halves, 24 registers of sums
constexpr std::size_t kColumns = kLanes * kVecs;
constexpr std::uint64_t kMask40 = low_bits(40);
constexpr std::uint64_t kMask52 = low_bits(52);
// A low half grows by less than 2^52 per row and starts below 2^52.
constexpr std::size_t kMostRows = 4000;
// A high half grows by less than 2^45 per row.
constexpr std::uint64_t kMostSummed = std::uint64_t{1} << 18;

void evaluate_scalars(const Elem* from, std::size_t rows, std::uint64_t* to, std::size_t point_stride,
                      std::size_t row_stride) noexcept {
  for (std::size_t i = 0; i < rows; ++i) {
    Elem a;
    std::memcpy(&a, reinterpret_cast<const std::byte*>(from) + i * sizeof(Elem), sizeof a);
    const std::uint64_t limb[4] = {a.limb[0] & kMask40, (a.limb[0] >> 40 | a.limb[1] << 24) & kMask40,
                                   a.limb[1] >> 16 & kMask40, a.limb[1] >> 56 | a.limb[2] << 8};
    to[i * row_stride] = limb[0];
    for (std::uint64_t t = 1; t < kPoints - 1; ++t) {
      to[t * point_stride + i * row_stride] = ((limb[3] * t + limb[2]) * t + limb[1]) * t + limb[0];
    }
    to[(kPoints - 1) * point_stride + i * row_stride] = limb[3];
  }
}

/// Limbs of 40 bits of up to eight words: limb k of word j is bytes 5k to 5k + 4 of its twenty.
PIRX_INLINE_IFMA void load_limbs(const std::byte* from, std::size_t words, __m512i (&limb)[4]) {
  const auto [x, y, z] = load_words(from, WordMasks(words));
  const __m512i low = all_lanes(kMask40);
  limb[0] = _mm512_and_si512(x, low);
  limb[1] = _mm512_and_si512(_mm512_or_si512(shift_right(x, 40), shift_left(y, 24)), low);
  limb[2] = _mm512_and_si512(shift_right(y, 16), low);
  limb[3] = _mm512_or_si512(shift_right(y, 56), shift_left(z, 8));
}

PIRX_TARGET_IFMA void evaluate_words(const std::byte* from, std::size_t stride, std::size_t rows,
                                     std::size_t count, std::byte* to, std::size_t point_stride) noexcept {
  for (std::size_t i = 0; i < rows; ++i) {
    // Prefetches the columns that usually come next. A prefetch never faults.
    for (std::size_t line = 0; line < kColumns * W160::kWordBytes; line += 64) {
      _mm_prefetch(reinterpret_cast<const char*>(from + i * stride + kColumns * W160::kWordBytes + line),
                   _MM_HINT_T1);
    }
    for (std::size_t v = 0; v < kVecs; ++v) {
      const std::size_t first = v * kLanes;
      __m512i limb[4] = {};
      if (count > first) {
        load_limbs(from + i * stride + first * W160::kWordBytes, std::min(count - first, kLanes), limb);
      }
      std::byte* out = to + (i * kVecs + v) * sizeof(__m512i);
      _mm512_storeu_si512(out, limb[0]);
      for (std::size_t t = 1; t < kPoints - 1; ++t) {
        const __m512i at = all_lanes(t);
        __m512i value = limb[3];
        for (std::size_t k = 3; k-- > 0;) value = _mm512_madd52lo_epu64(limb[k], value, at);
        _mm512_storeu_si512(out + t * point_stride, value);
      }
      _mm512_storeu_si512(out + (kPoints - 1) * point_stride, limb[3]);
    }
  }
}

template <std::size_t kQ>
PIRX_TARGET_IFMA void multiply_tile(std::size_t rows, const std::uint64_t* A, const std::byte* D,
                                    std::byte* sums) {
  __m512i low[kQ][kVecs], high[kQ][kVecs];
  for (std::size_t q = 0; q < kQ; ++q) {
    for (std::size_t v = 0; v < kVecs; ++v) {
      low[q][v] = _mm512_loadu_si512(sums + (2 * q * kVecs + v) * sizeof(__m512i));
      high[q][v] = _mm512_loadu_si512(sums + ((2 * q + 1) * kVecs + v) * sizeof(__m512i));
    }
  }
  for (std::size_t row = 0; row < rows; ++row, A += kQ, D += kVecs * sizeof(__m512i)) {
    _mm_prefetch(reinterpret_cast<const char*>(A + 64), _MM_HINT_T0);
    __m512i d[kVecs];
    for (std::size_t v = 0; v < kVecs; ++v) d[v] = _mm512_loadu_si512(D + v * sizeof(__m512i));
    for (std::size_t q = 0; q < kQ; ++q) {
      const __m512i a = all_lanes(A[q]);
      for (std::size_t v = 0; v < kVecs; ++v) {
        low[q][v] = _mm512_madd52lo_epu64(low[q][v], d[v], a);
        high[q][v] = _mm512_madd52hi_epu64(high[q][v], d[v], a);
      }
    }
  }
  const __m512i mask = all_lanes(kMask52);
  for (std::size_t q = 0; q < kQ; ++q) {
    for (std::size_t v = 0; v < kVecs; ++v) {
      const __m512i carried = _mm512_add_epi64(high[q][v], shift_right(low[q][v], 52));
      _mm512_storeu_si512(sums + (2 * q * kVecs + v) * sizeof(__m512i), _mm512_and_si512(low[q][v], mask));
      _mm512_storeu_si512(sums + ((2 * q + 1) * kVecs + v) * sizeof(__m512i), carried);
    }
  }
}

void multiply(std::size_t queries, std::size_t rows, const std::uint64_t* A, const std::byte* D,
              std::byte* sums) noexcept {
  constexpr std::size_t kSumBytes = 2 * kColumns * 8;
  for (; queries >= kTile; queries -= kTile) {
    multiply_tile<kTile>(rows, A, D, sums);
    A += kTile * rows;
    sums += kTile * kSumBytes;
  }
  if (queries == 3) multiply_tile<3>(rows, A, D, sums);
  if (queries == 2) multiply_tile<2>(rows, A, D, sums);
  if (queries == 1) multiply_tile<1>(rows, A, D, sums);
}

/// The weight of the value at each point. The product is the value of its polynomial at x = 2^40, which is
/// the weighted sum of the values at the points.
std::array<Elem, kPoints> weights() {
  const W160 f;
  const Elem base = f.from_label(std::uint64_t{1} << 40);
  const Elem minus_one = f.sub(f.zero(), f.one());
  std::array<Elem, kPoints> out;
  // c(x) = sum of v_j L_j(x) + v_inf prod(x - j) over the points j = 0 .. 5. L_j are Lagrange's polynomials,
  // and v_inf is the top coefficient of c.
  Elem vanishing = f.one();
  for (std::uint64_t p = 0; p + 1 < kPoints; ++p) vanishing = f.mul(vanishing, f.sub(base, f.from_label(p)));
  for (std::uint64_t p = 0; p + 1 < kPoints; ++p) {
    Elem value = f.one();
    for (std::uint64_t j = 0; j + 1 < kPoints; ++j) {
      if (j == p) continue;
      const Elem difference = p > j ? f.from_label(p - j) : f.mul(minus_one, f.from_label(j - p));
      value = f.mul(value, f.mul(f.sub(base, f.from_label(j)), f.inv(difference)));
    }
    out[p] = value;
  }
  out[kPoints - 1] = vanishing;
  return out;
}

void finish(const W160& f, const std::byte* from, std::size_t point_stride, std::size_t count,
            Elem* to) noexcept {
  static const std::array<Elem, kPoints> kWeights = weights();
  for (std::size_t j = 0; j < count; ++j) {
    Elem sum;
    std::memcpy(&sum, reinterpret_cast<const std::byte*>(to) + j * sizeof(Elem), sizeof sum);
    for (std::size_t p = 0; p < kPoints; ++p) {
      std::uint64_t low = 0, high = 0;
      std::memcpy(&low, from + p * point_stride + j * 8, 8);
      std::memcpy(&high, from + p * point_stride + (kColumns + j) * 8, 8);
      const uint128 value = (uint128{high} << 52) + low;
      sum = f.add(sum, f.mul(kWeights[p], Elem{{low64(value), high64(value), 0}}));
    }
    std::memcpy(reinterpret_cast<std::byte*>(to) + j * sizeof(Elem), &sum, sizeof sum);
  }
}

}  // namespace

constinit const ToomKernels<W160> kW160Toom = {
    .columns = kColumns,
    .points = kPoints,
    .tile = kTile,
    .most_rows = kMostRows,
    .most_summed = kMostSummed,
    // to[p][i] = from[i](x_p), from[i] as a polynomial.
    .evaluate_scalars = evaluate_scalars,
    // to[p][i][j] = from[i][j](x_p).
    .evaluate_words = evaluate_words,
    // sums[i][j] += A[i][0] D[0][j] + A[i][1] D[1][j] + ... at one point.
    .multiply = multiply,
    // to[j] += w_0 from[0][j] + w_1 from[1][j] + ... mod p.
    .finish = finish};

}  // namespace pirx::fp

#endif
