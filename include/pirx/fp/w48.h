// SPDX-License-Identifier: Apache-2.0
// W48: the integers modulo p = 2^48 + 21. A database word has exactly 6 bytes, an element has 49 bits. The
// prime field for servers that want more throughput than W160 gives. It also serves batch queries over u-ary
// databases, where every row needs a coordinate of its own: GF(2^16) has too few for long databases.
#pragma once

#include "pirx/fp/word_prime.h"

namespace pirx::fp {

class W48 : public WordPrime<48, 21> {};

static_assert(Field<W48>);

/// "amx", "ifma" (AVX-512), "avx2" and "portable", as far as they are compiled in.
std::span<const Kernels<W48>> kernel_table(const W48& f) noexcept;

}  // namespace pirx::fp
