// SPDX-License-Identifier: Apache-2.0
// R += Q * D on one tile, by recursion with a bilinear scheme (paper 000, section 3.3 and appendix A). Sums
// of blocks of D are formed when they are needed, small enough for the cache. Rows and columns that are left
// over because blocks have equal sizes are multiplied plainly.
#pragma once

#include <algorithm>

#include "src/base/time_limit.h"
#include "strassen/plan.h"

namespace pirx::strassen {

/// A window of D. Its entries are database words, or sums after an addition.
template <class F>
struct Block {
  const std::byte* data;
  std::size_t rows;
  std::size_t words;
  std::size_t stride;      // bytes
  std::size_t entry_size;  // bytes
  bool sums;

  const std::byte* row(std::size_t i) const { return data + i * stride; }
  Block window(std::size_t i, std::size_t j, std::size_t height, std::size_t width) const {
    PIRX_VERIFY_CHECK(i + height <= rows && j + width <= words);
    return {row(i) + j * entry_size, height, width, stride, entry_size, sums};
  }
};

template <class F>
class TileProduct {
 public:
  using Elem = typename F::Elem;
  using Sum = typename F::Sum;

  TileProduct(const F& f, const Kernels<F>& kernels) : f_(f), kernels_(kernels) {}

  /// R += Q * D with `depth` levels of kScheme, or fewer if a block would be empty. `workspace` holds
  /// recursion_workspace() bytes for this product or a larger one.
  void muladd(int depth, ConstView<Elem> Q, const Block<F>& D, View<Sum> R, std::byte* workspace) const {
    constexpr const auto& scheme = kScheme;
    const std::size_t m = Q.rows / scheme.kM, k = D.rows / scheme.kK, n = D.words / scheme.kN;
    if (depth == 0 || m == 0 || k == 0 || n == 0) return muladd_plain(Q, D, R);

    const LevelWorkspace level(m, k, n, sizeof(Elem), sizeof(Sum));
    const View<Elem> left_space{reinterpret_cast<Elem*>(workspace), m, k, k * sizeof(Elem)};
    const View<Sum> right_space{reinterpret_cast<Sum*>(workspace + level.left), k, n, n * sizeof(Sum)};
    const View<Sum> product_space{reinterpret_cast<Sum*>(workspace + level.left + level.right), m, n,
                                  n * sizeof(Sum)};
    Sum* row_space = reinterpret_cast<Sum*>(workspace + level.left + level.right + level.product);
    std::byte* deeper = workspace + level.size();

    for (std::size_t p = 0; p < scheme.kRank && !over(limit_); ++p) {
      const ConstView<Elem> left = left_factor(scheme.u[p], Q, left_space);
      const Block<F> right = right_factor(scheme.v[p], D, right_space, row_space);
      const auto& w = scheme.w[p];
      const auto target = [&](std::size_t c) { return R.window(c / scheme.kN * m, c % scheme.kN * n, m, n); };
      if (const int only = only_one(w); only >= 0) {
        muladd(depth - 1, left, right, target(static_cast<std::size_t>(only)), deeper);
        continue;
      }
      std::fill_n(product_space.data, m * n, Sum{});
      muladd(depth - 1, left, right, product_space, deeper);
      for (std::size_t c = 0; c < std::size(w); ++c) {
        if (w[c] == 0) continue;
        const View<Sum> to = target(c);
        for (std::size_t i = 0; i < m; ++i) accumulate(w[c], n, product_space.row(i), to.row(i));
      }
    }

    const std::size_t q = m * scheme.kM, r = k * scheme.kK, s = n * scheme.kN;
    muladd_plain(Q.window(0, r, q, Q.cols - r), D.window(r, 0, D.rows - r, s), R.window(0, 0, q, s));
    muladd_plain(Q.window(0, 0, q, Q.cols), D.window(0, s, D.rows, D.words - s),
                 R.window(0, s, q, R.cols - s));
    muladd_plain(Q.window(q, 0, Q.rows - q, Q.cols), D, R.window(q, 0, R.rows - q, R.cols));
  }

 private:
  /// Some queries at a time, so that it ends soon when the time is over.
  void muladd_plain(ConstView<Elem> Q, const Block<F>& D, View<Sum> R) const {
    if (Q.rows == 0 || D.rows == 0 || D.words == 0) return;
    constexpr std::size_t kQueries = 32;
    for (std::size_t i = 0; i < Q.rows && !over(limit_); i += kQueries) {
      const std::size_t rows = std::min(kQueries, Q.rows - i);
      if (D.sums) {
        kernels_.muladd_sums(f_, rows, D.rows, D.words, Q.row(i), Q.stride,
                             reinterpret_cast<const Sum*>(D.data), D.stride, R.row(i), R.stride);
      } else {
        kernels_.muladd_words(f_, rows, D.rows, D.words, Q.row(i), Q.stride, D.data, D.stride, R.row(i),
                              R.stride);
      }
    }
  }

  /// The position of the only non-zero coefficient if it is 1, so that no sum is needed; otherwise -1.
  template <std::size_t size>
  static int only_one(const std::int8_t (&coefficients)[size]) {
    if (std::count(coefficients, coefficients + size, 0) != size - 1) return -1;
    const auto* one = std::find(coefficients, coefficients + size, 1);
    return one == coefficients + size ? -1 : static_cast<int>(one - coefficients);
  }

  /// to += coefficient * from.
  void accumulate(int coefficient, std::size_t n, const Sum* from, Sum* to) const {
    (coefficient > 0 ? kernels_.add : kernels_.sub)(f_, n, to, from, to);
  }

  /// The combination of the blocks of Q. It has few scalars compared with the words of D, so the field's own
  /// addition is fast enough.
  template <std::size_t size>
  ConstView<Elem> left_factor(const std::int8_t (&u)[size], ConstView<Elem> Q, View<Elem> out) const {
    const auto block = [&](std::size_t a) {
      return Q.window(a / kScheme.kK * out.rows, a % kScheme.kK * out.cols, out.rows, out.cols);
    };
    if (const int only = only_one(u); only >= 0) return block(static_cast<std::size_t>(only));
    std::fill_n(out.data, out.rows * out.cols, f_.zero());
    for (std::size_t a = 0; a < size; ++a) {
      if (u[a] == 0) continue;
      const ConstView<Elem> from = block(a);
      for (std::size_t i = 0; i < out.rows; ++i) {
        const Elem* x = from.row(i);
        Elem* sum = out.row(i);
        if (u[a] > 0) {
          for (std::size_t l = 0; l < out.cols; ++l) sum[l] = f_.add(sum[l], x[l]);
        } else {
          for (std::size_t l = 0; l < out.cols; ++l) sum[l] = f_.sub(sum[l], x[l]);
        }
      }
    }
    return out;
  }

  /// The combination of the blocks of D, as sums. `row_space` holds one row of a block.
  template <std::size_t size>
  Block<F> right_factor(const std::int8_t (&v)[size], const Block<F>& D, View<Sum> out,
                        Sum* row_space) const {
    const auto block = [&](std::size_t b) {
      return D.window(b / kScheme.kN * out.rows, b % kScheme.kN * out.cols, out.rows, out.cols);
    };
    if (const int only = only_one(v); only >= 0) return block(static_cast<std::size_t>(only));
    for (std::size_t l = 0; l < out.rows; ++l) {
      Sum* sum = out.row(l);
      std::fill_n(sum, out.cols, Sum{});
      for (std::size_t b = 0; b < size; ++b) {
        if (v[b] != 0) accumulate(v[b], out.cols, row_as_sums(block(b), l, row_space), sum);
      }
    }
    return {reinterpret_cast<const std::byte*>(out.data), out.rows, out.cols, out.stride, sizeof(Sum), true};
  }

  const Sum* row_as_sums(const Block<F>& block, std::size_t l, Sum* row_space) const {
    if (block.sums) return reinterpret_cast<const Sum*>(block.row(l));
    const std::byte* from = block.row(l);
    for (std::size_t j = 0; j < block.words; ++j) row_space[j] = f_.load_word(from + j * f_.word_bytes());
    return row_space;
  }

  const F& f_;
  const Kernels<F>& kernels_;
  TimeLimit* const limit_ = TimeLimit::current();
};

}  // namespace pirx::strassen
