// SPDX-License-Identifier: Apache-2.0
// Products of residues on AVX2: bytes are widened to 16 bits; vpmaddwd multiplies 16 pairs and adds
// neighbouring products.
#include "kernels.h"

#if defined(PIRX_FP_X86)

#include <immintrin.h>

#include <algorithm>
#include <cstring>

#include "residues_combine.h"

namespace pirx::fp {
namespace {

#define PIRX_TARGET_AVX2 __attribute__((target("avx2")))
#define PIRX_INLINE_AVX2 PIRX_TARGET_AVX2 inline __attribute__((always_inline))

constexpr std::size_t kLanes = 8;
constexpr std::size_t kMostGroups = ResidueBasis::kMostBytes / 4;
// Adding it to a float below 2^22 leaves the nearest integer in the low bits.
constexpr float kRound = 12582912.0F;  // 1.5 * 2^23

/// Eight integers in groups of four bytes: the even bytes of each group and the odd ones, 16 bits wide.
struct Integers {
  __m256i even[kMostGroups], odd[kMostGroups];
};

PIRX_TARGET_AVX2 void load_integers(const std::byte* from, std::size_t stride, std::size_t bytes,
                                    Integers& out) {
  const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  const __m256i at = _mm256_mullo_epi32(lane, _mm256_set1_epi32(static_cast<int>(stride)));
  const std::size_t groups = (bytes + 3) / 4;
  for (std::size_t g = 0; g < groups; ++g) {
    __m256i group = _mm256_i32gather_epi32(reinterpret_cast<const int*>(from + 4 * g), at, 1);
    if (g + 1 == groups) {
      // Clears the bytes beyond the integer.
      const unsigned spare = static_cast<unsigned>(8 * (4 * groups - bytes));
      group = _mm256_and_si256(group, _mm256_set1_epi32(static_cast<int>(~0U >> spare)));
    }
    out.even[g] = _mm256_and_si256(group, _mm256_set1_epi32(0x00ff00ff));
    out.odd[g] = _mm256_srli_epi16(group, 8);
  }
}

/// Two weights of 16 bits side by side.
PIRX_INLINE_AVX2 __m256i weights(const std::int8_t* from) {
  const std::uint32_t low = static_cast<std::uint16_t>(from[0]), high = static_cast<std::uint16_t>(from[2]);
  return _mm256_set1_epi32(static_cast<int>(high << 16 | low));
}

/// Reduces eight integers minus `shift`: the low byte of each lane becomes the remainder closest to zero.
PIRX_INLINE_AVX2 __m256i reduce(const ResidueBasis::Modulus& modulus, int shift, std::size_t groups,
                                const Integers& integers) {
  __m256i sum = _mm256_set1_epi32(-shift);
  for (std::size_t g = 0; g < groups; ++g) {
    const std::int8_t* weight = modulus.weight.data() + 4 * g;
    sum = _mm256_add_epi32(sum, _mm256_madd_epi16(integers.even[g], weights(weight)));
    sum = _mm256_add_epi32(sum, _mm256_madd_epi16(integers.odd[g], weights(weight + 1)));
  }
  const __m256 scaled = _mm256_mul_ps(_mm256_cvtepi32_ps(sum), _mm256_set1_ps(modulus.inverse));
  const __m256i quotient = _mm256_castps_si256(_mm256_add_ps(scaled, _mm256_set1_ps(kRound)));
  // This is right modulo 2^16, which is enough.
  return _mm256_sub_epi16(
      sum, _mm256_mullo_epi16(quotient, _mm256_set1_epi16(static_cast<short>(modulus.modulus))));
}

PIRX_TARGET_AVX2 void scalars(const ResidueBasis& basis, const std::byte* from, std::size_t stride,
                              std::size_t bytes, std::size_t count, std::byte* to,
                              std::size_t modulus_stride) noexcept {
  const std::size_t groups = (bytes + 3) / 4;
  const __m256i low_bytes = _mm256_broadcastsi128_si256(_mm_cvtsi32_si128(0x0c080400));
  for (std::size_t i = 0; i < ResidueKernels::kRows; i += kLanes) {
    std::byte space[kLanes * ResidueBasis::kMostBytes] = {};
    for (std::size_t j = i; j < std::min(count, i + kLanes); ++j) {
      std::memcpy(space + (j - i) * groups * 4, from + j * stride, bytes);
    }
    Integers integers;
    load_integers(space, groups * 4, bytes, integers);
    for (std::size_t m = 0; m < basis.count; ++m) {
      const __m256i bytes_of = _mm256_shuffle_epi8(reduce(basis.moduli[m], 0, groups, integers), low_bytes);
      const int halves[2] = {_mm256_cvtsi256_si32(bytes_of),
                             _mm_cvtsi128_si32(_mm256_extracti128_si256(bytes_of, 1))};
      std::memcpy(to + m * modulus_stride + i, halves, sizeof halves);
    }
  }
}

PIRX_TARGET_AVX2 void words(const ResidueBasis& basis, const std::byte* from, std::size_t stride,
                            std::size_t bytes, std::size_t rows, std::size_t columns, std::byte* to,
                            std::size_t modulus_stride) noexcept {
  constexpr std::size_t kRowBytes = ResidueKernels::kColumns * ResidueBasis::kMostBytes + 4;
  const std::size_t groups = (bytes + 3) / 4;
  const __m256i low = _mm256_set1_epi32(0xff);
  for (std::size_t row = 0; row < ResidueKernels::kRows; row += 4, to += 64) {
    std::byte space[4][kRowBytes] = {};
    for (std::size_t v = 0; v < 4 && row + v < rows; ++v) {
      std::memcpy(space[v], from + (row + v) * stride, columns * bytes);
    }
    for (std::size_t col = 0; col < ResidueKernels::kColumns; col += kLanes) {
      Integers integers[4];
      for (std::size_t v = 0; v < 4; ++v) load_integers(space[v] + col * bytes, bytes, bytes, integers[v]);
      for (std::size_t m = 0; m < basis.count; ++m) {
        const int half = (basis.moduli[m].modulus - 1) / 2;
        __m256i packed = _mm256_setzero_si256();
        for (std::size_t v = 4; v-- > 0;) {
          const __m256i residue = reduce(basis.moduli[m], half, groups, integers[v]);
          packed = _mm256_or_si256(_mm256_slli_epi32(packed, 8), _mm256_and_si256(residue, low));
        }
        packed = _mm256_add_epi8(packed, _mm256_set1_epi8(static_cast<char>(half)));
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + m * modulus_stride + col * 4), packed);
      }
    }
  }
}

constexpr std::size_t kTile = 2;  // queries

/// Sums of kTile queries over one panel.
PIRX_TARGET_AVX2 void multiply_tile(std::size_t blocks, const std::byte* A, const std::byte* D,
                                    std::int32_t* sums) {
  __m256i sum[kTile][4] = {};  // of four columns, two to a column
  for (std::size_t block = 0; block < blocks; ++block) {
    for (std::size_t k = 0; k < ResidueKernels::kRows; k += 4) {
      __m256i d[4];
      for (std::size_t v = 0; v < 4; ++v) {
        const auto* at = D + k * ResidueKernels::kColumns + v * 16;
        d[v] = _mm256_cvtepu8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(at)));
      }
      for (std::size_t q = 0; q < kTile; ++q) {
        std::int32_t four = 0;
        std::memcpy(&four, A + q * ResidueKernels::kRows + k, sizeof four);
        const __m256i a = _mm256_broadcastq_epi64(_mm_cvtepi8_epi16(_mm_cvtsi32_si128(four)));
        for (std::size_t v = 0; v < 4; ++v) {
          sum[q][v] = _mm256_add_epi32(sum[q][v], _mm256_madd_epi16(d[v], a));
        }
      }
    }
    A += ResidueKernels::kBlockBytes;
    D += ResidueKernels::kBlockBytes;
  }
  for (std::size_t q = 0; q < kTile; ++q) {
    for (std::size_t v = 0; v < 4; v += 2) {
      const __m256i whole = _mm256_permute4x64_epi64(_mm256_hadd_epi32(sum[q][v], sum[q][v + 1]), 0xd8);
      auto* to = reinterpret_cast<__m256i*>(sums + q * ResidueKernels::kColumns + v * 4);
      _mm256_storeu_si256(to, _mm256_add_epi32(_mm256_loadu_si256(to), whole));
    }
  }
}

void multiply(std::size_t tiles, std::size_t blocks, std::size_t panels, const std::byte* A,
              std::size_t tile_stride, const std::byte* D, std::size_t panel_stride,
              std::int32_t* sums) noexcept {
  // The blocks of D that stay in the first-level cache while all queries are multiplied by them.
  constexpr std::size_t kRun = 16;
  constexpr std::size_t kSums = ResidueKernels::kQueries * ResidueKernels::kColumns;
  for (std::size_t panel = 0; panel < panels; ++panel) {
    for (std::size_t block = 0; block < blocks; block += kRun) {
      const std::byte* at = D + panel * panel_stride + block * ResidueKernels::kBlockBytes;
      for (std::size_t tile = 0; tile < tiles; ++tile) {
        for (std::size_t q = 0; q < ResidueKernels::kQueries; q += kTile) {
          multiply_tile(
              std::min(kRun, blocks - block),
              A + tile * tile_stride + block * ResidueKernels::kBlockBytes + q * ResidueKernels::kRows, at,
              sums + (panel * tiles + tile) * kSums + q * ResidueKernels::kColumns);
        }
      }
    }
  }
}

PIRX_TARGET_AVX2 void combine(const ResidueBasis& basis, const std::int32_t* from, std::size_t stride,
                              std::uint64_t* limbs, std::uint64_t* quotients) noexcept {
  combine_residues(basis, from, stride, limbs, quotients);
}

}  // namespace

constinit const ResidueKernels kResiduesAvx2 = {
    // to[m][k] = from[k] mod modulus m, in [-128, 127].
    .scalars = scalars,
    // to[m][k][j] = from[k][j] mod modulus m, in [0, 255].
    .words = words,
    // sums[i][j] += A[i][0] D[0][j] + A[i][1] D[1][j] + ..., modulo one modulus.
    .multiply = multiply,
    // limbs[j] = the integer that is from[m][j] modulo each modulus m.
    .combine = combine};

}  // namespace pirx::fp

#endif
