// SPDX-License-Identifier: Apache-2.0
// The kernels of this folder over the integers modulo powers of two. IntegerKernels is their contract.
#pragma once

#include "kernels.h"
#include "src/fp/integer_kernels.h"

namespace pirx::fp {

extern const IntegerKernels kIntegersPortable;

#if defined(PIRX_FP_X86)
extern const IntegerKernels kIntegersAvx2;
/// On AVX-512 VNNI; and the same with the product on AMX.
extern const IntegerKernels kIntegersVnni, kIntegersAmx;
#endif

}  // namespace pirx::fp
