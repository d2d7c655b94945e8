// SPDX-License-Identifier: Apache-2.0
// Makes the keys of a point function (Boyle, Gilboa and Ishai 2016, figure 1, with leaves of several rows).
// A template over the hash, so that the privacy test can put a tape of coins in its place.
#pragma once

#include <array>

#include "common.h"

namespace pirx::itpir::dpf {

/// What both servers' keys have in common: corrections level by level, from the root down.
template <class N>
struct Corrections {
  struct Level {
    N seed;                     ///< its control bit is zero
    std::uint64_t left, right;  ///< control bits
  };
  std::vector<Level> levels;
  N last;
};

/// The keys are (0, roots[0].seed(), corrections) and (1, roots[1].seed(), corrections). The functions of the
/// two differ at row `point` alone. On input the roots are fresh and uniform; they are used once. `hash` is
/// asked for both servers' nodes together. No branch and no address depends on `point` or on a node.
template <class H, class N>
Corrections<N> correct(H& hash, std::uint64_t point, unsigned levels, unsigned log_leaf,
                       const std::array<N, 2>& roots) {
  Corrections<N> result;
  result.levels.reserve(levels);
  std::array<N, 2> nodes{roots[0].seed(), roots[1].seed()}, left, right;
  std::array<std::uint64_t, 2> control{0, 1};
  for (unsigned level = levels; level-- > 0;) {
    const std::uint64_t to_right = 0 - ((point >> (log_leaf + level)) & 1);
    hash.children(nodes, left, right);
    const N lost = ((left[0] ^ left[1]) & to_right) ^ ((right[0] ^ right[1]) & ~to_right);
    const typename Corrections<N>::Level correction{lost.seed(),
                                                    left[0].control() ^ left[1].control() ^ (~to_right & 1),
                                                    right[0].control() ^ right[1].control() ^ (to_right & 1)};
    const std::uint64_t kept_control = (correction.left & ~to_right) | (correction.right & to_right);
    for (std::size_t b = 0; b < 2; ++b) {
      const std::uint64_t corrected = 0 - control[b];
      const N kept = (left[b] & ~to_right) ^ (right[b] & to_right);
      nodes[b] = (kept ^ (correction.seed & corrected)).seed();
      control[b] = kept.control() ^ (kept_control & corrected);
    }
    result.levels.push_back(correction);
  }
  hash.leaves(nodes, left);
  result.last = left[0] ^ left[1] ^ N::unit(point & ((std::uint64_t{1} << log_leaf) - 1));
  for (auto* used : {&nodes, &left, &right}) secure_wipe(used->data(), sizeof *used);
  secure_wipe(control.data(), sizeof control);
  return result;
}

/// Writes the keys for row `point` of `rows` to both places, key_bytes(rows) each. Draws 32 bytes.
template <RandomSource R>
void write_keys(Hash& hash, std::uint64_t point, std::uint64_t rows, R& rng, MutableByteSpan first,
                MutableByteSpan second) {
  SecretVector<std::byte> coins(32);
  rng.fill(coins.expose());
  std::array<Node, 2> roots{Node::load(coins.expose().data()).seed(),
                            Node::load(coins.expose().data() + 16).seed()};
  const auto corrections = correct(hash, point, levels(rows), std::countr_zero(kLeafBits), roots);
  for (std::size_t b = 0; b < 2; ++b) {
    std::byte* to = (b == 0 ? first : second).data();
    *to++ = static_cast<std::byte>(b);
    roots[b].store(to);
    to += 16;
    for (const auto& level : corrections.levels) {
      level.seed.store(to);
      to += 16;
    }
    for (std::size_t i = 0; i < corrections.levels.size(); ++i) {
      const auto& level = corrections.levels[i];
      if (i % 4 == 0) to[i / 4] = std::byte{0};
      to[i / 4] |= static_cast<std::byte>((level.left | level.right << 1) << (2 * (i % 4)));
    }
    to += div_up(corrections.levels.size(), 4u);
    corrections.last.store(to);
  }
  secure_wipe(roots.data(), sizeof roots);
}

}  // namespace pirx::itpir::dpf
