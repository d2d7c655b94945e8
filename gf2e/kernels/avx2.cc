// SPDX-License-Identifier: Apache-2.0
// AVX2 kernels. GF(2) multiplies with masks. GF(2^8) and GF(2^16) look the nibbles of the data up in tables
// of the scalar's multiples, of sixteen bytes each. vpshufb does this inside a register, so no address
// depends on a value.
#include "gf2e/kernels/kernels.h"

#if defined(PIRX_GF2E_X86)
#define PIRX_GF2E_TARGET __attribute__((target("avx2")))
#include "gf2e/kernels/muladd_impl.h"
// Uses the macro above.
#include "gf2e/kernels/rows256.h"

namespace pirx::gf2e {
namespace {

struct Gf2Ops : Rows256 {
  using Elem = Gf2::Elem;
  using Coef = Vec;
  static constexpr int kQ = 4, kR = 2, kR1 = 8;

  PIRX_GF2E_INLINE Coef coef(Elem c) { return _mm256_set1_epi64x(-std::int64_t{c}); }
  PIRX_GF2E_INLINE Vec muladd(Vec a, const Coef& c, Vec d) { return a ^ (c & d); }
};

/// d's low nibbles, one per byte.
PIRX_GF2E_INLINE __m256i low_nibbles(__m256i d) { return d & _mm256_set1_epi8(15); }
PIRX_GF2E_INLINE __m256i high_nibbles(__m256i d) { return low_nibbles(_mm256_srli_epi64(d, 4)); }

/// The words n * c for the nibbles n = 0 .. 15; c becomes c * x^4.
template <class F>
PIRX_GF2E_INLINE __m256i nibble_multiples(typename F::Elem& c) {
  const __m256i nibbles = _mm256_setr_epi16(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  __m256i sum = _mm256_setzero_si256();
  for (int bit = 0; bit < 4; ++bit) {
    const __m256i mask = _mm256_srai_epi16(_mm256_slli_epi16(nibbles, 15 - bit), 15);
    sum ^= mask & _mm256_set1_epi16(static_cast<short>(c));
    c = F::mul(c, 2);
  }
  return sum;
}

/// A table of the low bytes and one of the high bytes of sixteen words, each in both lanes for vpshufb.
struct ByteTables {
  __m256i low;
  __m256i high;
};
PIRX_GF2E_INLINE ByteTables split_bytes(__m256i words) {
  const __m256i packed = _mm256_packus_epi16(words & _mm256_set1_epi16(0xFF), _mm256_srli_epi16(words, 8));
  return {_mm256_permute4x64_epi64(packed, 0x88), _mm256_permute4x64_epi64(packed, 0xDD)};
}

struct Gf2_8Ops : Rows256 {
  using Elem = Gf2_8::Elem;
  struct Coef {
    __m256i low;   // multiples by the nibbles of low bits
    __m256i high;  // and of high bits
  };
  static constexpr int kQ = 2, kR = 2, kR1 = 4;

  PIRX_GF2E_INLINE Coef coef(Elem c) {
    const __m256i low = nibble_multiples<Gf2_8>(c);
    const __m256i high = nibble_multiples<Gf2_8>(c);
    return {split_bytes(low).low, split_bytes(high).low};
  }
  PIRX_GF2E_INLINE Vec muladd(Vec a, const Coef& c, Vec d) {
    return a ^ _mm256_shuffle_epi8(c.low, low_nibbles(d)) ^ _mm256_shuffle_epi8(c.high, high_nibbles(d));
  }
};

/// 32 words as their low bytes and their high bytes, in an order that load and store agree on.
struct Gf2_16Ops {
  using Elem = Gf2_16::Elem;
  struct Vec {
    __m256i low;
    __m256i high;
  };
  struct Coef {
    ByteTables nibble[4];
  };
  static constexpr std::size_t kVecBytes = 64;
  static constexpr int kQ = 2, kR = 2, kR1 = 4;

  PIRX_GF2E_INLINE Coef coef(Elem c) {
    Coef out;
    for (ByteTables& tables : out.nibble) tables = split_bytes(nibble_multiples<Gf2_16>(c));
    return out;
  }
  PIRX_GF2E_INLINE Vec muladd(Vec a, const Coef& c, Vec d) {
    const __m256i nibble[4] = {low_nibbles(d.low), high_nibbles(d.low), low_nibbles(d.high),
                               high_nibbles(d.high)};
    for (int i = 0; i < 4; ++i) {
      a.low ^= _mm256_shuffle_epi8(c.nibble[i].low, nibble[i]);
      a.high ^= _mm256_shuffle_epi8(c.nibble[i].high, nibble[i]);
    }
    return a;
  }
  PIRX_GF2E_INLINE Vec load(const std::byte* from) {
    return swap({Rows256::load(from), Rows256::load(from + 32)});
  }
  PIRX_GF2E_INLINE void store(std::byte* to, Vec v) {
    v = swap(v);
    Rows256::store(to, v.low);
    Rows256::store(to + 32, v.high);
  }
  PIRX_GF2E_INLINE Vec load_part(const std::byte* from, std::size_t bytes) {
    std::byte whole[kVecBytes] = {};
    std::memcpy(whole, from, bytes);
    return load(whole);
  }
  PIRX_GF2E_INLINE void store_part(std::byte* to, Vec v, std::size_t bytes) {
    std::byte whole[kVecBytes];
    store(whole, v);
    std::memcpy(to, whole, bytes);
  }

 private:
  /// Swaps the high bytes of one half with the low bytes of the other; its own inverse.
  PIRX_GF2E_INLINE Vec swap(Vec v) {
    const __m256i low_bytes = _mm256_set1_epi16(0xFF);
    return {_mm256_blendv_epi8(_mm256_slli_epi16(v.high, 8), v.low, low_bytes),
            _mm256_blendv_epi8(v.high, _mm256_srli_epi16(v.low, 8), low_bytes)};
  }
};

}  // namespace

constinit const Kernels<Gf2> kGf2Avx2 = make_kernels<Gf2, Gf2Ops, Rows256>("avx2", kCpuAvx2, 64, 8192);
constinit const Kernels<Gf2_8> kGf2_8Avx2 =
    make_kernels<Gf2_8, Gf2_8Ops, Rows256>("avx2", kCpuAvx2, 64, 8192);
constinit const Kernels<Gf2_16> kGf2_16Avx2 =
    make_kernels<Gf2_16, Gf2_16Ops, Rows256>("avx2", kCpuAvx2, 64, 8192);

}  // namespace pirx::gf2e
#endif
