// SPDX-License-Identifier: Apache-2.0
// Grows the tree of a key: breadth first for the top, then one subtree after the other, so that nodes stay in
// the cache.
#include "expand.h"

namespace pirx::itpir::dpf {
namespace {

/// A subtree has so many levels at most: 1024 leaves, whose nodes take 16 KiB.
constexpr unsigned kSubtreeLevels = 10;

/// A key's parts, borrowed.
struct Key {
  Key(ByteSpan key, std::uint64_t rows)
      : levels(dpf::levels(rows)),
        seed(key.data() + 1),
        corrections(seed + 16),
        bits(corrections + 16 * std::size_t{levels}),
        last(key.data() + key.size() - 16) {}

  struct Pair {
    Node left, right;
  };
  /// Of a level: the correction of left and right children, each with its control bit.
  Pair correction(unsigned level) const noexcept {
    const Node seed_correction = Node::load(corrections + 16 * std::size_t{level});
    const auto both = std::to_integer<std::uint64_t>(bits[level / 4]) >> (2 * (level % 4));
    return {{seed_correction.low | (both & 1), seed_correction.high},
            {seed_correction.low | (both >> 1 & 1), seed_correction.high}};
  }

  unsigned levels;
  const std::byte *seed, *corrections, *bits, *last;
};

class Grower {
 public:
  Grower(Hash& hash, const Key& key, std::span<Node> sum) : hash_(hash), key_(key), sum_(sum) {}

  /// Takes `nodes` of `level` down to their leaves, of which the first is `leaf`.
  void grow(std::vector<Node> nodes, unsigned level, std::size_t leaf, unsigned deep) {
    for (; level < key_.levels && deep > 0; ++level, --deep) {
      const unsigned below = key_.levels - level;
      const std::size_t needed = div_up(sum_.size() - leaf, std::size_t{1} << below);
      if (nodes.size() > needed) nodes.resize(needed);
      nodes = children(nodes, key_.correction(level));
    }
    if (level == key_.levels) return add_leaves(nodes, leaf);
    const std::size_t each = std::size_t{1} << (key_.levels - level);
    for (const Node& node : nodes) {
      if (leaf >= sum_.size()) return;
      grow({node}, level, leaf, kSubtreeLevels);
      leaf += each;
    }
  }

 private:
  std::vector<Node> children(const std::vector<Node>& parents, const Key::Pair& correction) {
    left_.resize(parents.size());
    right_.resize(parents.size());
    hash_.children(parents, left_, right_);
    std::vector<Node> all(2 * parents.size());
    for (std::size_t i = 0; i < parents.size(); ++i) {
      const std::uint64_t corrected = 0 - parents[i].control();
      all[2 * i] = left_[i] ^ (correction.left & corrected);
      all[2 * i + 1] = right_[i] ^ (correction.right & corrected);
    }
    return all;
  }

  void add_leaves(std::vector<Node>& nodes, std::size_t first) {
    nodes.resize(std::min(nodes.size(), sum_.size() - first));
    left_.resize(nodes.size());
    hash_.leaves(nodes, left_);
    const Node last = Node::load(key_.last);
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      sum_[first + i] = sum_[first + i] ^ left_[i] ^ (last & (0 - nodes[i].control()));
    }
  }

  Hash& hash_;
  const Key& key_;
  std::span<Node> sum_;
  std::vector<Node> left_, right_;
};

unsigned top_levels(unsigned levels) noexcept {
  return levels > kSubtreeLevels ? levels - kSubtreeLevels : levels;
}

}  // namespace

std::size_t expansion_bytes(std::uint64_t rows) noexcept {
  // The sum; and five arrays of the nodes of a subtree and of the tree's top.
  const std::size_t nodes = (std::size_t{1} << kSubtreeLevels) + (std::size_t{1} << top_levels(levels(rows)));
  return sizeof(Node) * (static_cast<std::size_t>(leaves(rows)) + 5 * nodes);
}

Result<void> check_keys(ByteSpan keys, std::uint64_t rows) {
  const std::size_t each = key_bytes(rows);
  const unsigned h = levels(rows);
  const std::byte party = keys.front();
  if (party > std::byte{1}) return invalid("a key is for party 0 or 1, not for another");
  for (; !keys.empty(); keys = keys.subspan(each)) {
    if (keys.front() != party) return invalid("the keys of a request are for two parties: send each its own");
    auto spare = std::byte{0};
    for (unsigned node = 0; node <= h; ++node) spare |= keys[1 + 16 * std::size_t{node}] & std::byte{1};
    if (h % 4 != 0) spare |= keys[each - 17] >> (2 * (h % 4));
    if (spare != std::byte{0}) return invalid("a key has bits set that must be zero");
  }
  return {};
}

void add_expansion(Hash& hash, ByteSpan key_in_bytes, std::uint64_t rows, std::span<Node> sum) {
  PIRX_CHECK(key_in_bytes.size() == key_bytes(rows) && sum.size() == leaves(rows));
  const Key key(key_in_bytes, rows);
  Node root = Node::load(key.seed);
  root.low |= std::to_integer<std::uint64_t>(key_in_bytes.front());
  Grower(hash, key, sum).grow({root}, 0, 0, top_levels(key.levels));
}

}  // namespace pirx::itpir::dpf
