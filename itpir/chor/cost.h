// SPDX-License-Identifier: Apache-2.0
// The cost model of Chor's protocol (docs/planner.md), and the measurements that it rests on.
#pragma once

#include "itpir/cost.h"

namespace pirx::itpir::chor {

Result<double> measure_client(const RateId& id, RateTable& others);
inline constexpr Step kSteps[] = {
    kScanStep,
    kPrepareStep,
    kHashStep,
    {"chor_share", 2, &measure_client},   // servers, log2 of rows: the client makes a query
    {"chor_seeds", 2, &measure_client},   // the same, for a query with seeds
    {"chor_gather", 2, &measure_client},  // servers, log2 of bytes: a row out of replies
};

Result<Offer> offer_plain(const Question& question, Rates& rates);
Result<Offer> offer_seeded(const Question& question, Rates& rates);
inline constexpr Scheme kSchemes[] = {{"chor", &offer_plain}, {"chor seeded", &offer_seeded}};

}  // namespace pirx::itpir::chor
