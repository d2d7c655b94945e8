// SPDX-License-Identifier: Apache-2.0
// Makes shares: multiplies the coins with the engine, then adds the few unit vectors under masks.
// polynomial_code.cc instantiates it for the shipped fields, tests do for tiny ones.
#pragma once

#include <algorithm>
#include <array>
#include <type_traits>

#include "pirx/batchcodes/sharing.h"
#include "src/base/constant_time.h"

namespace pirx::batchcodes {
namespace detail {

/// A small matrix of secret weights, wiped on destruction.
template <class Elem>
class SecretWeights {
 public:
  SecretWeights(std::size_t rows, std::size_t cols) : rows_(rows), cols_(cols), values_(rows * cols) {}
  Elem& at(std::size_t i, std::size_t j) noexcept { return values_.expose()[i * cols_ + j]; }
  matrix::ConstView<Elem> view() const noexcept {
    return {values_.expose().data(), rows_, cols_, cols_ * sizeof(Elem)};
  }

 private:
  std::size_t rows_, cols_;
  SecretVector<Elem> values_;
};

/// a - s, or 1 for a blank point.
template <SharingField F>
typename F::Elem factor(const F& f, const typename F::Elem& a, const SharePoint<typename F::Elem>& point) {
  return select(point.filled, f.sub(a, point.coordinate), f.one());
}

/// prod_{n != skip} (a - s_n) over the filled points.
template <SharingField F>
typename F::Elem product_without(const F& f, const typename F::Elem& a,
                                 std::span<const SharePoint<typename F::Elem>> points, std::size_t skip) {
  auto product = f.one();
  for (std::size_t n = 0; n < points.size(); ++n) {
    if (n != skip) product = f.mul(product, factor(f, a, points[n]));
  }
  return product;
}

/// shares[j] += weights[j][m] e_row_m for every filled point m, touching every row. The points have distinct
/// rows, so at most one weight passes its mask in each place. The masked weights are therefore combined by OR
/// and added once.
template <SharingField F>
void add_unit_vectors(const strassen::Engine<F>& engine, std::span<const SharePoint<typename F::Elem>> points,
                      matrix::ConstView<typename F::Elem> weights, matrix::View<typename F::Elem> shares) {
  using Elem = typename F::Elem;
  using Unit = std::conditional_t<sizeof(Elem) % 8 == 0, std::uint64_t,
                                  std::conditional_t<sizeof(Elem) % 2 == 0, std::uint16_t, std::uint8_t>>;
  constexpr std::size_t kUnits = sizeof(Elem) / sizeof(Unit), kChunk = 512;
  SecretVector<Unit> masks(points.size() * kChunk), kept(kChunk * kUnits);
  SecretVector<Elem> terms(kChunk);
  Unit* const out = kept.expose().data();
  for (std::size_t first = 0; first < shares.cols; first += kChunk) {
    const std::size_t n = std::min(kChunk, shares.cols - first);
    for (std::size_t m = 0; m < points.size(); ++m) {
      Unit* const mask = masks.expose().data() + m * kChunk;
      const std::uint64_t row = points[m].row, filled = opaque(points[m].filled);
      for (std::size_t k = 0; k < n; ++k) {
        mask[k] = static_cast<Unit>(lane_equal(first + k, row) & filled);
      }
    }
    for (std::size_t j = 0; j < shares.rows; ++j) {
      std::fill_n(out, n * kUnits, Unit{0});
      for (std::size_t m = 0; m < points.size(); ++m) {
        const Unit* const mask = masks.expose().data() + m * kChunk;
        std::array<Unit, kUnits> weight;
        std::memcpy(weight.data(), &weights.at(j, m), sizeof(Elem));
        for (std::size_t k = 0; k < n; ++k) {
          for (std::size_t i = 0; i < kUnits; ++i) {
            out[k * kUnits + i] = static_cast<Unit>(out[k * kUnits + i] | (weight[i] & mask[k]));
          }
        }
      }
      std::memcpy(static_cast<void*>(terms.expose().data()), out, n * sizeof(Elem));
      Elem* row = shares.row(j) + first;
      engine.kernels().add(engine.field(), n, row, terms.expose().data(), row);
    }
  }
}

/// Merges points that have the same row: the first one gets the sum of their weights, the others become
/// blank.
template <SharingField F>
void merge_rows(const F& f, std::span<SharePoint<typename F::Elem>> points,
                SecretWeights<typename F::Elem>& weights) {
  for (std::size_t m = 0; m < points.size(); ++m) {
    for (std::size_t n = m + 1; n < points.size(); ++n) {
      const std::uint64_t same =
          mask_equal(points[m].row, points[n].row) & points[m].filled & points[n].filled;
      for (std::size_t j = 0; j < weights.view().rows; ++j) {
        weights.at(j, m) = f.add(weights.at(j, m), select(same, weights.at(j, n), f.zero()));
      }
      points[n].filled &= ~same;
    }
  }
}

/// The first of every `addends` points.
template <class Elem>
SecretVector<SharePoint<Elem>> leaders(std::span<const SharePoint<Elem>> points, std::size_t addends) {
  SecretVector<SharePoint<Elem>> result(points.size() / addends);
  for (std::size_t m = 0; m < result.size(); ++m) result.expose()[m] = points[m * addends];
  return result;
}

/// shares = V * uniform + W * (unit vectors). W has a column for each point.
template <SharingField F>
Result<void> combine(const strassen::Engine<F>& engine, std::span<const SharePoint<typename F::Elem>> points,
                     const SecretWeights<typename F::Elem>& V, SecretWeights<typename F::Elem>& W,
                     matrix::ConstView<typename F::Elem> uniform, matrix::View<typename F::Elem> shares) {
  std::uint64_t outside = 0;
  for (const auto& point : points) outside |= point.filled & ~mask_less(point.row, shares.cols);
  if (reveal(outside)) {
    return fail(ErrorCode::kOutOfRange,
                "a wanted block lies beyond the " + std::to_string(shares.cols) + " rows of a query vector");
  }
  PIRX_TRY(engine.multiply_sums(V.view(), uniform, shares));
  SecretVector<SharePoint<typename F::Elem>> merged(points);
  merge_rows(engine.field(), merged.expose(), W);
  add_unit_vectors<F>(engine, std::as_const(merged).expose(), W.view(), shares);
  return {};
}

template <class Elem>
Result<void> check_shapes(std::size_t servers, std::span<const Elem> blinding, std::size_t t,
                          std::size_t rows, std::size_t points, std::size_t addends) {
  if (addends == 0 || points % addends != 0) {
    return invalid(std::to_string(points) + " unit vectors do not make sums of " + std::to_string(addends));
  }
  if (t <= servers && rows <= servers && (blinding.empty() || blinding.size() == servers)) return {};
  return invalid("shares for " + std::to_string(servers) + " servers from " + std::to_string(t) +
                 " rows of coins, " + std::to_string(blinding.size()) + " blinding factors and room for " +
                 std::to_string(rows) + " shares do not fit together");
}

}  // namespace detail

template <SharingField F>
Result<void> make_shares(const strassen::Engine<F>& engine, std::span<const typename F::Elem> x,
                         std::span<const SharePoint<typename F::Elem>> points,
                         matrix::ConstView<typename F::Elem> coins, matrix::View<typename F::Elem> shares,
                         std::span<const typename F::Elem> blinding, std::size_t addends) {
  using Elem = typename F::Elem;
  const F& f = engine.field();
  const std::size_t l = x.size(), t = coins.rows;
  PIRX_TRY(detail::check_shapes(l, blinding, t, shares.rows, points.size(), addends));
  if (shares.rows != l) return invalid("one share a server, please");
  const auto secret_nodes = detail::leaders(points, addends);
  const std::span<const SharePoint<Elem>> nodes = secret_nodes.expose();
  const std::size_t q = nodes.size();
  detail::SecretWeights<Elem> V(l, t), W(l, points.size());
  SecretVector<Elem> inverses(q);
  for (std::size_t m = 0; m < q; ++m) {
    inverses.expose()[m] = f.inv(detail::product_without(f, nodes[m].coordinate, nodes, m));
  }
  for (std::size_t j = 0; j < l; ++j) {
    const Elem rho = blinding.empty() ? f.one() : blinding[j];
    Elem power = f.mul(rho, detail::product_without(f, x[j], nodes, q));
    for (std::size_t a = 0; a < t; ++a) {
      V.at(j, a) = power;
      power = f.mul(power, x[j]);
    }
    for (std::size_t m = 0; m < q; ++m) {
      const Elem basis = f.mul(detail::product_without(f, x[j], nodes, m), inverses.expose()[m]);
      for (std::size_t a = 0; a < addends; ++a) W.at(j, m * addends + a) = f.mul(rho, basis);
    }
  }
  return detail::combine(engine, points, V, W, coins, shares);
}

template <SharingField F>
Result<void> complete_shares(const strassen::Engine<F>& engine, std::span<const typename F::Elem> x,
                             std::span<const SharePoint<typename F::Elem>> points,
                             matrix::ConstView<typename F::Elem> given, matrix::View<typename F::Elem> rest,
                             std::span<const typename F::Elem> blinding, std::size_t addends) {
  using Elem = typename F::Elem;
  const F& f = engine.field();
  const std::size_t l = x.size(), t = given.rows;
  PIRX_TRY(detail::check_shapes(l, blinding, t, rest.rows, points.size(), addends));
  if (rest.rows != l - t) return invalid("one share for each server but the first t");
  // The nodes of the interpolation: the given servers, then the points.
  const std::size_t q = points.size() / addends;
  SecretVector<SharePoint<Elem>> nodes(t + q);
  for (std::size_t a = 0; a < t; ++a) nodes.expose()[a] = {0, ~std::uint64_t{0}, x[a]};
  for (std::size_t m = 0; m < q; ++m) nodes.expose()[t + m] = points[m * addends];
  const std::span<const SharePoint<Elem>> all = std::as_const(nodes).expose();
  SecretVector<Elem> inverses(t + q);
  for (std::size_t i = 0; i < t + q; ++i) {
    Elem inverse = f.inv(detail::product_without(f, all[i].coordinate, all, i));
    if (i < t && !blinding.empty()) inverse = f.mul(inverse, f.inv(blinding[i]));
    inverses.expose()[i] = inverse;
  }
  detail::SecretWeights<Elem> V(l - t, t), W(l - t, points.size());
  for (std::size_t j = t; j < l; ++j) {
    for (std::size_t i = 0; i < t + q; ++i) {
      Elem basis = f.mul(detail::product_without(f, x[j], all, i), inverses.expose()[i]);
      if (!blinding.empty()) basis = f.mul(basis, blinding[j]);
      if (i < t) V.at(j - t, i) = basis;
      for (std::size_t a = 0; i >= t && a < addends; ++a) W.at(j - t, (i - t) * addends + a) = basis;
    }
  }
  return detail::combine(engine, points, V, W, given, rest);
}

}  // namespace pirx::batchcodes
