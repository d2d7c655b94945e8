// SPDX-License-Identifier: Apache-2.0
// AVX-512 kernels with GFNI. GF(2^8) multiplies with vgf2p8mulb (modulo 0x11B). GF(2^16) multiplies the split
// bytes of its words by four matrices of 8 x 8 bits (vgf2p8affineqb). No secret is an address in memory.
#include "gf2e/kernels/kernels.h"

#if defined(PIRX_GF2E_X86)

#define PIRX_GF2E_TARGET __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,gfni")))
#include "gf2e/kernels/muladd_impl.h"
// Uses the macro above.
#include "gf2e/kernels/rows512.h"

namespace pirx::gf2e {
namespace {

struct Gf2_8Ops : Rows512 {
  using Elem = Gf2_8::Elem;
  using Coef = Vec;
  static constexpr int kQ = 4, kR = 4, kR1 = 8;

  PIRX_GF2E_INLINE Coef coef(Elem c) { return _mm512_set1_epi8(static_cast<char>(c)); }
  PIRX_GF2E_INLINE Vec muladd(Vec a, const Coef& c, Vec d) { return a ^ _mm512_gf2p8mul_epi8(d, c); }
};

/// The bit matrices of multiplication by x^j. The matrix of any scalar is the sum of those of its bits.
struct PowerMatrices {
  /// power[j] has four matrices of x^j and four of x^(j + 8). Each four map low to low, high to low, low to
  /// high and high to high bytes. As vgf2p8affineqb wants it, the row of output bit i is byte 7 - i.
  alignas(64) std::uint64_t power[8][8] = {};

  constexpr PowerMatrices() {
    for (unsigned j = 0; j < 16; ++j) {
      for (unsigned bit = 0; bit < 16; ++bit) {
        const unsigned image =
            Gf2_16::mul(static_cast<std::uint16_t>(1u << j), static_cast<std::uint16_t>(1u << bit));
        for (unsigned i = 0; i < 16; ++i) {
          const std::uint64_t entry = (image >> i) & 1;
          power[j % 8][j / 8 * 4 + i / 8 * 2 + bit / 8] |= entry << (8 * (7 - i % 8) + bit % 8);
        }
      }
    }
  }
};
constexpr PowerMatrices kPowerMatrices;

/// 64 words as their low bytes and their high bytes, in an order that load and store agree on.
struct Gf2_16Ops {
  using Elem = Gf2_16::Elem;
  struct Vec {
    __m512i low;
    __m512i high;
  };
  struct Coef {
    __m512i low_low, high_low, low_high, high_high;
  };
  static constexpr std::size_t kVecBytes = 128;
  static constexpr int kQ = 4, kR = 4, kR1 = 4;

  PIRX_GF2E_INLINE Coef coef(Elem c) {
    const __m512i bits = _mm512_inserti64x4(_mm512_set1_epi16(static_cast<short>(c)),
                                            _mm256_set1_epi16(static_cast<short>(c >> 8)), 1);
    __m512i sum = _mm512_setzero_si512();
    for (unsigned j = 0; j < 8; ++j) {
      const __m512i mask = _mm512_srai_epi16(_mm512_slli_epi16(bits, 15 - j), 15);
      sum = _mm512_ternarylogic_epi64(sum, mask, _mm512_load_si512(kPowerMatrices.power[j]), 0x78);
    }
    sum ^= _mm512_shuffle_i64x2(sum, sum, 0x4E);
    return {_mm512_permutexvar_epi64(_mm512_set1_epi64(0), sum),
            _mm512_permutexvar_epi64(_mm512_set1_epi64(1), sum),
            _mm512_permutexvar_epi64(_mm512_set1_epi64(2), sum),
            _mm512_permutexvar_epi64(_mm512_set1_epi64(3), sum)};
  }
  PIRX_GF2E_INLINE Vec muladd(Vec a, const Coef& c, Vec d) {
    a.low ^= _mm512_gf2p8affine_epi64_epi8(d.low, c.low_low, 0) ^
             _mm512_gf2p8affine_epi64_epi8(d.high, c.high_low, 0);
    a.high ^= _mm512_gf2p8affine_epi64_epi8(d.low, c.low_high, 0) ^
              _mm512_gf2p8affine_epi64_epi8(d.high, c.high_high, 0);
    return a;
  }
  PIRX_GF2E_INLINE Vec load(const std::byte* from) {
    return swap({Rows512::load(from), Rows512::load(from + 64)});
  }
  PIRX_GF2E_INLINE void store(std::byte* to, Vec v) {
    v = swap(v);
    Rows512::store(to, v.low);
    Rows512::store(to + 64, v.high);
  }
  PIRX_GF2E_INLINE Vec load_part(const std::byte* from, std::size_t bytes) {
    if (bytes < 64) return swap({Rows512::load_part(from, bytes), _mm512_setzero_si512()});
    return swap({Rows512::load(from), Rows512::load_part(from + 64, bytes - 64)});
  }
  PIRX_GF2E_INLINE void store_part(std::byte* to, Vec v, std::size_t bytes) {
    v = swap(v);
    if (bytes < 64) {
      Rows512::store_part(to, v.low, bytes);
    } else {
      Rows512::store(to, v.low);
      Rows512::store_part(to + 64, v.high, bytes - 64);
    }
  }

 private:
  /// Swaps the high bytes of one half with the low bytes of the other; its own inverse.
  PIRX_GF2E_INLINE Vec swap(Vec v) {
    const __m512i low_bytes = _mm512_set1_epi16(0xFF);
    // 0xCA: the first operand chooses bits of the second (1) or the third (0).
    return {_mm512_ternarylogic_epi64(low_bytes, v.low, _mm512_slli_epi16(v.high, 8), 0xCA),
            _mm512_ternarylogic_epi64(low_bytes, _mm512_srli_epi16(v.low, 8), v.high, 0xCA)};
  }
};

}  // namespace

constinit const Kernels<Gf2_8> kGf2_8Gfni512 =
    make_kernels<Gf2_8, Gf2_8Ops, Rows512>("gfni512", kCpuAvx512 | kCpuGfni, 64, 8192);
constinit const Kernels<Gf2_16> kGf2_16Gfni512 =
    make_kernels<Gf2_16, Gf2_16Ops, Rows512>("gfni512", kCpuAvx512 | kCpuGfni, 64, 8192);

}  // namespace pirx::gf2e
#endif
