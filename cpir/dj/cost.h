// SPDX-License-Identifier: Apache-2.0
// The cost model of Damgard-Jurik trees (docs/planner.md), and the measurements that it rests on.
#pragma once

#include "pirx/cpir/dj/keys.h"
#include "pirx/protocol/offer.h"

namespace pirx::cpir::dj {

/// The windows that stand for small tables, which fit a core's own cache, and for large ones.
inline constexpr unsigned kSmallWindow = 7, kLargeWindow = 11;

/// The policy under which keys have so many bits.
KeyPolicy policy_of(unsigned modulus_bits);

Result<double> measure_products(const RateId& id, RateTable& others);
Result<double> measure_client(const RateId& id, RateTable& others);
Result<double> measure_check(const RateId& id, RateTable& others);

/// The steps. k is the bits of a modulus, s a layer. `window` says how large a table is, and so from which
/// cache or memory its entries come.
inline constexpr Step kSteps[] = {
    {"dj_product", 3,
     &measure_products},  // k, s, window: a product of rows modulo N^(s+1) with a table's entry
    {"dj_entry", 3, &measure_products},   // k, s, window: a product that becomes an entry of a table
    {"dj_square", 2, &measure_products},  // k, s: a square
    {"dj_row", 2, &measure_products},     // k, s: the costs of a node beside its products
    {"dj_check", 1, &measure_check},      // k: the check of a query's modulus
    {"dj_zero", 2, &measure_client},      // k, s: the client makes E_s(0)
    {"dj_bit", 2, &measure_client},       // k, s: the client turns E_s(0) into E_s(bit)
    {"dj_open", 2, &measure_client},      // k, s: the client decrypts all s layers
};

Result<Offer> offer_tree(const Question& question, Rates& rates);
inline constexpr Scheme kSchemes[] = {{"dj-tree", &offer_tree}};

}  // namespace pirx::cpir::dj
