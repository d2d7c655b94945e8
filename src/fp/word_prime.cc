// SPDX-License-Identifier: Apache-2.0
// The scalar operations of W160 and W48, and their kernel tables.
#include "kernels/kernels.h"
#include "word_prime_arith.h"

namespace pirx::fp {

template <unsigned kWordBits, std::uint32_t kAbove>
auto WordPrime<kWordBits, kAbove>::mul(Elem a, Elem b) const noexcept -> Elem {
  Columns<WordPrime> columns;
  accumulate(columns, split<WordPrime>(a), split<WordPrime>(b));
  return reduce(columns);
}

template <unsigned kWordBits, std::uint32_t kAbove>
auto WordPrime<kWordBits, kAbove>::inv(Elem a) const noexcept -> Elem {
  // The exponent p - 2 = 2^w + (c - 2): `out` starts with its top bit, and the loop takes the others.
  Elem out = a;
  for (unsigned bit = kBits; bit-- > 0;) {
    out = mul(out, out);
    if (bit < 32 && ((kLow - 2) >> bit & 1) != 0) out = mul(out, a);
  }
  return out;
}

template class WordPrime<160, 7>;
template class WordPrime<48, 21>;

std::span<const Kernels<W160>> kernel_table(const W160&) noexcept {
  static const Kernels<W160> table[] = {
#if defined(PIRX_FP_X86)
    with_residues("amx", kW160Ifma, kCpuAvx512Vnni | kCpuAmxInt8, kResiduesAmx, 128,
                  {.toom = 8, .residues = 24, .kept_residues = 8}),
    with_residues("vnni", kW160Ifma, kCpuAvx512Vnni, kResiduesVnni, 128,
                  {.toom = 8, .residues = 48, .kept_residues = 12}),
    kW160Ifma,
    with_residues("avx2", kW160Portable, kCpuAvx2, kResiduesAvx2, 64, {.residues = 16, .kept_residues = 4}),
#endif
    kW160Portable,
  };
  return table;
}

std::span<const Kernels<W48>> kernel_table(const W48&) noexcept {
  static const Kernels<W48> table[] = {
#if defined(PIRX_FP_X86)
    with_residues("amx", kW48Ifma, kCpuAvx512Vnni | kCpuAmxInt8, kResiduesAmx, 256,
                  {.residues = 96, .kept_residues = 32}),
    kW48Ifma,
    with_residues("avx2", kW48Portable, kCpuAvx2, kResiduesAvx2, 64, {.residues = 16, .kept_residues = 4}),
#endif
    kW48Portable,
  };
  return table;
}

}  // namespace pirx::fp
