// SPDX-License-Identifier: Apache-2.0
// The kernels of this folder, one set for each instruction set. They are initialised at compile time, so they
// can be used before main().
#pragma once

#include "pirx/base/sliced_kernels.h"
#include "pirx/gf2e/gf2.h"
#include "pirx/gf2e/gf2_16.h"
#include "pirx/gf2e/gf2_8.h"

#if defined(__x86_64__) && !defined(PIRX_PORTABLE_ONLY)
#define PIRX_GF2E_X86 1
#endif

namespace pirx::gf2e {

extern const Kernels<Gf2> kGf2Portable;
extern const Kernels<Gf2_8> kGf2_8Portable;
extern const Kernels<Gf2_16> kGf2_16Portable;

#if defined(PIRX_GF2E_X86)
extern const Kernels<Gf2> kGf2Avx2;
extern const Kernels<Gf2_8> kGf2_8Avx2;
extern const Kernels<Gf2_16> kGf2_16Avx2;

extern const Kernels<Gf2_8> kGf2_8Gfni256;

extern const SlicedKernels kGf2SlicedAvx2, kGf2_8SlicedAvx2, kGf2_16SlicedAvx2;
extern const SlicedKernels kGf2Sliced256, kGf2_8Sliced256, kGf2_16Sliced256;
extern const SlicedKernels kGf2Sliced512, kGf2_8Sliced512, kGf2_16Sliced512;

extern const Kernels<Gf2> kGf2Avx512;
extern const Kernels<Gf2_8> kGf2_8Gfni512;
extern const Kernels<Gf2_16> kGf2_16Gfni512;
#endif

/// The kernels `rows` with the bit-sliced kernels `sliced` added, under a new name. They need the CPU
/// features of `rows` and `more`.
template <class F>
constexpr Kernels<F> with_sliced(const char* name, Kernels<F> rows, CpuFeatures more,
                                 const SlicedKernels& sliced, const Crossovers& crossovers) {
  rows.name = name;
  rows.needs |= more;
  rows.sliced = &sliced;
  rows.crossovers = crossovers;
  return rows;
}

}  // namespace pirx::gf2e
