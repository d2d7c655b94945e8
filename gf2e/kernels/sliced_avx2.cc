// SPDX-License-Identifier: Apache-2.0
// Bit-sliced kernels on AVX2 without GFNI. A matrix of 8 x 8 bits is two tables of sixteen bytes: its
// products with the low nibbles and with the high nibbles. vpshufb looks them up inside a register, so no
// address depends on a value.
#include "gf2e/kernels/kernels.h"

#if defined(PIRX_GF2E_X86)

#define PIRX_GF2E_TARGET __attribute__((target("avx2")))
#include "gf2e/kernels/sliced_impl.h"
// Uses the macro above.
#include "gf2e/kernels/sliced_ops256.h"

namespace pirx::gf2e {
namespace {

struct Ops : Ops256 {
  static constexpr std::size_t kTile = 4, kTileVecs = 2, kFusedTile = 1, kFusedVecs = 1;

  /// Transposes by three rounds of swapping off-diagonal blocks. The bytes come out reversed, as from
  /// vgf2p8affineqb.
  PIRX_GF2E_INLINE Vec transpose_bits(Vec v) {
    v = reverse_bytes(v);
    v = swap<7>(v, 0x00AA00AA00AA00AA);
    v = swap<14>(v, 0x0000CCCC0000CCCC);
    return swap<28>(v, 0x00000000F0F0F0F0);
  }

  struct Data {
    Vec low, high;  // nibbles
  };
  struct Matrix {
    Vec low, high;  // tables
  };
  static constexpr std::size_t kMatrixBytes = 32;
  PIRX_GF2E_INLINE void store_matrix(std::uint64_t matrix, std::uint64_t* to) {
    // Column k as a byte: bit i is bit k of row i, which is byte 7 - i.
    std::uint8_t table[2][16] = {};
    for (unsigned k = 0; k < 8; ++k) {
      std::uint8_t column = 0;
      for (unsigned i = 0; i < 8; ++i) {
        column = static_cast<std::uint8_t>(column | ((matrix >> (8 * (7 - i) + k) & 1) << i));
      }
      std::uint8_t* half = table[k / 4];
      for (unsigned n = 0; n < 1u << (k % 4); ++n) {
        half[n + (1u << (k % 4))] = static_cast<std::uint8_t>(half[n] ^ column);
      }
    }
    std::memcpy(to, table, sizeof table);
  }
  PIRX_GF2E_INLINE Matrix matrix(const std::uint64_t* from) { return {half(from), half(from + 2)}; }
  PIRX_GF2E_INLINE Data data(Vec v) {
    const Vec nibble = _mm256_set1_epi8(15);
    return {v & nibble, _mm256_srli_epi64(v, 4) & nibble};
  }
  PIRX_GF2E_INLINE Vec add_products(Vec sum, const Data& x, const Matrix& a, const Data& y, const Matrix& b) {
    sum ^= _mm256_shuffle_epi8(a.low, x.low) ^ _mm256_shuffle_epi8(a.high, x.high);
    return sum ^ _mm256_shuffle_epi8(b.low, y.low) ^ _mm256_shuffle_epi8(b.high, y.high);
  }

 private:
  PIRX_GF2E_INLINE Vec half(const std::uint64_t* from) {
    return _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
  }
  /// Swaps the bits of `mask` with those `shift` above them.
  template <int shift>
  PIRX_GF2E_INLINE Vec swap(Vec v, std::uint64_t mask) {
    const Vec changed = (v ^ _mm256_srli_epi64(v, shift)) & set64(mask);
    return v ^ changed ^ _mm256_slli_epi64(changed, shift);
  }
};

}  // namespace

constinit const SlicedKernels kGf2SlicedAvx2 = make_sliced<Ops, Gf2>();
constinit const SlicedKernels kGf2_8SlicedAvx2 = make_sliced<Ops, Gf2_8>();
constinit const SlicedKernels kGf2_16SlicedAvx2 = make_sliced<Ops, Gf2_16>();

}  // namespace pirx::gf2e
#endif
