// SPDX-License-Identifier: Apache-2.0
// The exact reduction: however many words there are, at most k - d - 1 of them say all that there is to know
// about who lied. A set of servers is consistent on all words if and only if it is on these.
//
// It is Gaussian elimination on the syndromes S = H Y, without ever storing S. The parity checks are kept as
// predictions of some rows (checked) by the others (base); the first word that contradicts one is a new
// pivot: its row moves to the base, and the remaining checks are changed to hold on that word too.
#pragma once

#include "fast_path.h"

namespace pirx::itpir::goldberg::decoding {

/// The checks that all words pass, H' = [predicted | -I], and the words that the others failed on.
template <SharingField F>
struct Reduction {
  Prediction<F> checks;
  std::vector<Word<F>> basis;  ///< linearly independent modulo the code; as many as the errors' rank
  std::size_t rank() const noexcept { return basis.size(); }
};

/// Columns before `column` of query `query`, and all queries before it, are known to pass all checks.
struct Position {
  std::size_t query = 0, column = 0;
};

/// Reduces all words of `queries`, whose rows have the coordinates x, more than `degree` of them. Each word
/// is looked at once, and once more per pivot in its slice: (k - d - 1 - rank)(d + 1 + rank) multiply-adds.
template <SharingField F>
Result<Reduction<F>> reduce(const strassen::Engine<F>& engine, std::span<const typename F::Elem> x,
                            std::size_t degree, std::span<const std::size_t> rows,
                            std::span<const QueryReplies<F>> queries, Position start = {}) {
  using Elem = typename F::Elem;
  const F& f = engine.field();
  Reduction<F> result;
  PIRX_ASSIGN(result.checks, interpolate(f, x, degree, rows, degree + 1, std::span<const Elem>()));
  auto& [base, checked, blocks, predicted] = result.checks;
  for (std::size_t q = start.query; q < queries.size(); ++q) {
    std::size_t from = q == start.query ? start.column : 0;
    while (!checked.empty()) {
      PIRX_ASSIGN(const auto column, first_difference(engine, queries[q], result.checks, from, {}));
      if (!column) break;
      from = *column + 1;
      const auto& word = result.basis.emplace_back(word_at(f, queries[q], rows, *column));
      std::vector<Elem> residuals(checked.size());
      for (std::size_t z = 0; z < checked.size(); ++z) {
        residuals[z] = word[checked[z]];
        for (std::size_t i = 0; i < base.size(); ++i) {
          residuals[z] = f.sub(residuals[z], f.mul(predicted[z][i], word[base[i]]));
        }
      }
      std::size_t pivot = 0;
      while (f.equal(residuals[pivot], f.zero())) ++pivot;
      const auto inverse = f.inv(residuals[pivot]);
      const auto row = checked[pivot];
      const auto place =
          static_cast<std::size_t>(std::lower_bound(base.begin(), base.end(), row) - base.begin());
      const auto at = [](auto& list, std::size_t i) { return list.begin() + static_cast<std::ptrdiff_t>(i); };
      // Check z becomes: y_z = prediction + residual_z / residual_pivot * (y_pivot - its prediction).
      for (std::size_t z = 0; z < checked.size(); ++z) {
        if (z == pivot) continue;
        const auto factor = f.mul(residuals[z], inverse);
        for (std::size_t i = 0; i < base.size(); ++i) {
          predicted[z][i] = f.sub(predicted[z][i], f.mul(factor, predicted[pivot][i]));
        }
        predicted[z].insert(at(predicted[z], place), factor);
      }
      base.insert(at(base, place), row);
      checked.erase(at(checked, pivot));
      predicted.erase(at(predicted, pivot));
    }
    if (checked.empty()) break;
  }
  return result;
}

}  // namespace pirx::itpir::goldberg::decoding
