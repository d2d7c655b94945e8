// SPDX-License-Identifier: Apache-2.0
// AVX-512 IFMA kernels of W160: eight columns at a time, in four limbs of 52 bits, with three queries per
// pass over D. Sums of products are kept in seven 64-bit columns, which are reduced once per kRows rows,
// eight sums at a time.
#include "kernels.h"

#if defined(PIRX_FP_X86)

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "ifma.h"

namespace pirx::fp {
namespace {

using Elem = W160::Elem;

// Column 3 takes the most: seven 52-bit halves per row (the top limbs have 5 bits). 7 * 512 * 2^52 < 2^64.
constexpr std::size_t kRows = 512;
constexpr std::size_t kColumns = 7;
constexpr std::size_t kLanes = 8;
constexpr std::uint64_t kMask52 = (std::uint64_t{1} << 52) - 1;
constexpr std::size_t kQueries = 3;

// Eight integers in limbs of 52 bits; bits from 52 on are ignored by the multiplier.
struct Limbs52 {
  __m512i limb[4];
};

// x + 2^64 y + 2^128 z, lane by lane.
PIRX_INLINE_IFMA Limbs52 split52(__m512i x, __m512i y, __m512i z) {
  return {{x, _mm512_or_si512(shift_right(x, 52), shift_left(y, 12)),
           _mm512_or_si512(shift_right(y, 40), shift_left(z, 24)), shift_right(z, 28)}};
}

// The loaders read eight columns of D: words of 5 dwords, or elements of 3 qwords. Masks keep them from
// reading beyond the last column.
struct WordLoader {
  static constexpr std::size_t kWidth = W160::kWordBytes;
  WordMasks masks;

  PIRX_INLINE_IFMA explicit WordLoader(std::size_t lanes) : masks(lanes) {}
  PIRX_INLINE_IFMA Limbs52 load(const std::byte* from) const {
    const Lanes words = load_words(from, masks);
    return split52(words.x, words.y, words.z);
  }
};

struct SumLoader {
  static constexpr std::size_t kWidth = sizeof(Elem);
  __mmask8 first, second, third;

  PIRX_INLINE_IFMA explicit SumLoader(std::size_t lanes) {
    const std::uint32_t mask = (std::uint32_t{1} << (3 * lanes)) - 1;
    first = static_cast<__mmask8>(mask);
    second = static_cast<__mmask8>(mask >> 8);
    third = static_cast<__mmask8>(mask >> 16);
  }
  // Loads qwords 0-7, 8-15 and 16-23, of which every third one goes to x, y and z.
  PIRX_INLINE_IFMA Limbs52 load(const std::byte* from) const {
    const __m512i a = _mm512_maskz_loadu_epi64(first, from);
    const __m512i b = _mm512_maskz_loadu_epi64(second, from + 64);
    const __m512i c = _mm512_maskz_loadu_epi64(third, from + 128);
    const __m512i x_ab = _mm512_setr_epi64(0, 3, 6, 9, 12, 15, 0, 0);
    const __m512i y_ab = _mm512_setr_epi64(1, 4, 7, 10, 13, 0, 0, 0);
    const __m512i z_ab = _mm512_setr_epi64(2, 5, 8, 11, 14, 0, 0, 0);
    const __m512i x_c = _mm512_setr_epi64(0, 0, 0, 0, 0, 0, 2, 5);
    const __m512i y_c = _mm512_setr_epi64(0, 0, 0, 0, 0, 0, 3, 6);
    const __m512i z_c = _mm512_setr_epi64(0, 0, 0, 0, 0, 1, 4, 7);
    return split52(_mm512_mask_permutexvar_epi64(_mm512_permutex2var_epi64(a, x_ab, b), 0xc0, x_c, c),
                   _mm512_mask_permutexvar_epi64(_mm512_permutex2var_epi64(a, y_ab, b), 0xe0, y_c, c),
                   _mm512_mask_permutexvar_epi64(_mm512_permutex2var_epi64(a, z_ab, b), 0xe0, z_c, c));
  }
};

// Limbs of kQ scalars of one row of D.
template <std::size_t kQ>
struct Scalars {
  std::uint64_t limb[kQ][4];
};

// Prefetches the next rows in the order in which they lie, some lines for each row that is multiplied,
// because memory is fastest when it is read in runs. A prefetch never faults.
class Ahead {
 public:
  Ahead(const std::byte* from, std::size_t stride, std::size_t bytes)
      : row_(from), at_(0), stride_(stride), bytes_(bytes) {}
  template <std::size_t kBytes>
  PIRX_INLINE_IFMA void fetch() {
    for (std::size_t line = 0; line < kBytes; line += 64) {
      _mm_prefetch(reinterpret_cast<const char*>(row_ + at_ + line), _MM_HINT_T1);
    }
    at_ += kBytes;
    if (at_ >= bytes_) {
      at_ = 0;
      row_ += stride_;
    }
  }

 private:
  const std::byte* row_;
  std::size_t at_, stride_, bytes_;
};

// sums[v][i] += scalars of query i times the v-th eight columns of D.
template <class Loader, std::size_t kQ, std::size_t kV>
PIRX_INLINE_IFMA void accumulate(const Loader (&loaders)[kV], std::size_t rows, const Scalars<kQ>* scalars,
                                 const std::byte* D, std::size_t d_stride, Ahead& ahead,
                                 __m512i (&sums)[kV][kQ][kColumns]) {
  for (std::size_t row = 0; row < rows; ++row, D += d_stride) {
    ahead.fetch<kV * kLanes * Loader::kWidth>();
#pragma GCC unroll 3
    for (std::size_t v = 0; v < kV; ++v) {
      const Limbs52 d = loaders[v].load(D + v * kLanes * Loader::kWidth);
#pragma GCC unroll 3
      for (std::size_t i = 0; i < kQ; ++i) {
#pragma GCC unroll 4
        for (std::size_t m = 0; m < 4; ++m) {
          const __m512i a = _mm512_set1_epi64(static_cast<long long>(scalars[row].limb[i][m]));
#pragma GCC unroll 4
          for (std::size_t n = 0; n < 4; ++n) {
            sums[v][i][m + n] = _mm512_madd52lo_epu64(sums[v][i][m + n], d.limb[n], a);
            // The high half of two top limbs is zero.
            if (m + n < 6) sums[v][i][m + n + 1] = _mm512_madd52hi_epu64(sums[v][i][m + n + 1], d.limb[n], a);
          }
        }
      }
    }
  }
}

PIRX_INLINE_IFMA __m512i seven_times(__m512i a) { return _mm512_sub_epi64(shift_left(a, 3), a); }

// Eight elements, 24 bytes each.
PIRX_INLINE_IFMA void store_sums(const Limbs52& a, const SumLoader& loader, std::byte* to) {
  const __m512i x = _mm512_or_si512(a.limb[0], shift_left(a.limb[1], 52));
  const __m512i y = _mm512_or_si512(shift_right(a.limb[1], 12), shift_left(a.limb[2], 40));
  const __m512i z = _mm512_or_si512(shift_right(a.limb[2], 24), shift_left(a.limb[3], 28));
  // SumLoader::load's order: from 8 on an index means y, and z fills every third place.
  const __m512i first = _mm512_setr_epi64(0, 8, 0, 1, 9, 0, 2, 10);
  const __m512i second = _mm512_setr_epi64(0, 3, 11, 0, 4, 12, 0, 5);
  const __m512i third = _mm512_setr_epi64(13, 0, 6, 14, 0, 7, 15, 0);
  const __m512i z_first = _mm512_setr_epi64(0, 0, 0, 0, 0, 1, 0, 0);
  const __m512i z_second = _mm512_setr_epi64(2, 0, 0, 3, 0, 0, 4, 0);
  const __m512i z_third = _mm512_setr_epi64(0, 5, 0, 0, 6, 0, 0, 7);
  _mm512_mask_storeu_epi64(
      to, loader.first,
      _mm512_mask_permutexvar_epi64(_mm512_permutex2var_epi64(x, first, y), 0x24, z_first, z));
  _mm512_mask_storeu_epi64(
      to + 64, loader.second,
      _mm512_mask_permutexvar_epi64(_mm512_permutex2var_epi64(x, second, y), 0x49, z_second, z));
  _mm512_mask_storeu_epi64(
      to + 128, loader.third,
      _mm512_mask_permutexvar_epi64(_mm512_permutex2var_epi64(x, third, y), 0x92, z_third, z));
}

// Carries of signed limbs; all but the top one become 52 bits.
template <std::size_t n>
PIRX_INLINE_IFMA void carry(__m512i (&limb)[n]) {
  const __m512i mask = all_lanes(kMask52);
  for (std::size_t k = 0; k + 1 < n; ++k) {
    limb[k + 1] = _mm512_add_epi64(limb[k + 1], _mm512_maskz_srai_epi64(0xff, limb[k], 52));
    limb[k] = _mm512_and_si512(limb[k], mask);
  }
}

// 52 bits from bit 4 of `lower` on, where `upper` is the next limb.
PIRX_INLINE_IFMA __m512i straddling(__m512i lower, __m512i upper) {
  return _mm512_or_si512(shift_right(lower, 4), _mm512_and_si512(shift_left(upper, 48), all_lanes(kMask52)));
}

// Adds sums of products, modulo p, to as many elements at `to` as the loader has lanes. Reduces as
// word_prime_arith.h does: N = L + 2^160 H + 2^320 T = L - 7 H + 49 T, kept positive by adding 7 p.
PIRX_INLINE_IFMA void finish(const __m512i (&sums)[kColumns], const SumLoader& loader, std::byte* to) {
  const __m512i low4 = all_lanes(15), low52 = all_lanes(kMask52);
  __m512i wide[kColumns];
  wide[0] = sums[0];
  // The columns fill 64 bits: no signs yet.
  for (std::size_t k = 0; k + 1 < kColumns; ++k) {
    wide[k + 1] = _mm512_add_epi64(sums[k + 1], shift_right(wide[k], 52));
    wide[k] = _mm512_and_si512(wide[k], low52);
  }
  // The sum is below 2^331, so that T is below 2^11: bits 8 and up of limb 6.
  const __m512i high[4] = {straddling(wide[3], wide[4]), straddling(wide[4], wide[5]),
                           straddling(wide[5], wide[6]), _mm512_and_si512(shift_right(wide[6], 4), low4)};
  const __m512i top = shift_right(wide[6], 8);
  wide[3] = _mm512_and_si512(wide[3], low4);
  // 7 p = 7 * 2^160 + 49.
  wide[0] = _mm512_add_epi64(wide[0], seven_times(seven_times(_mm512_add_epi64(top, all_lanes(1)))));
  wide[3] = _mm512_add_epi64(wide[3], all_lanes(7 << 4));
  const Limbs52 before = loader.load(to);
  __m512i t[4];
  for (std::size_t k = 0; k < 4; ++k) {
    t[k] = _mm512_add_epi64(_mm512_sub_epi64(wide[k], seven_times(high[k])),
                            _mm512_and_si512(before.limb[k], low52));
  }
  carry(t);
  // t < 2^164. Once more with its few bits above 2^160; adding p keeps it positive and below 2p.
  t[0] = _mm512_add_epi64(_mm512_sub_epi64(t[0], seven_times(shift_right(t[3], 4))), all_lanes(7));
  t[3] = _mm512_add_epi64(_mm512_and_si512(t[3], low4), all_lanes(1 << 4));
  carry(t);
  __m512i less[4] = {_mm512_sub_epi64(t[0], all_lanes(7)), t[1], t[2],
                     _mm512_sub_epi64(t[3], all_lanes(1 << 4))};
  carry(less);
  const __mmask8 keep = _mm512_movepi64_mask(less[3]);
  Limbs52 result;
  for (std::size_t k = 0; k < 4; ++k) result.limb[k] = _mm512_mask_blend_epi64(keep, less[k], t[k]);
  store_sums(result, loader, to);
}

template <class Loader, std::size_t kQ>
PIRX_TARGET_IFMA void multiply_columns(std::size_t rows, std::size_t s, const Elem* Q, std::size_t q_stride,
                                       const std::byte* D, std::size_t d_stride, Elem* R,
                                       std::size_t r_stride) {
  // A single query leaves registers free for more columns.
  constexpr std::size_t kV = kQ == 1 ? 3 : 1;
  constexpr std::size_t kStep = kV * kLanes;
  constexpr std::size_t kBlock = 768;    // columns whose sums stay in the cache
  constexpr std::size_t kTileRows = 32;  // rows of a block of columns that stay there too
  Scalars<kQ> scalars[kRows];
  for (std::size_t i = 0; i < kQ; ++i) {
    const auto* from = reinterpret_cast<const std::byte*>(Q) + i * q_stride;
    for (std::size_t row = 0; row < rows; ++row, from += sizeof(Elem)) {
      Elem a;
      std::memcpy(&a, from, sizeof a);
      const std::uint64_t limbs[4] = {a.limb[0], a.limb[0] >> 52 | a.limb[1] << 12,
                                      a.limb[1] >> 40 | a.limb[2] << 24, a.limb[2] >> 28};
      std::memcpy(scalars[row].limb[i], limbs, sizeof limbs);
    }
  }
  alignas(64) std::uint64_t stored[kBlock / kLanes][kQ][kColumns][kLanes];
  for (std::size_t first = 0; first < s; first += kBlock) {
    const std::size_t columns = std::min(kBlock, s - first);
    for (std::size_t row = 0; row < rows; row += kTileRows) {
      const std::size_t height = std::min(kTileRows, rows - row);
      const std::byte* tile = D + row * d_stride + first * Loader::kWidth;
      Ahead ahead(tile + height * d_stride, d_stride, columns * Loader::kWidth);
      for (std::size_t j = 0; j < columns; j += kStep) {
        const auto lanes_of = [&](std::size_t v) {
          return std::min(kLanes, columns - std::min(columns, j + v * kLanes));
        };
        auto* const kept = stored + j / kLanes;
        __m512i sums[kV][kQ][kColumns];
        for (std::size_t v = 0; v < kV; ++v) {
          for (std::size_t i = 0; i < kQ; ++i) {
            for (std::size_t k = 0; k < kColumns; ++k) {
              sums[v][i][k] = row == 0 ? _mm512_setzero_si512() : _mm512_load_si512(kept[v][i][k]);
            }
          }
        }
        const std::byte* from = tile + j * Loader::kWidth;
        if constexpr (kV == 1) {
          const Loader loaders[1] = {Loader(lanes_of(0))};
          accumulate(loaders, height, scalars + row, from, d_stride, ahead, sums);
        } else {
          static_assert(kV == 3);
          const Loader loaders[3] = {Loader(lanes_of(0)), Loader(lanes_of(1)), Loader(lanes_of(2))};
          accumulate(loaders, height, scalars + row, from, d_stride, ahead, sums);
        }
        if (row + height == rows) {
          auto* to = reinterpret_cast<std::byte*>(R) + (first + j) * sizeof(Elem);
          for (std::size_t v = 0; v < kV; ++v) {
            const SumLoader out(lanes_of(v));
            for (std::size_t i = 0; i < kQ; ++i) {
              finish(sums[v][i], out, to + i * r_stride + v * kLanes * sizeof(Elem));
            }
          }
          continue;
        }
        for (std::size_t v = 0; v < kV; ++v) {
          for (std::size_t i = 0; i < kQ; ++i) {
            for (std::size_t k = 0; k < kColumns; ++k) _mm512_store_si512(kept[v][i][k], sums[v][i][k]);
          }
        }
      }
    }
  }
}

struct Ifma {
  template <bool kWords>
  static void muladd(const W160&, std::size_t q, std::size_t r, std::size_t s, const Elem* Q,
                     std::size_t q_stride, const std::byte* D, std::size_t d_stride, Elem* R,
                     std::size_t r_stride) {
    using Loader = std::conditional_t<kWords, WordLoader, SumLoader>;
    constexpr decltype(&multiply_columns<Loader, 1>) kByQueries[kQueries] = {
        multiply_columns<Loader, 1>, multiply_columns<Loader, 2>, multiply_columns<Loader, 3>};
    for (std::size_t row = 0; row < r; row += kRows) {
      for (std::size_t i = 0; i < q; i += kQueries) {
        const auto* q_block = reinterpret_cast<const std::byte*>(Q) + i * q_stride + row * sizeof(Elem);
        auto* r_block = reinterpret_cast<std::byte*>(R) + i * r_stride;
        kByQueries[std::min(kQueries, q - i) - 1](
            std::min(kRows, r - row), s, reinterpret_cast<const Elem*>(q_block), q_stride, D + row * d_stride,
            d_stride, reinterpret_cast<Elem*>(r_block), r_stride);
      }
    }
  }

  // out = a + b, or a - b, eight elements at a time.
  template <bool kSubtract>
  PIRX_TARGET_IFMA static void combine(const W160&, std::size_t n, const Elem* a, const Elem* b, Elem* out) {
    const __m512i low52 = all_lanes(kMask52);
    for (std::size_t i = 0; i < n; i += kLanes) {
      const SumLoader loader(std::min(kLanes, n - i));
      const Limbs52 x = loader.load(reinterpret_cast<const std::byte*>(a + i));
      const Limbs52 y = loader.load(reinterpret_cast<const std::byte*>(b + i));
      __m512i plain[4], wrapped[4];
      for (std::size_t k = 0; k < 4; ++k) {
        const __m512i left = _mm512_and_si512(x.limb[k], low52), right = _mm512_and_si512(y.limb[k], low52);
        plain[k] = kSubtract ? _mm512_sub_epi64(left, right) : _mm512_add_epi64(left, right);
        // p or -p: 7 at the bottom, 2^160 at the top.
        const __m512i prime = all_lanes(k == 0 ? 7 : k == 3 ? 1 << 4 : 0);
        wrapped[k] = kSubtract ? _mm512_add_epi64(plain[k], prime) : _mm512_sub_epi64(plain[k], prime);
      }
      carry(plain);
      carry(wrapped);
      // a - b where that is no less than 0, a + b - p likewise.
      const __mmask8 below = _mm512_movepi64_mask(kSubtract ? plain[3] : wrapped[3]);
      const __mmask8 wraps = static_cast<__mmask8>(kSubtract ? below : ~below);
      Limbs52 result;
      for (std::size_t k = 0; k < 4; ++k) {
        result.limb[k] = _mm512_mask_blend_epi64(wraps, plain[k], wrapped[k]);
      }
      store_sums(result, loader, reinterpret_cast<std::byte*>(out + i));
    }
  }
};

}  // namespace

constinit const Kernels<W160> kW160Ifma = [] {
  auto table = make_kernels<W160, Ifma>("ifma", kCpuAvx512 | kCpuAvx512Ifma, 256, 2560);
  table.toom = &kW160Toom;
  table.crossovers.toom = 8;
  return table;
}();

}  // namespace pirx::fp

#endif
