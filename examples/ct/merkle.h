// SPDX-License-Identifier: Apache-2.0
// Merkle hash trees of RFC 6962 section 2.1: roots, proofs of inclusion and of consistency, and their checks.
// See paper 000, section 4.1. An auditor trusts the checks, so they share no code with what makes the proofs.
#pragma once

#include <span>
#include <vector>

#include "pirx/base/sha256.h"

namespace pirx::ct {

/// SHA-256(0x00 || leaf) and SHA-256(0x01 || left || right): a leaf never passes for a node.
Digest leaf_hash(ByteSpan leaf);
Digest node_hash(const Digest& left, const Digest& right);

/// The root of a tree that only grows, in memory logarithmic in its size.
class TreeRoot {
 public:
  void add(const Digest& leaf);
  std::uint64_t size() const noexcept { return size_; }
  /// MTH of all leaves so far; of none it is SHA-256 of nothing.
  Digest root() const;

 private:
  std::uint64_t size_ = 0;
  std::vector<Digest> peaks_;  ///< complete subtrees from left to right: one for each bit of size_
};

/// All nodes of the tree over some leaf hashes: 64 bytes a leaf.
class MerkleTree {
 public:
  /// At least one leaf.
  explicit MerkleTree(std::vector<Digest> leaves);
  std::uint64_t size() const noexcept { return levels_.front().size(); }
  const Digest& root() const noexcept { return levels_.back().front(); }
  /// PATH(index, D[size]): the siblings from the leaf up. index < size().
  std::vector<Digest> inclusion_proof(std::uint64_t index) const;
  /// PROOF(first, D[size]): that the tree of the first leaves is a part of this one. 0 < first <= size().
  std::vector<Digest> consistency_proof(std::uint64_t first) const;

 private:
  /// levels_[h][i] covers leaves [i << h, (i + 1) << h) as far as there are any; a last node without a
  /// sibling is carried up.
  std::vector<std::vector<Digest>> levels_;
};

/// Hashes in the proof of that leaf in a tree of that size; index < size.
unsigned inclusion_proof_length(std::uint64_t index, std::uint64_t size);

/// Whether the proof leads from the leaf to the root. Any other length, index or size than the proof's is
/// refused.
bool verify_inclusion(const Digest& leaf, std::uint64_t index, std::uint64_t size,
                      std::span<const Digest> proof, const Digest& root);

/// Whether the proof shows that the tree of `second` leaves begins with the leaves of the tree of `first`. 0
/// < first <= second.
bool verify_consistency(std::uint64_t first, const Digest& first_root, std::uint64_t second,
                        const Digest& second_root, std::span<const Digest> proof);

}  // namespace pirx::ct
