// SPDX-License-Identifier: Apache-2.0
// The row kernel on AVX-512 IFMA: eight lanes, and digits of 52-bit limbs. A product is computed by columns,
// ten limbs of one factor times ten limbs of the other at a time, so that twenty columns of sums stay in
// registers. In between, Montgomery's quotient is computed ten limbs at a time.
#include "cpir/dj/kernels/kernels.h"

#if defined(__x86_64__) && !defined(PIRX_PORTABLE_ONLY)

#include <immintrin.h>

#include "pirx/base/cpu.h"

#define PIRX_TARGET_IFMA __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512ifma")))
#define PIRX_INLINE_IFMA \
  __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512ifma"), always_inline)) inline

namespace pirx::cpir::dj {
namespace {

using Word = std::uint64_t;
constexpr std::size_t kLanes = 8;
constexpr std::size_t kBlock = 10;  // limbs
constexpr std::size_t kBlockWords = kBlock * kLanes;
constexpr unsigned kLimbBits = 52;
// A column adds up two halves of products a pair of limbs, for s + 1 pairs of digits (twice each in squares)
// and N.
static_assert(2 * kMaxLimbs * (kMaxS + 2) < 4095 / 2);

PIRX_INLINE_IFMA __m512i low(__m512i sum, __m512i a, __m512i b) { return _mm512_madd52lo_epu64(sum, a, b); }
PIRX_INLINE_IFMA __m512i high(__m512i sum, __m512i a, __m512i b) { return _mm512_madd52hi_epu64(sum, a, b); }
PIRX_INLINE_IFMA __m512i load(const Word* from) { return _mm512_load_si512(from); }
PIRX_INLINE_IFMA __m512i broadcast(Word word) { return _mm512_set1_epi64(static_cast<long long>(word)); }
// With the sign: sums may be negative while a debt is paid.
PIRX_INLINE_IFMA __m512i carry_of(__m512i sum) { return _mm512_srai_epi64(sum, kLimbBits); }

/// Sums of twenty columns.
struct Columns {
  __m512i c[2 * kBlock];

  PIRX_INLINE_IFMA void clear() {
    for (auto& column : c) column = _mm512_setzero_si512();
  }
  /// += x * y for ten limbs each.
  PIRX_INLINE_IFMA void add(const Word* x, const __m512i (&y)[kBlock]) {
#pragma GCC unroll 10
    for (std::size_t i = 0; i < kBlock; ++i) {
      const __m512i limb = load(x + i * kLanes);
#pragma GCC unroll 10
      for (std::size_t j = 0; j < kBlock; ++j) c[i + j] = low(c[i + j], limb, y[j]);
#pragma GCC unroll 10
      for (std::size_t j = 0; j < kBlock; ++j) c[i + j + 1] = high(c[i + j + 1], limb, y[j]);
    }
  }
  PIRX_INLINE_IFMA void add(const Word* x, const Word* y) {
    __m512i limbs[kBlock];
#pragma GCC unroll 10
    for (std::size_t j = 0; j < kBlock; ++j) limbs[j] = load(y + j * kLanes);
    add(x, limbs);
  }
  /// += x * ten limbs that are the same in all lanes.
  PIRX_INLINE_IFMA void add_same(const Word* x, const Word* same) {
    __m512i limbs[kBlock];
#pragma GCC unroll 10
    for (std::size_t j = 0; j < kBlock; ++j) limbs[j] = broadcast(same[j]);
    add(x, limbs);
  }
  /// -= ten limbs.
  PIRX_INLINE_IFMA void subtract(const Word* x) {
#pragma GCC unroll 10
    for (std::size_t j = 0; j < kBlock; ++j) c[j] = _mm512_sub_epi64(c[j], load(x + j * kLanes));
  }
  /// Ten limbs of q that make the lower ten columns zero modulo 2^520, and their carry.
  PIRX_INLINE_IFMA void eliminate(const Word* modulus, Word inverse, Word* q) {
    __m512i n[kBlock];
#pragma GCC unroll 10
    for (std::size_t j = 0; j < kBlock; ++j) n[j] = broadcast(modulus[j]);
#pragma GCC unroll 10
    for (std::size_t i = 0; i < kBlock; ++i) {
      const __m512i limb = low(_mm512_setzero_si512(), c[i], broadcast(inverse));
      _mm512_store_si512(q + i * kLanes, limb);
      c[i] = low(c[i], limb, n[0]);
#pragma GCC unroll 10
      for (std::size_t j = 1; j < kBlock; ++j) c[i + j] = low(c[i + j], limb, n[j]);
#pragma GCC unroll 10
      for (std::size_t j = 0; j < kBlock; ++j) c[i + j + 1] = high(c[i + j + 1], limb, n[j]);
      c[i + 1] = _mm512_add_epi64(c[i + 1], carry_of(c[i]));
    }
  }
  /// The lower ten columns as limbs; the carry goes on.
  PIRX_INLINE_IFMA void emit(Word* out) {
    const __m512i mask = broadcast((Word{1} << kLimbBits) - 1);
#pragma GCC unroll 10
    for (std::size_t j = 0; j < kBlock; ++j) {
      _mm512_store_si512(out + j * kLanes, _mm512_and_si512(c[j], mask));
      c[j + 1] = _mm512_add_epi64(c[j + 1], carry_of(c[j]));
    }
  }
  /// Ten columns on.
  PIRX_INLINE_IFMA void shift() {
#pragma GCC unroll 10
    for (std::size_t j = 0; j < kBlock; ++j) {
      c[j] = c[j + kBlock];
      c[j + kBlock] = _mm512_setzero_si512();
    }
  }
};

/// A column block of the product of two digits has the pairs of blocks (i, column - i) with from <= i <= to.
struct Pairs {
  std::size_t from, to;
  Pairs(std::size_t column, std::size_t blocks)
      : from(column < blocks ? 0 : column - blocks + 1), to(column < blocks ? column : blocks - 1) {}
};

/// Adds q N to a column block: all pairs with what is known of q, and finds q where it is not yet. Then the
/// block's limbs are the digit's, or vanish.
PIRX_INLINE_IFMA void finish_column(const RingView& ring, Columns& sum, std::size_t column,
                                    std::size_t blocks, Word* q, Word* out) {
  const Pairs pairs(column, blocks);
  const std::size_t known = column < blocks ? column : blocks;
  for (std::size_t i = pairs.from; i < known; ++i) {
    sum.add_same(q + i * kBlockWords, ring.modulus + (column - i) * kBlock);
  }
  if (column < blocks) {
    sum.eliminate(ring.modulus, ring.inverse, q + column * kBlockWords);
  } else {
    sum.emit(out + (column - blocks) * kBlockWords);
  }
  sum.shift();
}

PIRX_TARGET_IFMA void multiply(const RingView& ring, Word* out, const Word* a, const Word* b) noexcept {
  alignas(64) Word q[kMaxLimbs * kLanes];
  const std::size_t blocks = ring.limbs / kBlock, digit = ring.limbs * kLanes;
  for (std::size_t j = 0; j <= ring.s; ++j) {
    Columns sum;
    sum.clear();
    for (std::size_t column = 0; column < 2 * blocks; ++column) {
      if (j > 0 && column < blocks) sum.subtract(q + column * kBlockWords);
      const Pairs pairs(column, blocks);
      for (std::size_t d = 0; d <= j; ++d) {
        const Word *x = a + d * digit, *y = b + (j - d) * digit;
        for (std::size_t i = pairs.from; i <= pairs.to && i < blocks; ++i) {
          sum.add(x + i * kBlockWords, y + (column - i) * kBlockWords);
        }
      }
      finish_column(ring, sum, column, blocks, q, out + j * digit);
    }
  }
}

PIRX_TARGET_IFMA void square(const RingView& ring, Word* out, const Word* a) noexcept {
  alignas(64) Word q[kMaxLimbs * kLanes];
  alignas(64) Word carried[kBlockWords];
  const std::size_t blocks = ring.limbs / kBlock, digit = ring.limbs * kLanes;
  for (std::size_t j = 0; j <= ring.s; ++j) {
    Columns sum;
    sum.clear();
    for (std::size_t column = 0; column < 2 * blocks; ++column) {
      const Pairs pairs(column, blocks);
#pragma GCC unroll 10
      for (std::size_t i = 0; i < kBlock; ++i) {
        _mm512_store_si512(carried + i * kLanes, sum.c[i]);
        sum.c[i] = _mm512_setzero_si512();
      }
      // What stands on both sides of the diagonal, once.
      for (std::size_t d = 0; 2 * d < j; ++d) {
        const Word *x = a + d * digit, *y = a + (j - d) * digit;
        for (std::size_t i = pairs.from; i <= pairs.to; ++i) {
          sum.add(x + i * kBlockWords, y + (column - i) * kBlockWords);
        }
      }
      const Word* middle = a + j / 2 * digit;
      if (j % 2 == 0) {
        for (std::size_t i = pairs.from; 2 * i < column; ++i) {
          sum.add(middle + i * kBlockWords, middle + (column - i) * kBlockWords);
        }
      }
#pragma GCC unroll 20
      for (std::size_t i = 0; i < 2 * kBlock; ++i) {
        sum.c[i] = _mm512_add_epi64(sum.c[i], sum.c[i]);
        if (i < kBlock) sum.c[i] = _mm512_add_epi64(sum.c[i], load(carried + i * kLanes));
      }
      if (j % 2 == 0 && column % 2 == 0) {
        const Word* half = middle + column / 2 * kBlockWords;
        sum.add(half, half);
      }
      if (j > 0 && column < blocks) sum.subtract(q + column * kBlockWords);
      finish_column(ring, sum, column, blocks, q, out + j * digit);
    }
  }
}

/// Transposes eight words of eight numbers at a time.
PIRX_TARGET_IFMA void gather(const RingView& ring, Word* block, const Word* const* numbers) noexcept {
  for (std::size_t at = 0; at < ring.stride; at += kLanes) {
    __m512i r[kLanes], s[kLanes];
#pragma GCC unroll 8
    for (std::size_t i = 0; i < kLanes; ++i) r[i] = _mm512_loadu_si512(numbers[i] + at);
#pragma GCC unroll 4
    for (std::size_t i = 0; i < kLanes; i += 2) {
      s[i] = _mm512_maskz_unpacklo_epi64(0xff, r[i], r[i + 1]);
      s[i + 1] = _mm512_maskz_unpackhi_epi64(0xff, r[i], r[i + 1]);
    }
    // 128-bit quarters: s[0] has words 0 2 4 6 of numbers 0 and 1, s[1] the odd words.
#pragma GCC unroll 2
    for (std::size_t odd = 0; odd < 2; ++odd) {
      const __m512i a = _mm512_maskz_shuffle_i64x2(0xff, s[odd], s[2 + odd], 0x88),
                    b = _mm512_maskz_shuffle_i64x2(0xff, s[odd], s[2 + odd], 0xdd),
                    c = _mm512_maskz_shuffle_i64x2(0xff, s[4 + odd], s[6 + odd], 0x88),
                    d = _mm512_maskz_shuffle_i64x2(0xff, s[4 + odd], s[6 + odd], 0xdd);
      Word* out = block + (at + odd) * kLanes;
      _mm512_store_si512(out, _mm512_maskz_shuffle_i64x2(0xff, a, c, 0x88));
      _mm512_store_si512(out + 2 * kLanes, _mm512_maskz_shuffle_i64x2(0xff, b, d, 0x88));
      _mm512_store_si512(out + 4 * kLanes, _mm512_maskz_shuffle_i64x2(0xff, a, c, 0xdd));
      _mm512_store_si512(out + 6 * kLanes, _mm512_maskz_shuffle_i64x2(0xff, b, d, 0xdd));
    }
  }
}

}  // namespace

constinit const RowKernel kIfmaKernel{
    "ifma", kCpuAvx512 | kCpuAvx512Ifma, kLanes, kLimbBits, kBlock, 8, &multiply, &square, &gather};

}  // namespace pirx::cpir::dj
#endif
