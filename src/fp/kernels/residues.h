// The multi-modular kernels; their contract is ResidueKernels' in pirx/base/residue_kernels.h.
#pragma once

#include "pirx/base/residue_kernels.h"

namespace pirx::fp {

#if defined(__x86_64__) && !defined(PIRX_PORTABLE_ONLY)
extern const ResidueKernels kResiduesAvx2;
/// On AVX-512 VNNI.
extern const ResidueKernels kResiduesVnni;
/// The same with the product on AMX.
extern const ResidueKernels kResiduesAmx;
#endif

}  // namespace pirx::fp
