// SPDX-License-Identifier: Apache-2.0
// Metzner and Kapturowski (1990), over any field: where the liars' errors are linearly independent, the
// checks that all words pass leave exactly the liars out.
#pragma once

#include "syndromes.h"

namespace pirx::itpir::goldberg::decoding {

/// Who agrees, by row of k, when the errors have full rank: as many rows are in no check as the errors' rank,
/// and a check is left to see it by (rank <= k - d - 2). Nothing otherwise. By proof_bound() what it returns
/// is right while d + 2 servers are honest, whatever the others do.
template <SharingField F>
std::optional<std::vector<bool>> metzner_kapturowski(const F& f, const Reduction<F>& reduction) {
  const auto& checks = reduction.checks;
  if (checks.checked.empty()) return std::nullopt;
  // The rows that were reduced are all rows.
  std::vector<bool> agrees(checks.base.size() + checks.checked.size(), true);
  std::size_t unchecked = 0;
  for (std::size_t i = 0; i < checks.base.size(); ++i) {
    const bool used = std::any_of(checks.predicted.begin(), checks.predicted.end(),
                                  [&](const auto& weights) { return !f.equal(weights[i], f.zero()); });
    if (used) continue;
    agrees[checks.base[i]] = false;
    ++unchecked;
  }
  if (unchecked != reduction.rank()) return std::nullopt;
  return agrees;
}

}  // namespace pirx::itpir::goldberg::decoding
