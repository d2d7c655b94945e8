// SPDX-License-Identifier: Apache-2.0
// Complete search: every set of servers that agree, however the others lie. Of the first v + d + 1 servers at
// least d + 1 are honest when at most v lied, so trying the subsets of these finds all agreements.
//
// The subsets are walked as a tree of divided differences: below the first d points of a subset, two further
// servers lie on one polynomial through these points exactly if their d-th divided differences are equal, in
// all words. A step costs one product for each server and word; nothing is interpolated.
#pragma once

#include <functional>

#include "budget.h"
#include "replies.h"

namespace pirx::itpir::goldberg::decoding {

/// Subsets of degree + 1 servers that complete_search looks through for `liars` liars.
constexpr std::uint64_t subsets_to_search(std::size_t degree, std::size_t liars) noexcept {
  return binomial(liars + degree + 1, degree + 1);
}

/// Calls visit(agrees), by row, for every set of all the servers that lie on one polynomial of degree at most
/// `degree` in every word, of at least k - liars servers; each once. k = x.size() > degree + liars. A false
/// from `visit` ends the search. False when it was ended, or the budget was; then sets may be missing.
template <SharingField F>
bool complete_search(const F& f, std::span<const typename F::Elem> x, std::size_t degree,
                     std::span<const Word<F>> words, std::size_t liars, Budget& budget,
                     const std::function<bool(const std::vector<bool>& agrees)>& visit) {
  using Elem = typename F::Elem;
  const std::size_t k = x.size(), n = words.size(), first = liars + degree + 1;
  PIRX_CHECK(first <= k);
  if ((degree + 1) * n * k > kMaxSearchValues) return false;
  // 1 / (x_j - x_t), by t and j.
  if (!budget.spend(std::uint64_t{3} * first * k)) return false;
  std::vector<std::vector<Elem>> inverses(first, std::vector<Elem>(k, f.one()));
  for (std::size_t t = 0; t < first; ++t) {
    for (std::size_t j = 0; j < k; ++j) {
      if (j != t) inverses[t][j] = f.sub(x[j], x[t]);
    }
    invert_all(f, std::span<Elem>(inverses[t]));
  }
  // differences[level][w * k + j]: of server j over the first `level` chosen points.
  std::vector<std::vector<Elem>> differences(degree + 1, std::vector<Elem>(n * k));
  for (std::size_t w = 0; w < n; ++w) {
    std::copy(words[w].begin(), words[w].end(), differences[0].begin() + static_cast<std::ptrdiff_t>(w * k));
  }
  std::vector<bool> chosen(k, false), grouped, agrees;

  // Agreements whose first `degree` servers are the chosen ones, all below `from`.
  const auto visit_groups = [&](std::size_t from) {
    const auto& at = differences[degree];
    const auto alike = [&](std::size_t i, std::size_t j) {
      for (std::size_t w = 0; w < n; ++w) {
        if (!f.equal(at[w * k + i], at[w * k + j])) return false;
      }
      return true;
    };
    grouped = chosen;
    for (std::size_t j = from; j < first; ++j) {
      if (grouped[j]) continue;
      if (!budget.spend(k)) return false;
      agrees = chosen;
      std::size_t size = degree;
      bool earlier = false;  // then other points are the first of this agreement
      for (std::size_t i = 0; i < k; ++i) {
        if (chosen[i] || (i != j && !alike(i, j))) continue;
        agrees[i] = grouped[i] = true;
        earlier = earlier || i < from;
        ++size;
      }
      if (!earlier && size + liars >= k && !visit(agrees)) return false;
    }
    return true;
  };
  const auto descend = [&](const auto& self, std::size_t level, std::size_t from) -> bool {
    if (level == degree) return visit_groups(from);
    // degree - level points are still to come, and one more.
    for (std::size_t t = from; t + (degree - level) < first; ++t) {
      if (!budget.spend(n * k)) return false;
      const auto& above = differences[level];
      auto& below = differences[level + 1];
      for (std::size_t w = 0; w < n; ++w) {
        for (std::size_t j = 0; j < k; ++j) {
          below[w * k + j] = f.mul(f.sub(above[w * k + j], above[w * k + t]), inverses[t][j]);
        }
      }
      chosen[t] = true;
      const bool more = self(self, level + 1, t + 1);
      chosen[t] = false;
      if (!more) return false;
    }
    return true;
  };
  return descend(descend, 0, 0);
}

}  // namespace pirx::itpir::goldberg::decoding
