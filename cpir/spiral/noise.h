// The noise model: variances of the error stage by stage, and the probability of a wrong answer.
#pragma once

#include "pirx/cpir/spiral/common.h"

namespace pirx::cpir::spiral {

/// What the model needs of a plan.
struct NoiseInput {
  const Scheme& scheme;
  const Gadget &fold, &left, &right, &conversion;
  std::size_t rows, trials;
  unsigned row_rounds, bit_rounds;
  FoldForm form = FoldForm::kCmux;
};
Noise noise_model(const NoiseInput& in);

/// log2 of the probability that some of `count` values is off by its bound or more, each with the given
/// deviation: erfc(bound / (sqrt 2 deviation)), at most 1.
double log2_failure(double count, double bound, double deviation);

}  // namespace pirx::cpir::spiral
