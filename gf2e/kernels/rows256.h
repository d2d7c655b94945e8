// SPDX-License-Identifier: Apache-2.0
// Loads and stores of 32-byte pieces of a row, for the kernels on 256-bit vectors. Include after
// muladd_impl.h.
#include <immintrin.h>

#include <cstring>

namespace pirx::gf2e {
namespace {

struct Rows256 {
  using Vec = __m256i;
  static constexpr std::size_t kVecBytes = sizeof(Vec);

  PIRX_GF2E_INLINE Vec load(const std::byte* from) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
  }
  PIRX_GF2E_INLINE void store(std::byte* to, Vec v) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), v);
  }
  PIRX_GF2E_INLINE Vec load_part(const std::byte* from, std::size_t bytes) {
    Vec v = _mm256_setzero_si256();
    std::memcpy(&v, from, bytes);
    return v;
  }
  PIRX_GF2E_INLINE void store_part(std::byte* to, Vec v, std::size_t bytes) { std::memcpy(to, &v, bytes); }
};

}  // namespace
}  // namespace pirx::gf2e
