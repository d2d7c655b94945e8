// SPDX-License-Identifier: Apache-2.0
// GF(2^8) modulo x^8 + x^4 + x^3 + x + 1 (0x11B). One byte holds one element, one database word or one sum.
#pragma once

#include "pirx/gf2e/binary_field.h"

namespace pirx::gf2e {

class Gf2_8 : public BinaryField<std::uint8_t, 0x1B> {};

/// The kernels that are compiled in, the best first, the portable one last. All are safe on secrets: time and
/// addresses depend on shapes only.
std::span<const Kernels<Gf2_8>> kernel_table(const Gf2_8& f);

}  // namespace pirx::gf2e
