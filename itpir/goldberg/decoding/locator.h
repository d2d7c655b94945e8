// SPDX-License-Identifier: Apache-2.0
// The common locator: one polynomial whose roots are the liars' coordinates satisfies a linear recurrence on
// the syndromes of every word. With one word it is Peterson's decoder, with more it is that of interleaved
// Reed-Solomon codes (and has the radius of Cohn and Heninger's linear case). Polynomial in k, for many
// servers.
#pragma once

#include "budget.h"
#include "replies.h"

namespace pirx::itpir::goldberg::decoding {

/// Who agrees, by row: all but the roots of the least polynomial that fits, if it is unique and all its roots
/// are coordinates; at most k - degree - 2 liars. Nothing when there is none or the budget ends.
template <SharingField F>
std::optional<std::vector<bool>> common_locator(const F& f, std::span<const typename F::Elem> x,
                                                std::size_t degree, std::span<const Word<F>> words,
                                                Budget& budget) {
  using Elem = typename F::Elem;
  const std::size_t k = x.size(), redundant = k - degree - 1;
  if (redundant < 2 || !budget.spend(std::uint64_t{k} * k + k * redundant * words.size()))
    return std::nullopt;
  // Syndromes s_c = sum_j w_j x_j^c y_j with w_j = 1 / prod (x_j - x_i), c = 0 .. redundant - 1.
  std::vector<Elem> weights(k, f.one());
  for (std::size_t j = 0; j < k; ++j) {
    for (std::size_t i = 0; i < k; ++i) {
      if (i != j) weights[j] = f.mul(weights[j], f.sub(x[j], x[i]));
    }
  }
  invert_all(f, std::span<Elem>(weights));
  std::vector<std::vector<Elem>> syndromes;
  for (const auto& word : words) {
    auto& s = syndromes.emplace_back(redundant, f.zero());
    for (std::size_t j = 0; j < k; ++j) {
      Elem term = f.mul(weights[j], word[j]);
      for (std::size_t c = 0; c < redundant; ++c) {
        s[c] = f.add(s[c], term);
        term = f.mul(term, x[j]);
      }
    }
  }

  struct Echelon {
    std::vector<std::vector<Elem>> rows;
    std::vector<std::size_t> pivots;
  };
  // The vector that is orthogonal to e rows of e + 1 elements.
  const auto kernel_of = [&](const Echelon& echelon) {
    const std::size_t e = echelon.rows.size();
    std::size_t free = 0;
    while (std::find(echelon.pivots.begin(), echelon.pivots.end(), free) != echelon.pivots.end()) ++free;
    std::vector<Elem> kernel(e + 1, f.zero());
    kernel[free] = f.one();
    for (std::size_t i = 0; i < e; ++i) kernel[echelon.pivots[i]] = f.sub(f.zero(), echelon.rows[i][free]);
    return kernel;
  };
  const auto insert = [&](Echelon& echelon, std::vector<Elem> row) {
    const std::size_t size = row.size();
    for (std::size_t i = 0; i < echelon.rows.size(); ++i) {
      const auto factor = row[echelon.pivots[i]];
      for (std::size_t c = 0; c < size; ++c) row[c] = f.sub(row[c], f.mul(factor, echelon.rows[i][c]));
    }
    std::size_t pivot = 0;
    while (pivot < size && f.equal(row[pivot], f.zero())) ++pivot;
    if (pivot == size) return;
    const auto inverse = f.inv(row[pivot]);
    for (auto& value : row) value = f.mul(value, inverse);
    for (auto& other : echelon.rows) {
      const auto factor = other[pivot];
      for (std::size_t c = 0; c < size; ++c) other[c] = f.sub(other[c], f.mul(factor, row[c]));
    }
    echelon.rows.push_back(std::move(row));
    echelon.pivots.push_back(pivot);
  };
  // The windows (s_a .. s_{a+e}) in reduced echelon form, the coefficients of locators being their kernel.
  // Once that has one dimension, a further window is only tried against it.
  const auto windows = [&](std::size_t e) -> std::optional<Echelon> {
    Echelon echelon;
    std::vector<Elem> kernel;
    for (const auto& s : syndromes) {
      for (std::size_t a = 0; a + e < redundant && echelon.rows.size() <= e; ++a) {
        const auto begin = s.begin() + static_cast<std::ptrdiff_t>(a);
        if (echelon.rows.size() == e) {
          if (!budget.spend(e + 1)) return std::nullopt;
          if (kernel.empty()) kernel = kernel_of(echelon);
          Elem product = f.zero();
          for (std::size_t c = 0; c <= e; ++c) product = f.add(product, f.mul(kernel[c], s[a + c]));
          if (f.equal(product, f.zero())) continue;
        }
        if (!budget.spend(2 * (e + 1) * (echelon.rows.size() + 1))) return std::nullopt;
        insert(echelon, {begin, begin + static_cast<std::ptrdiff_t>(e + 1)});
      }
    }
    return echelon;
  };

  // The least e with a locator; it is not less than the number of independent words. A locator of degree e,
  // times 1 or x, fits e + 1, too: so a kernel of one dimension is the least, and one of more says how much
  // less to try.
  std::size_t none = 0, e = redundant, step = 1;
  std::optional<Echelon> least;
  std::size_t next = std::clamp<std::size_t>(words.size(), 1, redundant - 1);
  while (none + 1 < e && (!least || least->rows.size() < e)) {
    auto echelon = windows(next);
    if (!echelon) return std::nullopt;
    if (echelon->rows.size() > next) {
      none = next;
      next = least ? (none + e) / 2 : std::min(none + step, redundant - 1);
      step *= 2;
    } else {
      e = next;
      least = std::move(echelon);
      next = std::clamp(least->rows.size(), none + 1, std::max(none + 1, e - 1));
    }
  }
  if (!least || least->rows.size() < e) return std::nullopt;
  const auto locator = kernel_of(*least);
  std::vector<bool> agrees(k, true);
  std::size_t roots = 0;
  for (std::size_t j = 0; j < k; ++j) {
    Elem value = f.zero();
    for (std::size_t c = e + 1; c-- > 0;) value = f.add(f.mul(value, x[j]), locator[c]);
    if (!f.equal(value, f.zero())) continue;
    agrees[j] = false;
    ++roots;
  }
  if (roots == e) return agrees;
  return std::nullopt;
}

}  // namespace pirx::itpir::goldberg::decoding
