// SPDX-License-Identifier: Apache-2.0
// W160: the integers modulo p = 2^160 + 7. A database word has exactly 20 bytes, an element has 161 bits.
#pragma once

#include "pirx/fp/word_prime.h"

namespace pirx::fp {

class W160 : public WordPrime<160, 7> {};

static_assert(Field<W160>);

/// "amx", "vnni", "ifma" (AVX-512), "avx2" and "portable", as far as they are compiled in.
std::span<const Kernels<W160>> kernel_table(const W160& f) noexcept;

}  // namespace pirx::fp
