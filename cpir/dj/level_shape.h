// SPDX-License-Identifier: Apache-2.0
// The products of powers that a level of a tree computes. The tree and the planner both use it.
#pragma once

#include <algorithm>

#include "powers.h"

namespace pirx::cpir::dj {

struct LevelShape {
  /// true: exponents are differences to the first child of the node, modulo N^s, and the first selector is
  /// not needed. false: exponents are the children themselves. The choice is the one with fewer bits of
  /// exponents.
  bool differences = false;
  PowerShape powers;
};

/// On input `children` is the number in all, `arity` the number in each node, for each of `chunks` chunks; a
/// child has `own_bits` bits, N^s has `order_bits` bits.
inline LevelShape level_shape(std::size_t children, std::size_t arity, std::size_t chunks,
                              std::size_t own_bits, std::size_t order_bits) {
  const std::size_t nodes = div_up(children, arity);
  // After the last child of the only node everything is zero and needs no table.
  const std::size_t used = std::min(arity, children);
  const bool differences = used > 1 && (used - 1) * order_bits < used * own_bits;
  return {differences, {differences ? used - 1 : used, differences ? order_bits : own_bits, chunks * nodes}};
}

}  // namespace pirx::cpir::dj
