// SPDX-License-Identifier: Apache-2.0
// Builds trees level by level. Checks proofs by the algorithms of RFC 9162, sections 2.1.3.2 and 2.1.4.2,
// which also hold for RFC 6962.
#include "merkle.h"

#include <algorithm>
#include <bit>

namespace pirx::ct {

Digest leaf_hash(ByteSpan leaf) {
  Sha256 hash;
  hash.update(as_bytes(std::string_view("\0", 1)));
  hash.update(leaf);
  return std::move(hash).finish();
}

Digest node_hash(const Digest& left, const Digest& right) {
  std::array<std::byte, 65> node;
  node[0] = std::byte{1};
  std::copy(left.begin(), left.end(), node.begin() + 1);
  std::copy(right.begin(), right.end(), node.begin() + 33);
  return sha256(node);
}

void TreeRoot::add(const Digest& leaf) {
  peaks_.push_back(leaf);
  for (std::uint64_t full = size_++; (full & 1) != 0; full >>= 1) {
    const Digest right = peaks_.back();
    peaks_.pop_back();
    peaks_.back() = node_hash(peaks_.back(), right);
  }
}

Digest TreeRoot::root() const {
  if (peaks_.empty()) return sha256({});
  Digest root = peaks_.back();
  for (std::size_t i = peaks_.size() - 1; i-- > 0;) root = node_hash(peaks_[i], root);
  return root;
}

MerkleTree::MerkleTree(std::vector<Digest> leaves) {
  PIRX_CHECK(!leaves.empty());
  levels_.push_back(std::move(leaves));
  while (levels_.back().size() > 1) {
    const auto& below = levels_.back();
    std::vector<Digest> nodes;
    nodes.reserve((below.size() + 1) / 2);
    for (std::size_t i = 0; i + 1 < below.size(); i += 2) nodes.push_back(node_hash(below[i], below[i + 1]));
    if (below.size() % 2 != 0) nodes.push_back(below.back());
    levels_.push_back(std::move(nodes));
  }
}

std::vector<Digest> MerkleTree::inclusion_proof(std::uint64_t index) const {
  PIRX_CHECK(index < size());
  std::vector<Digest> proof;
  for (const auto& level : levels_) {
    if ((index ^ 1) < level.size()) proof.push_back(level[index ^ 1]);
    index >>= 1;
  }
  return proof;
}

std::vector<Digest> MerkleTree::consistency_proof(std::uint64_t first) const {
  PIRX_CHECK(first > 0 && first <= size());
  std::vector<Digest> proof;
  if (first == size()) return proof;
  // The largest complete subtree that ends the old tree, then its siblings on the way up.
  std::size_t height = 0;
  std::uint64_t node = first - 1;
  for (; (node & 1) != 0; node >>= 1) ++height;
  if (node != 0) proof.push_back(levels_[height][node]);
  for (; levels_[height].size() > 1; ++height, node >>= 1) {
    if ((node ^ 1) < levels_[height].size()) proof.push_back(levels_[height][node ^ 1]);
  }
  return proof;
}

unsigned inclusion_proof_length(std::uint64_t index, std::uint64_t size) {
  PIRX_CHECK(index < size);
  unsigned length = 0;
  for (std::uint64_t last = size - 1; last != 0; last >>= 1, index >>= 1) {
    length += (index & 1) != 0 || index < last;
  }
  return length;
}

bool verify_inclusion(const Digest& leaf, std::uint64_t index, std::uint64_t size,
                      std::span<const Digest> proof, const Digest& root) {
  if (index >= size) return false;
  Digest node = leaf;
  std::uint64_t last = size - 1;
  for (const auto& sibling : proof) {
    if (last == 0) return false;
    if ((index & 1) != 0 || index == last) {
      node = node_hash(sibling, node);
      while ((index & 1) == 0 && index != 0) index >>= 1, last >>= 1;
    } else {
      node = node_hash(node, sibling);
    }
    index >>= 1;
    last >>= 1;
  }
  return last == 0 && node == root;
}

bool verify_consistency(std::uint64_t first, const Digest& first_root, std::uint64_t second,
                        const Digest& second_root, std::span<const Digest> proof) {
  if (first == 0 || first > second) return false;
  if (first == second) return proof.empty() && first_root == second_root;
  // A complete old tree is itself the node that the proof begins with.
  const bool complete = std::has_single_bit(first);
  if (!complete && proof.empty()) return false;
  Digest old_root = complete ? first_root : proof.front();
  if (!complete) proof = proof.subspan(1);
  Digest new_root = old_root;
  std::uint64_t node = first - 1, last = second - 1;
  while ((node & 1) != 0) node >>= 1, last >>= 1;
  for (const auto& sibling : proof) {
    if (last == 0) return false;
    if ((node & 1) != 0 || node == last) {
      old_root = node_hash(sibling, old_root);
      new_root = node_hash(sibling, new_root);
      while ((node & 1) == 0 && node != 0) node >>= 1, last >>= 1;
    } else {
      new_root = node_hash(new_root, sibling);
    }
    node >>= 1;
    last >>= 1;
  }
  return last == 0 && old_root == first_root && new_root == second_root;
}

}  // namespace pirx::ct
