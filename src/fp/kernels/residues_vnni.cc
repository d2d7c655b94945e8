// SPDX-License-Identifier: Apache-2.0
// Products of residues on AVX-512 VNNI: vpdpbusd multiplies 64 pairs of bytes and adds the products in groups
// of four.
#include "kernels.h"

#if defined(PIRX_FP_X86)

#include <immintrin.h>

#include <algorithm>
#include <cstring>

#include "residues_combine.h"
#include "residues_vnni.h"

namespace pirx::fp {
namespace vnni {
namespace {

#define PIRX_TARGET_VNNI __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512vnni")))
#define PIRX_INLINE_VNNI PIRX_TARGET_VNNI inline __attribute__((always_inline))

constexpr std::size_t kLanes = 16;
constexpr std::size_t kVectors = 4;  // of integers that are reduced side by side
// Adding it to a float below 2^22 leaves the nearest integer in the low bits.
constexpr float kRound = 12582912.0F;  // 1.5 * 2^23

/// Sixteen integers of `bytes` bytes, more than 4 * (kGroups - 1): vector g holds bytes 4g to 4g + 3 of each.
template <std::size_t kGroups>
PIRX_INLINE_VNNI void load_integers(const std::byte* from, std::size_t stride, std::size_t bytes,
                                    __m512i (&out)[kGroups]) {
  const __m512i lane = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  const __m512i at = _mm512_mullo_epi32(lane, _mm512_set1_epi32(static_cast<int>(stride)));
  for (std::size_t g = 0; g < kGroups; ++g) {
    out[g] = _mm512_mask_i32gather_epi32(_mm512_setzero_si512(), 0xffff, at, from + 4 * g, 1);
  }
  // Clears the bytes beyond the integer.
  const unsigned spare = static_cast<unsigned>(8 * (4 * kGroups - bytes));
  out[kGroups - 1] = _mm512_and_si512(out[kGroups - 1], _mm512_set1_epi32(static_cast<int>(~0U >> spare)));
}

PIRX_INLINE_VNNI __m512i broadcast(const std::int8_t* from) {
  std::int32_t word = 0;
  std::memcpy(&word, from, sizeof word);
  return _mm512_set1_epi32(word);
}

/// Reduces kVectors vectors of integers minus `shift`: the low byte of each lane becomes the remainder
/// closest to zero.
template <std::size_t kGroups>
PIRX_INLINE_VNNI void reduce(const ResidueBasis::Modulus& modulus, int shift,
                             const __m512i (&integers)[kVectors][kGroups], __m512i (&out)[kVectors]) {
  const __m512 inverse = _mm512_set1_ps(modulus.inverse), round = _mm512_set1_ps(kRound);
  // The product of the quotient's low byte and -modulus is right modulo 256, which is enough.
  const __m512i minus = _mm512_set1_epi32(-modulus.modulus & 0xff);
  for (std::size_t v = 0; v < kVectors; ++v) out[v] = _mm512_set1_epi32(-shift);
  for (std::size_t g = 0; g < kGroups; ++g) {
    const __m512i weight = broadcast(modulus.weight.data() + 4 * g);
    for (std::size_t v = 0; v < kVectors; ++v) out[v] = _mm512_dpbusd_epi32(out[v], integers[v][g], weight);
  }
  for (std::size_t v = 0; v < kVectors; ++v) {
    const __m512 quotient = _mm512_fmadd_ps(_mm512_cvtepi32_ps(out[v]), inverse, round);
    out[v] = _mm512_dpbusd_epi32(out[v], _mm512_castps_si512(quotient), minus);
  }
}

template <std::size_t kGroups>
PIRX_TARGET_VNNI void scalars_of(const ResidueBasis& basis, const std::byte* from, std::size_t stride,
                                 std::size_t bytes, std::byte* to, std::size_t modulus_stride) {
  __m512i integers[kVectors][kGroups], residues[kVectors];
  for (std::size_t v = 0; v < kVectors; ++v) {
    load_integers(from + v * kLanes * stride, stride, bytes, integers[v]);
  }
  for (std::size_t m = 0; m < basis.count; ++m, to += modulus_stride) {
    reduce(basis.moduli[m], 0, integers, residues);
    for (std::size_t v = 0; v < kVectors; ++v) {
      _mm_storeu_si128(reinterpret_cast<__m128i*>(to + v * kLanes), _mm512_cvtepi32_epi8(residues[v]));
    }
  }
}

/// Four rows of sixteen words, a row's bytes kRowBytes apart.
constexpr std::size_t kRowBytes = kLanes * ResidueBasis::kMostBytes + 64;

template <std::size_t kGroups>
PIRX_TARGET_VNNI void words_of(const ResidueBasis& basis, const std::byte* rows, std::size_t bytes,
                               std::byte* to, std::size_t modulus_stride) {
  __m512i integers[kVectors][kGroups], residues[kVectors];
  for (std::size_t v = 0; v < kVectors; ++v) {
    load_integers(rows + v * kRowBytes, bytes, bytes, integers[v]);
  }
  for (std::size_t m = 0; m < basis.count; ++m, to += modulus_stride) {
    const int half = (basis.moduli[m].modulus - 1) / 2;
    reduce(basis.moduli[m], half, integers, residues);
    __m512i packed = residues[0];
    packed = _mm512_mask_mov_epi8(packed, 0x2222222222222222, _mm512_slli_epi32(residues[1], 8));
    packed = _mm512_mask_mov_epi8(packed, 0x4444444444444444, _mm512_slli_epi32(residues[2], 16));
    packed = _mm512_mask_mov_epi8(packed, 0x8888888888888888, _mm512_slli_epi32(residues[3], 24));
    _mm512_storeu_si512(to, _mm512_add_epi8(packed, _mm512_set1_epi8(static_cast<char>(half))));
  }
}

constexpr std::size_t kTileQueries = 8;

template <std::size_t kPanels>
PIRX_TARGET_VNNI void multiply_tile(std::size_t blocks, const std::byte* A, const std::byte* D,
                                    std::size_t panel_stride, std::int32_t* sums, std::size_t sums_stride) {
  __m512i sum[kPanels][kTileQueries];
  for (std::size_t p = 0; p < kPanels; ++p) {
    for (std::size_t q = 0; q < kTileQueries; ++q) {
      sum[p][q] = _mm512_loadu_si512(sums + p * sums_stride + q * kLanes);
    }
  }
  for (std::size_t block = 0; block < blocks; ++block) {
    for (std::size_t k = 0; k < ResidueKernels::kRows; k += 4) {
      __m512i d[kPanels];
      for (std::size_t p = 0; p < kPanels; ++p) d[p] = _mm512_loadu_si512(D + p * panel_stride + k * kLanes);
      for (std::size_t q = 0; q < kTileQueries; ++q) {
        const __m512i a = broadcast(reinterpret_cast<const std::int8_t*>(A + q * ResidueKernels::kRows + k));
        for (std::size_t p = 0; p < kPanels; ++p) sum[p][q] = _mm512_dpbusd_epi32(sum[p][q], d[p], a);
      }
    }
    A += ResidueKernels::kBlockBytes;
    D += ResidueKernels::kBlockBytes;
  }
  for (std::size_t p = 0; p < kPanels; ++p) {
    for (std::size_t q = 0; q < kTileQueries; ++q) {
      _mm512_storeu_si512(sums + p * sums_stride + q * kLanes, sum[p][q]);
    }
  }
}

// The blocks of two panels of D that stay in the first-level cache.
constexpr std::size_t kRun = 8;

void multiply(std::size_t tiles, std::size_t blocks, std::size_t panels, const std::byte* A,
              std::size_t tile_stride, const std::byte* D, std::size_t panel_stride,
              std::int32_t* sums) noexcept {
  constexpr std::size_t kSums = ResidueKernels::kQueries * ResidueKernels::kColumns;
  for (std::size_t panel = 0; panel < panels; panel += 2) {
    for (std::size_t block = 0; block < blocks; block += kRun) {
      const std::size_t run = std::min(kRun, blocks - block);
      const std::byte* at = D + panel * panel_stride + block * ResidueKernels::kBlockBytes;
      for (std::size_t tile = 0; tile < tiles; ++tile) {
        for (std::size_t half = 0; half < ResidueKernels::kQueries; half += kTileQueries) {
          const std::byte* a =
              A + tile * tile_stride + block * ResidueKernels::kBlockBytes + half * ResidueKernels::kRows;
          std::int32_t* out = sums + (panel * tiles + tile) * kSums + half * kLanes;
          if (panel + 1 < panels) {
            multiply_tile<2>(run, a, at, panel_stride, out, tiles * kSums);
          } else {
            multiply_tile<1>(run, a, at, panel_stride, out, tiles * kSums);
          }
        }
      }
    }
  }
}

}  // namespace

void scalars(const ResidueBasis& basis, const std::byte* from, std::size_t stride, std::size_t bytes,
             std::size_t count, std::byte* to, std::size_t modulus_stride) noexcept {
  std::array<std::byte, ResidueKernels::kRows * ResidueBasis::kMostBytes> space;
  if (count < ResidueKernels::kRows) {
    std::memset(space.data(), 0, space.size());
    const std::size_t groups = (bytes + 3) / 4 * 4;
    for (std::size_t i = 0; i < count; ++i) std::memcpy(space.data() + i * groups, from + i * stride, bytes);
    from = space.data();
    stride = groups;
  }
  switch ((bytes + 3) / 4) {
    case 1:
      return scalars_of<1>(basis, from, stride, bytes, to, modulus_stride);
    case 2:
      return scalars_of<2>(basis, from, stride, bytes, to, modulus_stride);
    case 3:
      return scalars_of<3>(basis, from, stride, bytes, to, modulus_stride);
    case 4:
      return scalars_of<4>(basis, from, stride, bytes, to, modulus_stride);
    case 5:
      return scalars_of<5>(basis, from, stride, bytes, to, modulus_stride);
    default:
      return scalars_of<6>(basis, from, stride, bytes, to, modulus_stride);
  }
}

void words(const ResidueBasis& basis, const std::byte* from, std::size_t stride, std::size_t bytes,
           std::size_t rows, std::size_t columns, std::byte* to, std::size_t modulus_stride) noexcept {
  std::array<std::byte, kVectors * kRowBytes> space;
  std::memset(space.data(), 0, space.size());
  const std::size_t groups = (bytes + 3) / 4;
  for (std::size_t row = 0; row < ResidueKernels::kRows; row += kVectors, to += 64) {
    for (std::size_t v = 0; v < kVectors; ++v) {
      if (row + v < rows) {
        std::memcpy(space.data() + v * kRowBytes, from + (row + v) * stride, columns * bytes);
      } else {
        std::memset(space.data() + v * kRowBytes, 0, columns * bytes);
      }
    }
    switch (groups) {
      case 1:
        words_of<1>(basis, space.data(), bytes, to, modulus_stride);
        break;
      case 2:
        words_of<2>(basis, space.data(), bytes, to, modulus_stride);
        break;
      case 3:
        words_of<3>(basis, space.data(), bytes, to, modulus_stride);
        break;
      case 4:
        words_of<4>(basis, space.data(), bytes, to, modulus_stride);
        break;
      case 5:
        words_of<5>(basis, space.data(), bytes, to, modulus_stride);
        break;
      default:
        words_of<6>(basis, space.data(), bytes, to, modulus_stride);
        break;
    }
  }
}

PIRX_TARGET_VNNI void combine(const ResidueBasis& basis, const std::int32_t* from, std::size_t stride,
                              std::uint64_t* limbs, std::uint64_t* quotients) noexcept {
  combine_residues(basis, from, stride, limbs, quotients);
}

}  // namespace vnni

constinit const ResidueKernels kResiduesVnni = {
    // to[m][k] = from[k] mod modulus m, in [-128, 127].
    .scalars = vnni::scalars,
    // to[m][k][j] = from[k][j] mod modulus m, in [0, 255].
    .words = vnni::words,
    // sums[i][j] += A[i][0] D[0][j] + A[i][1] D[1][j] + ..., modulo one modulus.
    .multiply = vnni::multiply,
    // limbs[j] = the integer that is from[m][j] modulo each modulus m.
    .combine = vnni::combine};

}  // namespace pirx::fp

#endif
