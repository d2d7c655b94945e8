// SPDX-License-Identifier: Apache-2.0
// GF(2^16) modulo x^16 + x^14 + x^12 + x^7 + x^6 + x^4 + x^2 + x + 1 (0x150D7); x is a generator. Two
// little-endian bytes hold one element, one database word or one sum.
#pragma once

#include "pirx/gf2e/binary_field.h"

namespace pirx::gf2e {

class Gf2_16 : public BinaryField<std::uint16_t, 0x50D7> {};

/// The kernels that are compiled in, the best first, the portable one last. All are safe on secrets: time and
/// addresses depend on shapes only.
std::span<const Kernels<Gf2_16>> kernel_table(const Gf2_16& f);

}  // namespace pirx::gf2e
