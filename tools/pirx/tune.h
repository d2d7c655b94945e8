// Measures where one way of multiplying becomes faster than another on this machine.
#pragma once

#include <vector>

#include "pirx/base/rng.h"
#include "pirx/matrix/matrix.h"
#include "pirx/strassen/tuning.h"

namespace pirx::cli {

/// One comparison that a threshold rests on.
struct TuneStep {
  FieldTag field;
  std::string kernel;
  strassen::Way way;
  std::size_t queries;
  double gain;  ///< time without that way, divided by the time with it
};

struct TuneOptions {
  int threads = 0;
  int runs = 5;  ///< of each of two products that are compared, in turns
};

/// The thresholds of the kernel that `field` uses here, on the database D; the comparisons go to `steps`.
/// Both products are compared entry by entry before they are timed: Internal when they differ.
/// InvalidArgument for a field that is not tuned. A level of Strassen is taken only where it gains 3 % or
/// more.
Result<std::vector<strassen::Threshold>> tune_field(const FieldTag& field, matrix::ConstView<std::byte> D,
                                                    Rng& rng, const TuneOptions& options,
                                                    std::vector<TuneStep>& steps);

}  // namespace pirx::cli
