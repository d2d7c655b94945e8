// SPDX-License-Identifier: Apache-2.0
// The Legendre symbol modulo a secret prime, in constant time.
#pragma once

#include "cpir/dj/limbs.h"

namespace pirx::cpir::qr {

/// 1 if a is not a square modulo p, 0 if it is a square other than 0, and 0 or 1 if p divides a. On input p
/// is an odd prime without leading zero limbs; a is below p and has the same length. Time and addresses
/// depend on the length of p in bits alone.
///
/// Binary GCD with 29 steps at a time on 64-bit approximations: Pornin, "Optimized Binary GCD for Modular
/// Inversion" (2020), which also tracks the symbol here.
unsigned legendre_nonresidue(dj::LimbSpan a, dj::LimbSpan p);

}  // namespace pirx::cpir::qr
