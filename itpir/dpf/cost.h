// SPDX-License-Identifier: Apache-2.0
// The cost model of dpf (docs/planner.md), and the measurements that it rests on.
#pragma once

#include "itpir/cost.h"

namespace pirx::itpir::dpf {

Result<double> measure_client(const RateId& id, RateTable& others);
Result<double> measure_expansion(const RateId& id, RateTable& others);
inline constexpr Step kSteps[] = {
    kScanStep,
    kPrepareStep,
    kHashStep,
    {"dpf_share", 1, &measure_client},      // log2 of rows: the client makes a query
    {"dpf_gather", 1, &measure_client},     // log2 of bytes: a record out of replies
    {"dpf_expand", 1, &measure_expansion},  // log2 of rows: a server expands a key
};

Result<Offer> offer(const Question& question, Rates& rates);
inline constexpr Scheme kSchemes[] = {{"dpf", &offer}};

}  // namespace pirx::itpir::dpf
