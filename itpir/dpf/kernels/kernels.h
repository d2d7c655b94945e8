// SPDX-License-Identifier: Apache-2.0
// The hot loops of an expansion, one set for each instruction set. Nodes are 16 bytes each and need no
// alignment.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "pirx/base/cpu.h"

#if defined(__x86_64__) && !defined(PIRX_PORTABLE_ONLY)
#define PIRX_DPF_X86 1
#endif

namespace pirx::itpir::dpf {

/// The round keys of AES-128.
struct RoundKeys {
  alignas(64) std::byte bytes[11 * 16];
};

/// One implementation. H is the hash of common.h under the given key; the control bit of a node is bit 0 of
/// its byte 0. Outputs overlap nothing. Time and addresses depend on `n` only.
struct ExpandKernels {
  const char* name;
  CpuFeatures needs;
  /// The round keys of the cipher with this key of 16 bytes.
  void (*make_keys)(const std::byte* key, RoundKeys& keys) noexcept;
  /// out[2i] = H_left(parents[i]), plus `corrections[0]` if the control bit of parents[i] is set; out[2i + 1]
  /// likewise with H_right and corrections[1]. Takes n parents.
  void (*children)(const RoundKeys& left, const RoundKeys& right, const std::byte* corrections,
                   const std::byte* parents, std::size_t n, std::byte* out) noexcept;
  /// sum[i] ^= H_leaf(parents[i]), plus `last` if the control bit of parents[i] is set. Takes n parents.
  void (*leaves)(const RoundKeys& leaf, const std::byte* last, const std::byte* parents, std::size_t n,
                 std::byte* sum) noexcept;
};

#if defined(PIRX_DPF_X86)
extern const ExpandKernels kExpandAesni, kExpandVaes512;
#endif

/// The kernels that are compiled in, the best first. None where AES is left to the library of ciphers.
std::span<const ExpandKernels> expand_kernels() noexcept;

}  // namespace pirx::itpir::dpf
