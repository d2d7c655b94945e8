// SPDX-License-Identifier: Apache-2.0
// Reads keys, and computes the bits of all rows that a key stands for.
#pragma once

#include "common.h"

namespace pirx::itpir::dpf {

/// InvalidArgument: not keys of one and the same party, or bits that must be zero are not. Everything else is
/// some function, which harms nobody but who sent it. `keys`: key_bytes(rows) each, one at least.
Result<void> check_keys(ByteSpan keys, std::uint64_t rows);

/// Adds (xor) the key's function to `sum`, leaves(rows) leaves: bit j of leaf i is row i * kLeafBits + j.
/// Bits of rows after the last one mean nothing. On input the key has been checked.
void add_expansion(Hash& hash, ByteSpan key, std::uint64_t rows, std::span<Node> sum);

/// The memory that add_expansion and its sum take, roughly.
std::size_t expansion_bytes(std::uint64_t rows) noexcept;

}  // namespace pirx::itpir::dpf
