// Secret numbers of fixed length: little-endian limbs over GMP's side-channel silent functions. Time and
// addresses depend on lengths alone; memory, scratch space included, is wiped.
#pragma once

#include <gmp.h>

#include "pirx/base/secret.h"

namespace pirx::cpir::dj {

static_assert(GMP_NUMB_BITS == 64 && sizeof(mp_limb_t) == 8);

using Limbs = SecretVector<mp_limb_t>;
using LimbSpan = std::span<const mp_limb_t>;

inline std::size_t limbs_of_bits(std::size_t bits) noexcept { return (bits + 63) / 64; }

/// A number of `limbs` limbs from its big-endian bytes, and back. What does not fit is cut off.
Limbs limbs_from_bytes(ByteSpan big_endian, std::size_t limbs);
void limbs_to_bytes(LimbSpan a, MutableByteSpan big_endian);

/// A copy of `limbs` limbs: zeros in front, or the top cut off.
Limbs resized(LimbSpan a, std::size_t limbs);
/// Without leading zero limbs: for moduli, whose length is public.
Limbs trimmed(LimbSpan a);
/// All ones if a is zero, else 0.
mp_limb_t zero_mask(LimbSpan a) noexcept;

/// a * b in full.
Limbs multiply(LimbSpan a, LimbSpan b);
/// a + b, which must fit a's length; b is no longer than a.
Limbs add(LimbSpan a, LimbSpan b);
/// a mod m, as long as m. Moduli have no leading zero limb.
Limbs reduce(LimbSpan a, LimbSpan m);
/// The quotient of a by d, as long as a.
Limbs divide(LimbSpan a, LimbSpan d);
Limbs multiply_mod(LimbSpan a, LimbSpan b, LimbSpan m);
/// (a - b) mod m for any a and for b of any length.
Limbs subtract_mod(LimbSpan a, LimbSpan b, LimbSpan m);
/// base^exponent mod m for an odd m > 1, a base that is not zero, and an exponent below 2^exponent_bits.
Limbs power_mod(LimbSpan base, LimbSpan exponent, std::size_t exponent_bits, LimbSpan m);
/// The inverse of a modulo an odd m > 1. A contract: a is prime to m.
Limbs invert_mod(LimbSpan a, LimbSpan m);

}  // namespace pirx::cpir::dj
