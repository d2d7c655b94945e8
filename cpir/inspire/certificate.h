// SPDX-License-Identifier: Apache-2.0
// What the errors of a block really amount to (specification, 3.6): each word's variance out of the sizes of
// its rows of H and S, coherent copies included.
#pragma once

#include <span>

#include "cpir/ring/ring.h"
#include "pirx/cpir/inspire/common.h"

namespace pirx::cpir::inspire {

/// Adds the squares of a row's numbers.
template <class T>
void add_squares(std::span<const T> row, std::span<float> squares) noexcept {
  for (std::size_t k = 0; k < row.size(); ++k) {
    const auto x = static_cast<float>(row[k]);
    squares[k] += x * x;
  }
}

/// log2 of the bound on the probability that one of these words is wrong. packing, secret: for each word, the
/// sum of the squares of its row of H, and of what the secret's coefficients are multiplied with.
double log2_failure(const Params& params, std::span<const float> packing,
                    std::span<const float> secret) noexcept;

}  // namespace pirx::cpir::inspire
