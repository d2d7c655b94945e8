// Portable kernels of W160: limbs of 54 bits, column sums of 128 bits, and one reduction per result.
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "w160_arith.h"
#include "w160_kernels.h"

namespace pirx::fp::w160 {
namespace {

const Elem* at(const Elem* matrix, std::size_t stride, std::size_t row, std::size_t col) {
  return reinterpret_cast<const Elem*>(reinterpret_cast<const std::byte*>(matrix) + row * stride) + col;
}
Elem* at(Elem* matrix, std::size_t stride, std::size_t row, std::size_t col) {
  return reinterpret_cast<Elem*>(reinterpret_cast<std::byte*>(matrix) + row * stride) + col;
}
// Any alignment.
Elem load(const void* from) {
  Elem out;
  std::memcpy(&out, from, sizeof out);
  return out;
}

// D holds words (20 bytes) or elements (24 bytes). Columns go in blocks whose sums stay in the first-level
// cache, so that D is read in order.
template <bool kWords>
void muladd(std::size_t q, std::size_t r, std::size_t s, const Elem* Q, std::size_t q_stride,
            const std::byte* D, std::size_t d_stride, Elem* R, std::size_t r_stride) {
  constexpr std::size_t kBlock = 32;
  constexpr std::size_t kWidth = kWords ? W160::kWordBytes : sizeof(Elem);
  for (std::size_t j0 = 0; j0 < s; j0 += kBlock) {
    const std::size_t width = std::min(kBlock, s - j0);
    for (std::size_t k0 = 0; k0 < r; k0 += kMaxProducts) {
      const std::size_t k1 = k0 + std::min(kMaxProducts, r - k0);
      for (std::size_t i = 0; i < q; ++i) {
        uint128 columns[kBlock][5] = {};
        for (std::size_t k = k0; k < k1; ++k) {
          const Limbs54 a = split54(load(at(Q, q_stride, i, k)));
          const std::byte* row = D + k * d_stride + j0 * kWidth;
          for (std::size_t j = 0; j < width; ++j) {
            const std::byte* from = row + j * kWidth;
            accumulate(columns[j], a, split54(kWords ? load_word(from) : load(from)));
          }
        }
        for (std::size_t j = 0; j < width; ++j) {
          Elem* out = at(R, r_stride, i, j0 + j);
          const Elem sum = add(load(out), reduce_columns(columns[j]));
          std::memcpy(out, &sum, sizeof sum);
        }
      }
    }
  }
}

}  // namespace

void muladd_words_portable(const W160&, std::size_t q, std::size_t r, std::size_t s, const Elem* Q,
                           std::size_t q_stride, const std::byte* D, std::size_t d_stride, Elem* R,
                           std::size_t r_stride) noexcept {
  muladd<true>(q, r, s, Q, q_stride, D, d_stride, R, r_stride);
}

void muladd_sums_portable(const W160&, std::size_t q, std::size_t r, std::size_t s, const Elem* Q,
                          std::size_t q_stride, const Elem* D, std::size_t d_stride, Elem* R,
                          std::size_t r_stride) noexcept {
  muladd<false>(q, r, s, Q, q_stride, reinterpret_cast<const std::byte*>(D), d_stride, R, r_stride);
}

void add_portable(const W160&, std::size_t n, const Elem* a, const Elem* b, Elem* out) noexcept {
  for (std::size_t i = 0; i < n; ++i) out[i] = add(a[i], b[i]);
}

void sub_portable(const W160&, std::size_t n, const Elem* a, const Elem* b, Elem* out) noexcept {
  for (std::size_t i = 0; i < n; ++i) out[i] = sub(a[i], b[i]);
}

}  // namespace pirx::fp::w160
