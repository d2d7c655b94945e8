// W48: the integers modulo p = 2^48 + 21. A database word has exactly 6 bytes, an element has 49 bits. The
// prime field for servers that want more throughput than W160 gives, and for more than 2^16 servers.
#pragma once

#include "pirx/fp/word_prime.h"

namespace pirx::fp {

class W48 : public WordPrime<48, 21> {};

static_assert(Field<W48>);

/// "amx", "ifma" (AVX-512), "avx2" and "portable", as far as they are compiled in.
std::span<const Kernels<W48>> kernel_table(const W48& f) noexcept;

}  // namespace pirx::fp
