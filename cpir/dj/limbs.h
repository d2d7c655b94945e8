// SPDX-License-Identifier: Apache-2.0
// Secret numbers of fixed length: little-endian limbs on GMP's side-channel silent functions. Time and
// addresses depend on lengths alone. All memory, scratch space included, is wiped.
#pragma once

#include <gmp.h>

#include "pirx/base/rng.h"
#include "pirx/base/secret.h"

namespace pirx::cpir::dj {

static_assert(GMP_NUMB_BITS == 64 && sizeof(mp_limb_t) == 8);

using Limbs = SecretVector<mp_limb_t>;
using LimbSpan = std::span<const mp_limb_t>;

inline std::size_t limbs_of_bits(std::size_t bits) noexcept { return (bits + 63) / 64; }

/// Reads a number of `limbs` limbs from big-endian bytes, and writes it. What does not fit is cut off.
Limbs limbs_from_bytes(ByteSpan big_endian, std::size_t limbs);
void limbs_to_bytes(LimbSpan a, MutableByteSpan big_endian);

/// A copy with `limbs` limbs: zeros are added at the top, or the top is cut off.
Limbs resized(LimbSpan a, std::size_t limbs);
/// A copy without leading zero limbs; for moduli, whose length is public.
Limbs trimmed(LimbSpan a);
/// All ones if a is zero, else 0.
mp_limb_t zero_mask(LimbSpan a) noexcept;

/// A uniform number below `bound`, which has no leading zero limb.
Limbs random_below(LimbSpan bound, Rng& rng);

/// a * b in full.
Limbs multiply(LimbSpan a, LimbSpan b);
/// a + b with the length of a, which must be enough. b is not longer than a.
Limbs add(LimbSpan a, LimbSpan b);
/// a mod m with the length of m. Moduli have no leading zero limb.
Limbs reduce(LimbSpan a, LimbSpan m);
/// The quotient of a by d, with the length of a.
Limbs divide(LimbSpan a, LimbSpan d);
Limbs multiply_mod(LimbSpan a, LimbSpan b, LimbSpan m);
/// (a - b) mod m for any a and for b of any length.
Limbs subtract_mod(LimbSpan a, LimbSpan b, LimbSpan m);
/// The inverse of a modulo m. On input m > 1 is odd, and a is coprime to m.
Limbs invert_mod(LimbSpan a, LimbSpan m);

}  // namespace pirx::cpir::dj
