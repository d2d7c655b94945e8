// SPDX-License-Identifier: Apache-2.0
// What both halves share: the tree that a key stands for, and how a key is encoded (docs/wire_format.md).
#pragma once

#include <array>
#include <bit>

#include "pirx/base/secret_memory.h"
#include "pirx/itpir/common.h"
#include "src/base/aes128.h"

namespace pirx::itpir::dpf {

/// What the leaves of a key for `rows` rows need: a leaf is kLeafBits rows.
inline constexpr unsigned kLeafBits = 128;
constexpr std::uint64_t leaves(std::uint64_t rows) noexcept { return div_up(rows, kLeafBits); }
/// The levels of the tree above its leaves.
constexpr unsigned levels(std::uint64_t rows) noexcept {
  return static_cast<unsigned>(std::bit_width(leaves(rows) - 1));
}
/// The bytes of a key: party, seed, a correction word and two control bits for each level, and the last word.
constexpr std::size_t key_bytes(std::uint64_t rows) noexcept {
  return 33 + 16 * std::size_t{levels(rows)} + div_up(levels(rows), 4u);
}

/// A node of the tree: a seed, whose lowest bit is the control bit. Also a leaf, or a correction word.
struct Node {
  std::uint64_t low = 0, high = 0;

  std::uint64_t control() const noexcept { return low & 1; }
  Node seed() const noexcept { return {low & ~std::uint64_t{1}, high}; }
  friend Node operator^(Node a, Node b) noexcept { return {a.low ^ b.low, a.high ^ b.high}; }
  /// a under an all-ones mask, else zero.
  friend Node operator&(Node a, std::uint64_t mask) noexcept { return {a.low & mask, a.high & mask}; }
  /// The leaf with a one at this row.
  static Node unit(std::uint64_t row) noexcept;

  static Node load(const std::byte* from) noexcept {
    return {load_le<std::uint64_t>(from), load_le<std::uint64_t>(from + 8)};
  }
  void store(std::byte* to) const noexcept {
    store_le(to, low);
    store_le(to + 8, high);
  }
};

/// A cipher's key: public, the first bytes of the digest of its name.
std::array<std::byte, Aes128::kBlockBytes> fixed_key(const char* name);

/// Makes children and leaves out of nodes: AES under three fixed public keys, as H(x) = AES(sigma(x)) xor
/// sigma(x) with sigma(low || high) = high xor low || low (Guo, Katz, Wang, Wang and Yu 2020). A node's
/// control bit does not matter. Time and addresses depend on no node. Not thread-safe.
class Hash {
 public:
  Hash();
  /// left[i] and right[i] are the children of parents[i], before any correction. Nothing overlaps.
  void children(std::span<const Node> parents, std::span<Node> left, std::span<Node> right);
  /// out[i] is the leaf of parents[i], before any correction.
  void leaves(std::span<const Node> parents, std::span<Node> out);

 private:
  void prepare(std::span<const Node> parents);
  void hash(Aes128& cipher, std::span<Node> out);
  Aes128 left_, right_, leaf_;
  std::vector<Node, SecretAllocator<Node>> input_;
};

/// InvalidArgument: so many points, or a slot, do not fit a message.
Result<void> check_sizes(std::uint64_t rows, std::uint64_t points, std::uint64_t slot_bytes);

/// InvalidArgument: fewer than two servers, a coordinate that is zero, or the same coordinate twice.
Result<void> check_coordinates(std::span<const std::uint64_t> coordinates);

/// A query's keys: one for a record, or so many for that of a keyed database, which is a sum of as many
/// slots.
inline constexpr std::size_t kPointsOfAKey = 3;
inline std::size_t points_of(const database::Geometry& geometry) noexcept {
  return geometry.keyed() ? kPointsOfAKey : 1;
}
/// All slots, those after the last record too: the rows of this protocol.
inline std::uint64_t slots(const database::Geometry& geometry) noexcept {
  return geometry.keyed() ? geometry.rows() * geometry.spec().records_per_row : geometry.records();
}

}  // namespace pirx::itpir::dpf
