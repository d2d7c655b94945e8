// SPDX-License-Identifier: Apache-2.0
// The cost model of Spiral (docs/planner.md), and the measurements that it rests on.
#pragma once

#include "pirx/cpir/spiral/common.h"
#include "pirx/protocol/offer.h"

namespace pirx::cpir::spiral {

/// What server_seconds() counts besides the pass over the database: the folds, and the rest, in its own
/// seconds.
struct ModelSeconds {
  double expand, fold;
};
ModelSeconds model_seconds(const Params& params);

/// All steps are measured together.
Result<double> measure_steps(const RateId& id, RateTable& others);
inline constexpr Step kSteps[] = {
    {"spiral_expand", 0, &measure_steps},  // the real time of one second of ModelSeconds::expand
    {"spiral_fold", 0, &measure_steps},    // the real time of one second of ModelSeconds::fold
    {"spiral_column", 0, &measure_steps},  // a column of a polynomial in the pass
    {"spiral_scan", 0, &measure_steps},    // an encoded byte in the pass
    {"spiral_encode", 0, &measure_steps},  // an encoded byte, when the database is prepared
    {"spiral_query", 0, &measure_steps},   // the client makes a query
    {"spiral_decode", 0, &measure_steps},  // the client decodes a polynomial of the reply
};

Result<Offer> offer_spiral(const Question& question, Rates& rates);
inline constexpr pirx::Scheme kSchemes[] = {{"spiral", &offer_spiral}};

}  // namespace pirx::cpir::spiral
