// What a level of a tree computes, as products of powers: for those that compute it and those that plan it.
#pragma once

#include <algorithm>

#include "powers.h"

namespace pirx::cpir::dj {

struct LevelShape {
  /// Exponents are differences to a node's first child, modulo N^s, and the first selector is not needed;
  /// else they are the children themselves. Whichever makes fewer bits of exponents.
  bool differences = false;
  PowerShape powers;
};

/// `children` in all and `arity` to a node, for each of `chunks`; a child has `own_bits`, N^s has
/// `order_bits`.
inline LevelShape level_shape(std::size_t children, std::size_t arity, std::size_t chunks,
                              std::size_t own_bits, std::size_t order_bits) {
  const std::size_t nodes = (children + arity - 1) / arity;
  // What is behind the last child of the only node is zero and needs no table.
  const std::size_t used = std::min(arity, children);
  const bool differences = used > 1 && (used - 1) * order_bits < used * own_bits;
  return {differences, {differences ? used - 1 : used, differences ? order_bits : own_bits, chunks * nodes}};
}

}  // namespace pirx::cpir::dj
