// SPDX-License-Identifier: Apache-2.0
// Portable kernels of W160 and W48: sums of products of parts have 128 bits and are reduced once for many
// rows.
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "kernels.h"
#include "word_prime_arith.h"

namespace pirx::fp {
namespace {

template <class F>
struct Portable {
  using Elem = typename F::Elem;

  template <bool kSubtract>
  static void combine(const F& f, std::size_t n, const Elem* a, const Elem* b, Elem* out) {
    for (std::size_t i = 0; i < n; ++i) out[i] = kSubtract ? f.sub(a[i], b[i]) : f.add(a[i], b[i]);
  }

 protected:
  template <bool kWords>
  static constexpr std::size_t kWidth = kWords ? F::kWordBytes : sizeof(Elem);
  /// A word or an element of D.
  template <bool kWords>
  static Parts<F> load(const F& f, const std::byte* from) {
    return split<F>(kWords ? f.load_word(from) : load_le<Elem>(from));
  }
  static void add_to(const F& f, std::byte* out, const Columns<F>& sum) {
    store_le(out, f.add(load_le<Elem>(out), reduce(sum)));
  }
  static const std::byte* row_of(const Elem* Q, std::size_t q_stride, std::size_t i, std::size_t k) {
    return reinterpret_cast<const std::byte*>(Q) + i * q_stride + k * sizeof(Elem);
  }
};

// Takes blocks of columns whose sums stay in the first-level cache, so that D is read in order.
struct PortableW160 : Portable<W160> {
  template <bool kWords>
  static void muladd(const W160& f, std::size_t q, std::size_t r, std::size_t s, const Elem* Q,
                     std::size_t q_stride, const std::byte* D, std::size_t d_stride, Elem* R,
                     std::size_t r_stride) {
    constexpr std::size_t kBlock = 32;
    for (std::size_t j0 = 0; j0 < s; j0 += kBlock) {
      const std::size_t width = std::min(kBlock, s - j0);
      for (std::size_t k0 = 0; k0 < r; k0 += kMaxProducts) {
        const std::size_t k1 = k0 + std::min(kMaxProducts, r - k0);
        for (std::size_t i = 0; i < q; ++i) {
          Columns<W160> columns[kBlock];
          for (std::size_t k = k0; k < k1; ++k) {
            const auto a = split<W160>(load_le<Elem>(row_of(Q, q_stride, i, k)));
            const std::byte* row = D + k * d_stride + j0 * kWidth<kWords>;
            for (std::size_t j = 0; j < width; ++j) {
              accumulate(columns[j], a, load<kWords>(f, row + j * kWidth<kWords>));
            }
          }
          auto* out = reinterpret_cast<std::byte*>(R) + i * r_stride + j0 * sizeof(Elem);
          for (std::size_t j = 0; j < width; ++j) add_to(f, out + j * sizeof(Elem), columns[j]);
        }
      }
    }
  }
};

// Unpacks words once for all queries, and keeps the sums of a few columns in registers.
struct PortableW48 : Portable<W48> {
  template <bool kWords>
  static void muladd(const W48& f, std::size_t q, std::size_t r, std::size_t s, const Elem* Q,
                     std::size_t q_stride, const std::byte* D, std::size_t d_stride, Elem* R,
                     std::size_t r_stride) {
    constexpr std::size_t kRows = 128, kCols = 16, kSums = 4;
    static_assert(kRows <= kMaxProducts);
    Parts<W48> panel[kRows][kCols] = {};
    for (std::size_t k0 = 0; k0 < r; k0 += kRows) {
      const std::size_t rows = std::min(kRows, r - k0);
      for (std::size_t j0 = 0; j0 < s; j0 += kCols) {
        const std::size_t cols = std::min(kCols, s - j0);
        for (std::size_t k = 0; k < rows; ++k) {
          const std::byte* from = D + (k0 + k) * d_stride + j0 * kWidth<kWords>;
          for (std::size_t j = 0; j < cols; ++j) panel[k][j] = load<kWords>(f, from + j * kWidth<kWords>);
        }
        for (std::size_t i = 0; i < q; ++i) {
          auto* out = reinterpret_cast<std::byte*>(R) + i * r_stride + j0 * sizeof(Elem);
          const std::byte* row = row_of(Q, q_stride, i, k0);
          for (std::size_t j = 0; j < cols; j += kSums) {
            Columns<W48> sums[kSums];
            for (std::size_t k = 0; k < rows; ++k) {
              const auto a = split<W48>(load_le<Elem>(row + k * sizeof(Elem)));
              for (std::size_t n = 0; n < kSums; ++n) accumulate(sums[n], a, panel[k][j + n]);
            }
            for (std::size_t n = 0; n < std::min(kSums, cols - j); ++n, out += sizeof(Elem)) {
              add_to(f, out, sums[n]);
            }
          }
        }
      }
    }
  }
};

}  // namespace

constinit const Kernels<W160> kW160Portable = make_kernels<W160, PortableW160>("portable", 0, 256, 2560);
constinit const Kernels<W48> kW48Portable = make_kernels<W48, PortableW48>("portable", 0, 128, 4608);

}  // namespace pirx::fp
