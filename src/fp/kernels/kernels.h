// SPDX-License-Identifier: Apache-2.0
// The kernels of this folder, one set for each instruction set. They are initialised at compile time, so they
// can be used before main(). Kernels<F> in field.h, ToomKernels and ResidueKernels are their contracts.
#pragma once

#include "pirx/base/residue_kernels.h"
#include "pirx/base/toom_kernels.h"
#include "pirx/fp/w160.h"
#include "pirx/fp/w48.h"

#if defined(__x86_64__) && !defined(PIRX_PORTABLE_ONLY)
#define PIRX_FP_X86 1
#endif

namespace pirx::fp {

extern const Kernels<W160> kW160Portable;
extern const Kernels<W48> kW48Portable;

#if defined(PIRX_FP_X86)
/// On AVX-512 IFMA.
extern const Kernels<W160> kW160Ifma;
extern const Kernels<W48> kW48Ifma;
extern const ToomKernels<W160> kW160Toom;

extern const ResidueKernels kResiduesAvx2;
/// On AVX-512 VNNI; and the same with the product on AMX.
extern const ResidueKernels kResiduesVnni, kResiduesAmx;
#endif

/// The table of an Impl, which has
///   muladd<kWords>(f, q, r, s, Q, q_stride, D, d_stride, R, r_stride): R += Q * D, D of words or of
///   elements, combine<kSubtract>(f, n, a, b, out): out = a + b or a - b.
template <class F, class Impl>
constexpr Kernels<F> make_kernels(const char* name, CpuFeatures needs, std::size_t tile_rows,
                                  std::size_t tile_bytes) {
  using Elem = typename F::Elem;
  using Size = std::size_t;
  return {.name = name,
          .needs = needs,
          // R[i][j] += Q[i][0] D[0][j] + ... + Q[i][r - 1] D[r - 1][j] mod p, D of words.
          .muladd_words =
              [](const F& f, Size q, Size r, Size s, const Elem* Q, Size q_stride, const std::byte* D,
                 Size d_stride, Elem* R, Size r_stride) noexcept {
                Impl::template muladd<true>(f, q, r, s, Q, q_stride, D, d_stride, R, r_stride);
              },
          // The same, D of elements.
          .muladd_sums =
              [](const F& f, Size q, Size r, Size s, const Elem* Q, Size q_stride, const Elem* D,
                 Size d_stride, Elem* R, Size r_stride) noexcept {
                Impl::template muladd<false>(f, q, r, s, Q, q_stride, reinterpret_cast<const std::byte*>(D),
                                             d_stride, R, r_stride);
              },
          // out[i] = a[i] + b[i] mod p.
          .add = [](const F& f, Size n, const Elem* a, const Elem* b,
                    Elem* out) noexcept { Impl::template combine<false>(f, n, a, b, out); },
          // out[i] = a[i] - b[i] mod p.
          .sub = [](const F& f, Size n, const Elem* a, const Elem* b,
                    Elem* out) noexcept { Impl::template combine<true>(f, n, a, b, out); },
          .tile_rows = tile_rows,
          .tile_bytes = tile_bytes};
}

/// The kernels `rows` with products modulo small moduli added, under a new name. They need the CPU features
/// of `rows` and `more`. Rows of fewer than `words` words are not multiplied modulo small moduli.
template <class F>
constexpr Kernels<F> with_residues(const char* name, Kernels<F> rows, CpuFeatures more,
                                   const ResidueKernels& residues, std::size_t words,
                                   const Crossovers& crossovers) {
  rows.name = name;
  rows.needs |= more;
  rows.residues = &residues;
  rows.residue_words = words;
  rows.crossovers = crossovers;
  return rows;
}

}  // namespace pirx::fp
