// Portable kernels of W48: words are unpacked once for all queries, sums have 128 bits, one reduction per
// kRows rows.
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "w48_arith.h"
#include "w48_kernels.h"

namespace pirx::fp::w48 {
namespace {

constexpr std::size_t kRows = 128;
static_assert(kRows <= kMaxProducts);
constexpr std::size_t kCols = 16;
constexpr std::size_t kSums = 4;  // that stay in registers

// Any alignment.
Elem load(const std::byte* from) {
  Elem out;
  std::memcpy(&out, from, sizeof out);
  return out;
}

// out += a row of Q times kSums columns of the panel, from column j0 on; of the sums the first `cols` are
// kept.
void multiply(std::size_t rows, std::size_t cols, const std::byte* Q,
              const std::uint64_t (&panel)[kRows][kCols], std::size_t j0, std::byte* out) {
  uint128 sums[kSums] = {};
  for (std::size_t k = 0; k < rows; ++k) {
    const std::uint64_t a = load(Q + k * sizeof(Elem)).value;
    for (std::size_t j = 0; j < kSums; ++j) sums[j] += uint128{a} * panel[k][j0 + j];
  }
  for (std::size_t j = 0; j < cols; ++j, out += sizeof(Elem)) {
    const Elem sum = reduce(sums[j] + load(out).value);
    std::memcpy(out, &sum, sizeof sum);
  }
}

// D holds words (6 bytes) or elements (8 bytes).
template <bool kWords>
void muladd(std::size_t q, std::size_t r, std::size_t s, const Elem* Q, std::size_t q_stride,
            const std::byte* D, std::size_t d_stride, Elem* R, std::size_t r_stride) {
  constexpr std::size_t kWidth = kWords ? W48::kWordBytes : sizeof(Elem);
  std::uint64_t panel[kRows][kCols] = {};
  for (std::size_t k0 = 0; k0 < r; k0 += kRows) {
    const std::size_t rows = std::min(kRows, r - k0);
    for (std::size_t j0 = 0; j0 < s; j0 += kCols) {
      const std::size_t cols = std::min(kCols, s - j0);
      for (std::size_t k = 0; k < rows; ++k) {
        const std::byte* from = D + (k0 + k) * d_stride + j0 * kWidth;
        for (std::size_t j = 0; j < cols; ++j) std::memcpy(&panel[k][j], from + j * kWidth, kWidth);
      }
      for (std::size_t i = 0; i < q; ++i) {
        const auto* scalars = reinterpret_cast<const std::byte*>(Q) + i * q_stride + k0 * sizeof(Elem);
        auto* out = reinterpret_cast<std::byte*>(R) + i * r_stride + j0 * sizeof(Elem);
        for (std::size_t j = 0; j < cols; j += kSums) {
          multiply(rows, std::min(kSums, cols - j), scalars, panel, j, out + j * sizeof(Elem));
        }
      }
    }
  }
}

}  // namespace

void muladd_words_portable(const W48&, std::size_t q, std::size_t r, std::size_t s, const Elem* Q,
                           std::size_t q_stride, const std::byte* D, std::size_t d_stride, Elem* R,
                           std::size_t r_stride) noexcept {
  muladd<true>(q, r, s, Q, q_stride, D, d_stride, R, r_stride);
}

void muladd_sums_portable(const W48&, std::size_t q, std::size_t r, std::size_t s, const Elem* Q,
                          std::size_t q_stride, const Elem* D, std::size_t d_stride, Elem* R,
                          std::size_t r_stride) noexcept {
  muladd<false>(q, r, s, Q, q_stride, reinterpret_cast<const std::byte*>(D), d_stride, R, r_stride);
}

void add_portable(const W48& f, std::size_t n, const Elem* a, const Elem* b, Elem* out) noexcept {
  for (std::size_t i = 0; i < n; ++i) out[i] = f.add(a[i], b[i]);
}

void sub_portable(const W48& f, std::size_t n, const Elem* a, const Elem* b, Elem* out) noexcept {
  for (std::size_t i = 0; i < n; ++i) out[i] = f.sub(a[i], b[i]);
}

}  // namespace pirx::fp::w48
