// SPDX-License-Identifier: Apache-2.0
// Bit-sliced kernels on AVX2 without GFNI. A matrix of 8 x 8 bits is two tables of sixteen bytes: its
// products with the low nibbles and with the high nibbles. vpshufb looks them up inside a register, so no
// address depends on a value.
#include "gf2e/kernels/kernels.h"

#if defined(PIRX_GF2E_X86)

#define PIRX_GF2E_ISA "avx2"
#include "gf2e/kernels/sliced_impl.h"
// Uses the macro above.
#include "gf2e/kernels/sliced_ops256.h"

namespace pirx::gf2e {
namespace {

struct Ops : Ops256 {
  static constexpr std::size_t kTile = 4, kTileVecs = 2, kFusedVecs = 1;

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
  /// Byte k of each qword becomes column k of its matrix: bit i is that of row i.
  PIRX_GF2E_INLINE Vec ready(Vec matrices) { return transpose_bits(matrices); }
  PIRX_GF2E_INLINE void store_matrix(std::uint64_t columns, std::uint64_t* to) {
    // Entry n of a table is the sum of the columns at the bits of n: the low half's, then the high half's.
    const Vec all = set64(columns);
    const Vec sum = xor3(_mm256_shuffle_epi8(all, at_bit<0>()), _mm256_shuffle_epi8(all, at_bit<1>()),
                         _mm256_shuffle_epi8(all, at_bit<2>()));
    store(reinterpret_cast<std::byte*>(to), sum ^ _mm256_shuffle_epi8(all, at_bit<3>()));
  }
  PIRX_GF2E_INLINE Matrix matrix(const std::uint64_t* from) { return {half(from), half(from + 2)}; }
  PIRX_GF2E_INLINE Data data(Vec v) {
    const Vec nibble = _mm256_set1_epi8(15);
    return {v & nibble, _mm256_srli_epi64(v, 4) & nibble};
  }
  PIRX_GF2E_INLINE Vec add_product(Vec sum, const Data& x, const Matrix& a) {
    return sum ^ _mm256_shuffle_epi8(a.low, x.low) ^ _mm256_shuffle_epi8(a.high, x.high);
  }
  PIRX_GF2E_INLINE Vec add_products(Vec sum, const Data& x, const Matrix& a, const Data& y, const Matrix& b) {
    return add_product(add_product(sum, x, a), y, b);
  }

 private:
  PIRX_GF2E_INLINE Vec half(const std::uint64_t* from) {
    return _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
  }
  /// Entry n takes column `bit` of its half if that bit of n is set, else nothing.
  template <int bit>
  PIRX_GF2E_INLINE Vec at_bit() {
    const Vec entries =
        _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
    const Vec unset = _mm256_cmpeq_epi8(entries & _mm256_set1_epi8(1 << bit), _mm256_setzero_si256());
    return unset | _mm256_setr_m128i(_mm_set1_epi8(bit), _mm_set1_epi8(bit + 4));
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
