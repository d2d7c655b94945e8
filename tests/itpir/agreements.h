// SPDX-License-Identifier: Apache-2.0
// Replies to one query, unblinded, and the oracle of the decoder: which servers agree, by Lagrange's formula
// and by trying every set.
#pragma once

#include <algorithm>
#include <bit>
#include <numeric>
#include <vector>

#include "itpir/goldberg/decoding/locate.h"

namespace pirx::itpir::goldberg::testing {

template <class F>
struct Replies {
  using Elem = typename F::Elem;
  F f;
  std::size_t degree;
  std::vector<Elem> x, ones;
  matrix::Matrix<Elem> Y;

  /// Zeros, from servers at the coordinates 1 .. k.
  Replies(const F& field, std::size_t k, std::size_t d, std::size_t words)
      : f(field), degree(d), ones(k, field.one()), Y(matrix::Matrix<Elem>::create(k, words).value()) {
    for (std::size_t j = 1; j <= k; ++j) x.push_back(f.from_label(j));
  }
  std::size_t k() const { return x.size(); }
  void add(std::size_t server, std::size_t word, Elem error) {
    Y.at(server, word) = f.add(Y.at(server, word), error);
  }
  std::vector<std::size_t> rows() const {
    std::vector<std::size_t> all(k());
    std::iota(all.begin(), all.end(), std::size_t{0});
    return all;
  }
  decoding::QueryReplies<F> query() const { return {Y.view(), ones, ones}; }
  decoding::Reduction<F> reduced() const {
    const auto replies = query();
    const auto all = rows();
    return decoding::reduce(strassen::Engine<F>(f), std::span<const Elem>(x), degree,
                            std::span<const std::size_t>(all), std::span(&replies, 1))
        .value();
  }
  std::vector<decoding::Word<F>> words() const {
    std::vector<decoding::Word<F>> all;
    const auto rows = this->rows();
    for (std::size_t w = 0; w < Y.cols(); ++w) all.push_back(decoding::word_at(f, query(), rows, w));
    return all;
  }

  /// Whether these servers lie on one polynomial in every word.
  bool consistent(const std::vector<bool>& agrees) const {
    std::vector<std::size_t> members;
    for (std::size_t j = 0; j < k(); ++j) {
      if (agrees[j]) members.push_back(j);
    }
    for (std::size_t m = degree + 1; m < members.size(); ++m) {
      for (std::size_t w = 0; w < Y.cols(); ++w) {
        Elem sum = f.zero();
        for (std::size_t i = 0; i <= degree; ++i) {
          Elem term = Y.at(members[i], w);
          for (std::size_t n = 0; n <= degree; ++n) {
            if (n == i) continue;
            term = f.mul(term, f.sub(x[members[m]], x[members[n]]));
            term = f.mul(term, f.inv(f.sub(x[members[i]], x[members[n]])));
          }
          sum = f.add(sum, term);
        }
        if (!f.equal(sum, Y.at(members[m], w))) return false;
      }
    }
    return true;
  }
  /// All maximal consistent sets of at least `least` servers, sorted.
  std::vector<std::vector<bool>> agreements(std::size_t least) const {
    std::vector<std::vector<bool>> all;
    for (std::size_t size = k(); size >= std::max(least, degree + 1); --size) {
      for (std::size_t mask = 0; mask < (std::size_t{1} << k()); ++mask) {
        if (static_cast<std::size_t>(std::popcount(mask)) != size) continue;
        std::vector<bool> agrees(k());
        for (std::size_t j = 0; j < k(); ++j) agrees[j] = (mask >> j & 1) != 0;
        const bool inside = std::any_of(all.begin(), all.end(), [&](const auto& larger) {
          for (std::size_t j = 0; j < k(); ++j) {
            if (agrees[j] && !larger[j]) return false;
          }
          return true;
        });
        if (!inside && consistent(agrees)) all.push_back(agrees);
      }
    }
    std::sort(all.begin(), all.end());
    return all;
  }
};

}  // namespace pirx::itpir::goldberg::testing
