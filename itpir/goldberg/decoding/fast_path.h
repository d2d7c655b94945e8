// SPDX-License-Identifier: Apache-2.0
// The fast path: a few rows of weights times the replies of some servers give the wanted rows and what the
// other servers must have sent. This is one product over all words. If everything is as predicted, nothing
// else runs.
#pragma once

#include "replies.h"
#include "src/base/constant_time.h"

namespace pirx::itpir::goldberg::decoding {

/// Rows `checked` of the unblinded replies are expected to be `predicted` times rows `base`; `blocks` times
/// rows `base` are the wanted blocks.
template <SharingField F>
struct Prediction {
  using Elem = typename F::Elem;
  using Weights = std::vector<std::vector<Elem, SecretAllocator<Elem>>>;
  std::vector<std::size_t> base;
  std::vector<std::size_t> checked;
  Weights blocks;     ///< a row per secret, from which it can be told
  Weights predicted;  ///< a row per checked
};

/// Interpolation through the first degree + 1 of `rows`; the others from `rows[checked_from]` on are
/// predicted. x: coordinates by row. More than `degree` rows, checked_from > degree.
template <SharingField F>
Result<Prediction<F>> interpolate(const F& f, std::span<const typename F::Elem> x, std::size_t degree,
                                  std::span<const std::size_t> rows, std::size_t checked_from,
                                  std::span<const typename F::Elem> secrets) {
  using Elem = typename F::Elem;
  Prediction<F> result;
  const auto base = rows.first(degree + 1);
  const auto checked = rows.subspan(std::min(checked_from, rows.size()));
  result.base.assign(base.begin(), base.end());
  result.checked.assign(checked.begin(), checked.end());
  std::vector<Elem> from;
  std::vector<Elem, SecretAllocator<Elem>> to(secrets.begin(), secrets.end());
  for (const auto row : base) from.push_back(x[row]);
  for (const auto row : checked) to.push_back(x[row]);
  PIRX_ASSIGN(const auto W, lagrange_matrix(f, std::span<const Elem>(from), std::span<const Elem>(to)));
  for (std::size_t z = 0; z < to.size(); ++z) {
    auto& part = z < secrets.size() ? result.blocks : result.predicted;
    part.emplace_back(W.row(z), W.row(z) + from.size());
  }
  return result;
}

namespace detail {

/// The weights with the blinding folded in: columns divided by the base rows' scalars, predictions
/// multiplied by those of the rows they are for.
template <SharingField F>
Result<matrix::Matrix<typename F::Elem>> fold_blinding(const F& f, const QueryReplies<F>& query,
                                                       const Prediction<F>& prediction, bool blocks) {
  const auto& weights = blocks ? prediction.blocks : prediction.predicted;
  PIRX_ASSIGN(auto W, matrix::Matrix<typename F::Elem>::create(weights.size(), prediction.base.size()));
  for (std::size_t z = 0; z < weights.size(); ++z) {
    for (std::size_t i = 0; i < prediction.base.size(); ++i) {
      auto weight = f.mul(weights[z][i], query.unblinding[prediction.base[i]]);
      if (!blocks) weight = f.mul(weight, query.blinding[prediction.checked[z]]);
      W.at(z, i) = weight;
    }
  }
  return W;
}

/// out = W * rows `base` of Y, columns `first` to first + width; `base` is split into runs of neighbours.
template <SharingField F>
void weigh(const strassen::Engine<F>& engine, matrix::ConstView<typename F::Elem> W,
           std::span<const std::size_t> base, matrix::ConstView<typename F::Sum> Y, std::size_t first,
           std::size_t width, matrix::View<typename F::Sum> out) {
  using Sum = typename F::Sum;
  if (W.rows == 0) return;  // all data may be null
  for (std::size_t z = 0; z < W.rows; ++z) std::fill_n(out.row(z), width, Sum{});
  for (std::size_t i = 0; i < base.size();) {
    std::size_t run = 1;
    while (i + run < base.size() && base[i + run] == base[i] + run) ++run;
    engine.kernels().muladd_sums(engine.field(), W.rows, run, width, W.data + i, W.stride,
                                 Y.row(base[i]) + first, Y.stride, out.data, out.stride);
    i += run;
  }
}

template <SharingField F>
std::size_t first_unequal(const F& f, std::size_t n, const typename F::Sum* a, const typename F::Sum* b) {
  // Equal bytes are equal values; the search for the word runs only where bytes differ. That they do may be
  // known to everybody: a server lied, and knows it.
  const auto bytes = [n](const auto* from) { return std::as_bytes(std::span(from, n)); };
  if (!reveal(difference(bytes(a), bytes(b)))) return n;
  for (std::size_t i = 0; i < n; ++i) {
    if (!f.sum_equal(a[i], b[i])) return i;
  }
  return n;
}

}  // namespace detail

/// The first column from `from` on in which a checked row differs from its prediction. With `blocks` (a row
/// per secret, as wide as Y) also writes the wanted blocks, complete when there is no such column. Cost:
/// (secrets + checked) x base multiply-adds a column, a slice that stays in the cache at a time. Undecodable
/// when the replies' `stop` ends it, which is asked before each slice.
template <SharingField F>
Result<std::optional<std::size_t>> first_difference(const strassen::Engine<F>& engine,
                                                    const QueryReplies<F>& query,
                                                    const Prediction<F>& prediction, std::size_t from,
                                                    matrix::View<typename F::Sum> blocks) {
  using Sum = typename F::Sum;
  constexpr std::size_t kSliceBytes = 4096;
  constexpr std::size_t kSlice = std::max<std::size_t>(kSliceBytes / sizeof(Sum), 16);
  const F& f = engine.field();
  const bool wanted = blocks.rows != 0;
  PIRX_ASSIGN(const auto P, detail::fold_blinding(f, query, prediction, false));
  PIRX_ASSIGN(const auto B, detail::fold_blinding(f, query, prediction, true));
  // A line more than a slice, so that rows do not lie a page apart.
  PIRX_ASSIGN(auto scratch, matrix::Matrix<Sum>::create(P.rows(), kSlice + 64 / sizeof(Sum) + 1));
  for (std::size_t first = from; first < query.Y.cols; first += kSlice) {
    PIRX_TRY(check_stop(query.stop));
    const std::size_t width = std::min(kSlice, query.Y.cols - first);
    if (wanted) {
      detail::weigh(engine, B.view(), prediction.base, query.Y, first, width,
                    blocks.window(0, first, blocks.rows, width));
    }
    detail::weigh(engine, P.view(), prediction.base, query.Y, first, width, scratch.view());
    std::size_t column = width;
    for (std::size_t z = 0; z < P.rows() && column > 0; ++z) {
      column = std::min(column, detail::first_unequal(f, column, scratch.row(z),
                                                      query.Y.row(prediction.checked[z]) + first));
    }
    if (column < width) return first + column;
  }
  return std::nullopt;
}

}  // namespace pirx::itpir::goldberg::decoding
