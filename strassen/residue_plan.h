// What the multi-modular product (residues.h) does: when, in which blocks, with how much workspace.
#pragma once

#include "pirx/base/residue_kernels.h"
#include "strassen/plan.h"

namespace pirx::strassen {

/// Rows of a kept chunk of residues.
inline constexpr std::size_t kResidueChunk = 4096;
/// Panels that a thread multiplies at a time.
inline constexpr std::size_t kResiduePanels = 8;

/// Bytes from the residues of so many rows of 16 words (or so many scalars of 16 queries) modulo one modulus
/// to those modulo the next one: not a multiple of a page, where all moduli would share a few lines of the
/// cache.
constexpr std::uint64_t residue_run_bytes(std::uint64_t rows) {
  return saturated_add(saturated_mul(rows / 64 + (rows % 64 != 0), ResidueKernels::kBlockBytes), 5 * 64);
}

/// The plan of a product modulo many small moduli; `kept`: the database's residues were prepared. Pure.
Plan make_residue_plan(const Shape& shape, int threads, const KernelTraits& kernel, std::size_t moduli,
                       bool kept);

/// Bytes of the parts of the workspace.
struct ResidueSizes {
  std::uint64_t scalars = 0;  ///< residues of the queries of a pass, for a chunk of rows
  std::uint64_t sums = 0;     ///< of a pass and a block of columns, modulo every modulus
  std::uint64_t words = 0;    ///< residues of Plan::run panels of a chunk, if they are not kept
  std::uint64_t total() const { return scalars + sums + words; }
};
ResidueSizes residue_sizes(const Plan& plan, std::size_t moduli);

}  // namespace pirx::strassen
