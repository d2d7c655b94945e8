// SPDX-License-Identifier: Apache-2.0
// The model of the errors (specification, section 4), as variances of fractions of the torus.
#pragma once

#include "pirx/cpir/inspire/common.h"

namespace pirx::cpir::inspire {

/// Means over the words of a row, for the worst data.
struct Noise {
  double query = 0;     ///< the query's errors
  double rounding = 0;  ///< the query's rounding
  double key = 0;       ///< the key's errors
  double key_rounding = 0;
  double secret = 0;  ///< what is dropped below the digits, times the secret
  double masks = 0;   ///< the masks' rounding
  double total() const noexcept { return query + rounding + key + key_rounding + secret + masks; }
};
Noise noise(const Set& set, std::size_t rows, unsigned t) noexcept;

/// log2 of the bound 2 C exp(-T^2 / (2.1 V)) on the failure of a row of `columns` words with this variance,
/// where T is half a word's step less the reply's rounding.
double log2_failure(const Set& set, std::size_t columns, unsigned tr, double variance) noexcept;

/// The least t for which the failure stays within Params::kFailureBound; nothing if there is none up to
/// Set::most_t().
std::optional<unsigned> least_t(const Set& set, std::size_t rows, std::size_t columns, unsigned tr) noexcept;

}  // namespace pirx::cpir::inspire
