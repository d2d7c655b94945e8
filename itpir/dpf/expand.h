// SPDX-License-Identifier: Apache-2.0
// Reads keys, and computes the bits of all rows that a key stands for.
#pragma once

#include <array>
#include <optional>

#include "common.h"
#include "kernels/kernels.h"

namespace pirx::itpir::dpf {

/// InvalidArgument: not keys of one and the same party, or bits that must be zero are not. Everything else is
/// some function, which harms nobody but who sent it. `keys`: key_bytes(rows) each, one at least.
Result<void> check_keys(ByteSpan keys, std::uint64_t rows);

/// The bytes of the leaves of an expansion: bit k of byte g is row 8 g + k. Bits of rows after the last one
/// mean nothing.
inline std::size_t expansion_bytes(std::uint64_t rows) noexcept {
  return static_cast<std::size_t>(leaves(rows)) * sizeof(Node);
}

/// A subtree has so many levels at most: 1024 leaves, whose nodes take 16 KiB.
inline constexpr unsigned kSubtreeLevels = 10;
inline constexpr std::size_t kSubtreeRows = std::size_t{kLeafBits} << kSubtreeLevels;

/// Expands keys: breadth first at the top of the tree, then one subtree after the other, so that nodes stay
/// in the cache. Not thread-safe.
class Expander {
 public:
  /// With the best kernels that this process may use (see PIRX_FORCE_ISA).
  Expander();
  /// With these kernels; null: with Hash.
  explicit Expander(const ExpandKernels* kernels);

  /// Adds (xor) the key's function to `sum`, which is the bytes of the expansion from row `first` on, a
  /// multiple of kSubtreeRows: all that follow, or those of whole subtrees. On input the key has been
  /// checked.
  void add(ByteSpan key, std::uint64_t rows, MutableByteSpan sum, std::uint64_t first = 0);

  /// The memory that add() takes beside the sum, roughly.
  static std::size_t scratch_bytes(std::uint64_t rows) noexcept;

 private:
  struct Key;
  std::span<const Node> grow(const Key& key, std::span<Node> space, Node root, unsigned begin, unsigned end,
                             std::size_t first, std::size_t wanted);
  void children(std::span<const Node> parents, const std::array<Node, 2>& corrections, std::span<Node> out);
  void add_leaves(std::span<const Node> parents, const Node& last, std::byte* sum);

  const ExpandKernels* kernels_;
  RoundKeys left_keys_, right_keys_, leaf_keys_;  // with kernels
  std::optional<Hash> hash_;                      // without
  std::vector<Node> top_, subtree_, left_, right_;
};

}  // namespace pirx::itpir::dpf
