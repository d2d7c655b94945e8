// SPDX-License-Identifier: Apache-2.0
// The cost model of Goldberg's protocol (docs/planner.md), and the measurements that it rests on.
#pragma once

#include "itpir/cost.h"

namespace pirx::itpir::goldberg {

Result<double> measure_client(const RateId& id, RateTable& others);
inline constexpr Step kSteps[] = {
    kScanStep,
    kPrepareStep,
    kHashStep,
    {"share", 4, &measure_client},   // field, servers, threshold, log2 of rows: the client makes a query
    {"seeds", 4, &measure_client},   // the same, for a query with seeds
    {"gather", 4, &measure_client},  // field, servers, threshold, log2 of bytes: a row out of replies
};

Result<Offer> offer_plain(const Question& question, Rates& rates);
Result<Offer> offer_w160(const Question& question, Rates& rates);
Result<Offer> offer_seeded(const Question& question, Rates& rates);
inline constexpr Scheme kSchemes[] = {
    {"goldberg", &offer_plain}, {"goldberg seeded", &offer_seeded}, {"goldberg w160", &offer_w160}};

}  // namespace pirx::itpir::goldberg
