// SPDX-License-Identifier: Apache-2.0
// A bilinear scheme as a flat list of block products.
#pragma once

#include <array>
#include <vector>

#include "strassen/scheme_rank47.h"

namespace pirx::strassen {

/// The product of (the sum of the blocks `left` of A) and (the sum of the blocks `right` of B), added to the
/// blocks `to` of C. Blocks are numbered row by row in the grid of Leaves. For characteristic 2 only: there
/// are no signs.
struct Leaf {
  std::vector<std::size_t> left, right, to;
  /// The number of the sum `right` among the sums of blocks of B that a prepared database stores.
  std::size_t part = 0;
};

struct Leaves {
  std::size_t m = 1, k = 1, n = 1;  ///< A has m x k blocks, B k x n, C m x n
  std::vector<Leaf> products;
};

/// The products of a scheme. parts[p] is the number of product p's sum of blocks of B.
template <class Scheme>
Leaves leaves_of(const Scheme& scheme, const std::array<std::size_t, Scheme::kRank>& parts) {
  Leaves all{Scheme::kM, Scheme::kK, Scheme::kN, {}};
  const auto blocks = [](const auto& coefficients) {
    std::vector<std::size_t> out;
    for (std::size_t i = 0; i < std::size(coefficients); ++i) {
      if (coefficients[i] != 0) out.push_back(i);
    }
    return out;
  };
  for (std::size_t p = 0; p < Scheme::kRank; ++p) {
    all.products.push_back({blocks(scheme.u[p]), blocks(scheme.v[p]), blocks(scheme.w[p]), parts[p]});
  }
  return all;
}

/// The products for a database with `stored` levels of Strassen: none, one (kScheme), or two in one step
/// (kRank47). They follow the scheme if `used`; otherwise they are the plain product on the same sums of
/// blocks of B.
inline Leaves stored_leaves(int stored, bool used) {
  if (stored == 0) return {1, 1, 1, {{{0}, {0}, {0}, 0}}};
  const auto step = [&](const auto& scheme, const auto& thin) {
    return used ? leaves_of(scheme, same_right(scheme, scheme)) : leaves_of(thin, same_right(thin, scheme));
  };
  return stored == 1 ? step(kScheme, kThinScheme) : step(kRank47, kRank47Thin);
}

}  // namespace pirx::strassen
