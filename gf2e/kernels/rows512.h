// SPDX-License-Identifier: Apache-2.0
// Loads and stores of 64-byte pieces of a row, for the kernels on 512-bit vectors. Masks keep short pieces
// from touching other bytes. Include after muladd_impl.h.
#include <immintrin.h>

namespace pirx::gf2e {
namespace {

struct Rows512 {
  using Vec = __m512i;
  static constexpr std::size_t kVecBytes = sizeof(Vec);

  PIRX_GF2E_INLINE Vec load(const std::byte* from) { return _mm512_loadu_si512(from); }
  PIRX_GF2E_INLINE void store(std::byte* to, Vec v) { _mm512_storeu_si512(to, v); }
  PIRX_GF2E_INLINE Vec load_part(const std::byte* from, std::size_t bytes) {
    return _mm512_maskz_loadu_epi8(first(bytes), from);
  }
  PIRX_GF2E_INLINE void store_part(std::byte* to, Vec v, std::size_t bytes) {
    _mm512_mask_storeu_epi8(to, first(bytes), v);
  }

 private:
  /// A mask of the first `count` < 64 bytes.
  PIRX_GF2E_INLINE __mmask64 first(std::size_t count) { return (std::uint64_t{1} << count) - 1; }
};

}  // namespace
}  // namespace pirx::gf2e
