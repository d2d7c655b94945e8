// SPDX-License-Identifier: Apache-2.0
// The cost model of quadratic residuosity (docs/planner.md), and the measurements that it rests on.
#pragma once

#include "cpir/dj/cost.h"

namespace pirx::cpir::qr {

Result<double> measure_check(const RateId& id, RateTable& others);
Result<double> measure_columns(const RateId& id, RateTable& others);
Result<double> measure_client(const RateId& id, RateTable& others);

/// The steps. k is the bits of the modulus, `window` the rows that a table covers.
inline constexpr Step kSteps[] = {
    {"dj_check", 1, &dj::measure_check},  // k: the check of a query's modulus
    {"qr_check", 1, &measure_check},      // k: the check of one number of a query
    {"qr_entry", 2, &measure_columns},    // k, window: an entry of a table
    {"qr_product", 2, &measure_columns},  // k, window: the product for a column with an entry
    {"qr_column", 2, &measure_columns},   // k, window: the costs of a column beside its products
    {"qr_hide", 1, &measure_client},      // k: the client makes a number
    {"qr_tell", 1, &measure_client},      // k: the client reads a number
};

Result<Offer> offer_residuosity(const Question& question, Rates& rates);
inline constexpr Scheme kSchemes[] = {{"qr", &offer_residuosity}};

}  // namespace pirx::cpir::qr
