// Legendre's symbol modulo a secret prime, in constant time.
#pragma once

#include "cpir/dj/limbs.h"

namespace pirx::cpir::qr {

/// 1 if a is no square modulo p, 0 if it is one other than 0, either if p divides a. p is an odd prime
/// without leading zero limbs, a below it and as long. Time and addresses depend on the bits of p alone.
///
/// Binary GCD with 29 steps at a time on 64-bit approximations: Pornin, "Optimized Binary GCD for Modular
/// Inversion" (2020), with the symbol carried along.
unsigned legendre_nonresidue(dj::LimbSpan a, dj::LimbSpan p);

}  // namespace pirx::cpir::qr
