// SPDX-License-Identifier: Apache-2.0
// The policy of the product modulo small moduli (residues.h): its plan, its blocks and its workspace.
#pragma once

#include "pirx/base/residue_kernels.h"
#include "strassen/plan.h"

namespace pirx::strassen {

/// Rows in a chunk of prepared residues.
inline constexpr std::size_t kResidueChunk = 4096;
/// Panels that a thread multiplies at a time.
inline constexpr std::size_t kResiduePanels = 8;

/// The bytes from the residues modulo one modulus to those modulo the next, for `rows` rows of 16 words, or
/// of 16 queries' scalars. Never a multiple of a page: all moduli would then compete for a few lines of the
/// cache.
constexpr std::uint64_t residue_run_bytes(std::uint64_t rows) {
  return saturated_add(saturated_mul(rows / 64 + (rows % 64 != 0), ResidueKernels::kBlockBytes), 5 * 64);
}

/// The plan of a product modulo many small moduli. `kept`: the database's residues were prepared. Depends on
/// its arguments alone.
Plan make_residue_plan(const Shape& shape, int threads, const KernelTraits& kernel, std::size_t moduli,
                       bool kept);

/// The parts of the workspace, in bytes.
struct ResidueSizes {
  std::uint64_t scalars = 0;  ///< residues of the queries of a pass, for a chunk of rows
  std::uint64_t sums = 0;     ///< sums of a pass and a block of columns, modulo every modulus
  std::uint64_t words = 0;    ///< residues of Plan::run panels of a chunk, if they were not prepared
  std::uint64_t total() const { return scalars + sums + words; }
};
ResidueSizes residue_sizes(const Plan& plan, std::size_t moduli);

}  // namespace pirx::strassen
