// SPDX-License-Identifier: Apache-2.0
// The cost model of inspire (docs/planner.md), and the measurements that it rests on.
#pragma once

#include "pirx/protocol/offer.h"

namespace pirx::cpir::inspire {

Result<double> measure_pass(const RateId& id, RateTable& others);
Result<double> measure_blocks(const RateId& id, RateTable& others);
Result<double> measure_client(const RateId& id, RateTable& others);
// Bits of a word: 8 for set s8, 16 for s16. Seconds of one core.
inline constexpr Step kSteps[] = {
    {"inspire_words", 1, &measure_pass},      // a byte of the database in the pass of one query
    {"inspire_packing", 1, &measure_pass},    // a byte of H in the same pass
    {"inspire_block", 1, &measure_blocks},    // a block of columns, whatever the rows, is prepared
    {"inspire_columns", 1, &measure_blocks},  // its part for d rows
    {"inspire_query", 1, &measure_client},    // the client makes the part of a query for d rows
    {"inspire_decode", 1, &measure_client},   // the client decodes a block of columns
};

Result<Offer> offer_inspire(const Question& question, Rates& rates);
inline constexpr pirx::Scheme kSchemes[] = {{"inspire", &offer_inspire}};

}  // namespace pirx::cpir::inspire
