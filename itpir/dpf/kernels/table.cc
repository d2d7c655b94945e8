// SPDX-License-Identifier: Apache-2.0
// The table of the kernels of this folder.
#include "kernels.h"

namespace pirx::itpir::dpf {

std::span<const ExpandKernels> expand_kernels() noexcept {
#if defined(PIRX_DPF_X86)
  static const ExpandKernels table[] = {kExpandVaes512, kExpandAesni};
  return table;
#else
  return {};
#endif
}

}  // namespace pirx::itpir::dpf
