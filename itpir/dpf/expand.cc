// SPDX-License-Identifier: Apache-2.0
// Grows the tree of a key.
#include "expand.h"

#include <algorithm>

namespace pirx::itpir::dpf {
namespace {

unsigned top_levels(unsigned levels) noexcept {
  return levels > kSubtreeLevels ? levels - kSubtreeLevels : 0;
}

// Nodes are hashed as they lie in memory, which common.cc has checked.
const std::byte* bytes_of(const Node* nodes) noexcept { return reinterpret_cast<const std::byte*>(nodes); }
std::byte* bytes_of(Node* nodes) noexcept { return reinterpret_cast<std::byte*>(nodes); }

const ExpandKernels* best_kernels() {
  const auto allowed = allowed_cpu_features_or_die();
  for (const auto& kernels : expand_kernels()) {
    if ((kernels.needs & ~allowed) == 0) return &kernels;
  }
  return nullptr;
}

}  // namespace

/// A key's parts, borrowed.
struct Expander::Key {
  Key(ByteSpan key, std::uint64_t rows)
      : levels(dpf::levels(rows)),
        seed(key.data() + 1),
        corrections(seed + 16),
        bits(corrections + 16 * std::size_t{levels}),
        last(Node::load(key.data() + key.size() - 16)) {
    root = Node::load(seed);
    root.low |= std::to_integer<std::uint64_t>(key.front());
  }

  /// Of a level: the correction of left and right children, each with its control bit.
  std::array<Node, 2> correction(unsigned level) const noexcept {
    const Node seed_correction = Node::load(corrections + 16 * std::size_t{level});
    const auto both = std::to_integer<std::uint64_t>(bits[level / 4]) >> (2 * (level % 4));
    return {Node{seed_correction.low | (both & 1), seed_correction.high},
            Node{seed_correction.low | (both >> 1 & 1), seed_correction.high}};
  }

  unsigned levels;
  const std::byte *seed, *corrections, *bits;
  Node root, last;
};

Expander::Expander() : Expander(best_kernels()) {}

Expander::Expander(const ExpandKernels* kernels) : kernels_(kernels) {
  if (kernels_ == nullptr) {
    hash_.emplace();
    return;
  }
  kernels_->make_keys(fixed_key("pirx dpf left").data(), left_keys_);
  kernels_->make_keys(fixed_key("pirx dpf right").data(), right_keys_);
  kernels_->make_keys(fixed_key("pirx dpf leaf").data(), leaf_keys_);
}

std::size_t Expander::scratch_bytes(std::uint64_t rows) noexcept {
  // Four arrays at most, each of the nodes of a subtree or of the tree's top.
  const std::size_t most = std::max(kSubtreeLevels, top_levels(levels(rows)));
  return 4 * sizeof(Node) * (std::size_t{2} << most);
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

void Expander::add(ByteSpan key_in_bytes, std::uint64_t rows, MutableByteSpan sum, std::uint64_t first) {
  PIRX_CHECK(key_in_bytes.size() == key_bytes(rows) && first % kSubtreeRows == 0);
  PIRX_CHECK(first < rows && (sum.size() == expansion_bytes(rows - first) ||
                              (sum.size() % expansion_bytes(kSubtreeRows) == 0 &&
                               sum.size() < expansion_bytes(rows - first))));
  const Key key(key_in_bytes, rows);
  const unsigned top = top_levels(key.levels), below = key.levels - top;
  const std::size_t leaves = sum.size() / sizeof(Node), each = std::size_t{1} << below;
  top_.resize(std::size_t{2} << top);
  subtree_.resize(2 * each);
  const auto roots = grow(key, top_, key.root, 0, top, static_cast<std::size_t>(first / kSubtreeRows),
                          static_cast<std::size_t>(div_up(leaves, each)));
  for (std::size_t i = 0; i < roots.size(); ++i) {
    const std::size_t here = std::min(each, leaves - i * each);
    const auto nodes = grow(key, subtree_, roots[i], top, key.levels, 0, here);
    add_leaves(nodes, key.last, sum.data() + i * each * sizeof(Node));
  }
}

/// The nodes [first, first + wanted) of level `end` below `root`, which is one of level `begin`, in one half
/// of `space`.
std::span<const Node> Expander::grow(const Key& key, std::span<Node> space, Node root, unsigned begin,
                                     unsigned end, std::size_t first, std::size_t wanted) {
  const std::size_t half = space.size() / 2;
  std::span<Node> from = space.first(half), to = space.subspan(half);
  from[0] = root;
  std::span<const Node> nodes = from.first(1);
  for (unsigned level = begin; level < end; ++level) {
    children(nodes, key.correction(level), to.first(2 * nodes.size()));
    // Of a level only the nodes above the wanted ones are kept.
    const unsigned below = end - level - 1;
    const std::size_t start = first >> below, stop = ((first + wanted - 1) >> below) + 1;
    nodes = to.subspan(start % 2, stop - start);
    std::swap(from, to);
  }
  return nodes;
}

void Expander::children(std::span<const Node> parents, const std::array<Node, 2>& corrections,
                        std::span<Node> out) {
  if (kernels_ != nullptr) {
    return kernels_->children(left_keys_, right_keys_, bytes_of(corrections.data()), bytes_of(parents.data()),
                              parents.size(), bytes_of(out.data()));
  }
  left_.resize(parents.size());
  right_.resize(parents.size());
  hash_->children(parents, left_, right_);
  for (std::size_t i = 0; i < parents.size(); ++i) {
    const std::uint64_t corrected = 0 - parents[i].control();
    out[2 * i] = left_[i] ^ (corrections[0] & corrected);
    out[2 * i + 1] = right_[i] ^ (corrections[1] & corrected);
  }
}

void Expander::add_leaves(std::span<const Node> parents, const Node& last, std::byte* sum) {
  if (kernels_ != nullptr) {
    return kernels_->leaves(leaf_keys_, bytes_of(&last), bytes_of(parents.data()), parents.size(), sum);
  }
  left_.resize(parents.size());
  hash_->leaves(parents, left_);
  for (std::size_t i = 0; i < parents.size(); ++i) {
    std::byte* to = sum + i * sizeof(Node);
    (Node::load(to) ^ left_[i] ^ (last & (0 - parents[i].control()))).store(to);
  }
}

}  // namespace pirx::itpir::dpf
