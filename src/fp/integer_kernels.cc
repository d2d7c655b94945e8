// SPDX-License-Identifier: Apache-2.0
// The tables of the kernels over the integers modulo powers of two.
#include "integer_kernels.h"

#include <algorithm>

#include "kernels/integers.h"

namespace pirx::fp {

std::span<const IntegerKernels> integer_kernel_table() noexcept {
  static const IntegerKernels table[] = {
#if defined(PIRX_FP_X86)
    kIntegersAmx,
    kIntegersVnni,
    kIntegersAvx2,
#endif
    kIntegersPortable,
  };
  return table;
}

const IntegerKernels& choose_integer_kernels(CpuFeatures features) noexcept {
  const auto table = integer_kernel_table();
  return *std::find_if(table.begin(), table.end(),
                       [&](const IntegerKernels& kernels) { return (kernels.needs & ~features) == 0; });
}

}  // namespace pirx::fp
