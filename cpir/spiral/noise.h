// SPDX-License-Identifier: Apache-2.0
// The noise model: variances of the error after each stage, and the probability of a wrong answer.
#pragma once

#include "pirx/cpir/spiral/common.h"

namespace pirx::cpir::spiral {

/// What the model needs to know of a plan.
struct NoiseInput {
  const Scheme& scheme;
  const Gadget &fold, &left, &right, &conversion;
  std::size_t rows, trials;
  unsigned row_rounds, bit_rounds;
  FoldForm form = FoldForm::kCmux;
};
Noise noise_model(const NoiseInput& in);

/// log2 of the probability that any of `count` values is wrong by `bound` or more, if each has the given
/// deviation: erfc(bound / (sqrt 2 deviation)) for each value, at most 1 in all.
double log2_failure(double count, double bound, double deviation);

}  // namespace pirx::cpir::spiral
