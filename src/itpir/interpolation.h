// Replies as words of a Reed-Solomon code: interpolation through some servers, comparison with the others.
// All of it is the engine's product with a few Lagrange rows on the left.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "lagrange.h"
#include "pirx/strassen/engine.h"

namespace pirx::itpir {

/// Row j of Y holds the values at x[j] of polynomials of degree at most `degree`, one a column, unless server
/// j lied. The secrets are their values at 0.
template <SharingField F>
struct ReplyWords {
  std::span<const typename F::Elem> x;
  matrix::ConstView<typename F::Sum> Y;
  std::size_t degree;
};

/// Which of the compared rows differ from what the interpolation predicts, and a column in which one does.
struct Comparison {
  std::vector<bool> differs;
  std::optional<std::size_t> column;
};

/// The polynomials through degree + 1 of the servers.
template <SharingField F>
class Interpolation {
 public:
  using Elem = typename F::Elem;
  using Sum = typename F::Sum;

  /// Through the first degree + 1 of `servers`, in that order. Borrows `words`; copies rows unless they are
  /// consecutive.
  static Result<Interpolation> create(const strassen::Engine<F>& engine, const ReplyWords<F>& words,
                                      std::span<const std::size_t> servers) {
    const std::size_t n = words.degree + 1, w = words.Y.cols;
    PIRX_CHECK(servers.size() >= n);
    Interpolation result(engine, words);
    bool consecutive = true;
    for (std::size_t i = 0; i < n; ++i) {
      result.x_.push_back(words.x[servers[i]]);
      consecutive = consecutive && servers[i] == servers[0] + i;
    }
    if (consecutive) {
      result.base_ = words.Y.window(servers[0], 0, n, w);
      return result;
    }
    PIRX_ASSIGN(result.copy_, matrix::Matrix<Sum>::create(n, w));
    for (std::size_t i = 0; i < n; ++i) std::copy_n(words.Y.row(servers[i]), w, result.copy_.row(i));
    result.base_ = std::as_const(result.copy_).view();
    return result;
  }

  /// The values at 0: one row.
  Result<matrix::Matrix<Sum>> secrets() const {
    const Elem zero = engine_->field().zero();
    PIRX_ASSIGN(const auto W,
                lagrange_matrix(engine_->field(), std::span<const Elem>(x_), std::span(&zero, 1)));
    PIRX_ASSIGN(auto values, matrix::Matrix<Sum>::create(1, base_.cols));
    PIRX_TRY(engine_->multiply_sums(W.view(), base_, values.view()));
    return values;
  }

  /// Compares the rows of `servers` with their predictions; stops at the first difference if `stop` is set.
  Result<Comparison> compare(std::span<const std::size_t> servers, bool stop) const {
    const F& f = engine_->field();
    const std::size_t m = servers.size(), w = base_.cols;
    Comparison result{std::vector<bool>(m, false), std::nullopt};
    if (m == 0 || w == 0) return result;
    std::vector<Elem> targets;
    for (const auto server : servers) targets.push_back(words_.x[server]);
    PIRX_ASSIGN(const auto W, lagrange_matrix(f, std::span<const Elem>(x_), std::span<const Elem>(targets)));
    // A slice at a time: the predictions of a slice stay in the cache until they are compared.
    const std::size_t slice = std::min(w, kSliceWords);
    PIRX_ASSIGN(auto predicted, matrix::Matrix<Sum>::create(m, slice));
    for (std::size_t first = 0; first < w; first += slice) {
      const std::size_t width = std::min(slice, w - first);
      const auto out = predicted.view().window(0, 0, m, width);
      PIRX_TRY(engine_->multiply_sums(W.view(), base_.window(0, first, base_.rows, width), out));
      for (std::size_t i = 0; i < m; ++i) {
        const Sum* a = out.row(i);
        const Sum* b = words_.Y.row(servers[i]) + first;
        // Equal bytes are equal values; the search for the word runs only where bytes differ.
        if (std::memcmp(a, b, width * sizeof(Sum)) == 0) continue;
        for (std::size_t c = 0; c < width; ++c) {
          if (f.sum_equal(a[c], b[c])) continue;
          result.differs[i] = true;
          if (!result.column) result.column = first + c;
          break;
        }
        if (stop && result.column) return result;
      }
    }
    return result;
  }

 private:
  static constexpr std::size_t kSliceWords = std::size_t{1} << 15;

  Interpolation(const strassen::Engine<F>& engine, const ReplyWords<F>& words)
      : engine_(&engine), words_(words) {}

  const strassen::Engine<F>* engine_;
  ReplyWords<F> words_;
  std::vector<Elem> x_;
  matrix::Matrix<Sum> copy_;
  matrix::ConstView<Sum> base_;
};

}  // namespace pirx::itpir
