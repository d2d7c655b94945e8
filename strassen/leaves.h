// A bilinear scheme applied `depth` times, as a flat list of block products.
#pragma once

#include <array>
#include <vector>

#include "strassen/scheme_rank47.h"

namespace pirx::strassen {

/// Product: (sum of the blocks `left` of A) times (sum of the blocks `right` of B), added to the blocks `to`
/// of C. Blocks are numbered row-major in a grid of Leaves. Over characteristic 2 only: signs are gone.
struct Leaf {
  std::vector<std::size_t> left, right, to;
  std::size_t part = 0;  ///< the number of `right` among those that a prepared database stores
};

struct Leaves {
  std::size_t m = 1, k = 1, n = 1;  ///< A has m x k blocks, B k x n, C m x n
  std::vector<Leaf> products;
};

/// Every product of `all` by the scheme in its turn. parts[p] is the number of product p's sum of blocks of B
/// among the `stored` of this level.
template <class Scheme>
Leaves refined(const Leaves& all, const Scheme& scheme, const std::array<std::size_t, Scheme::kRank>& parts,
               std::size_t stored) {
  Leaves next{all.m * Scheme::kM, all.k * Scheme::kK, all.n * Scheme::kN, {}};
  // Every block of `all` becomes a grid of the scheme's.
  const auto refine = [](const std::vector<std::size_t>& blocks, std::size_t columns,
                         const std::int8_t* coefficients, std::size_t rows_each, std::size_t columns_each) {
    std::vector<std::size_t> out;
    for (const std::size_t block : blocks) {
      for (std::size_t c = 0; c < rows_each * columns_each; ++c) {
        if (coefficients[c] == 0) continue;
        const std::size_t row = block / columns * rows_each + c / columns_each;
        out.push_back(row * columns * columns_each + block % columns * columns_each + c % columns_each);
      }
    }
    return out;
  };
  for (const Leaf& leaf : all.products) {
    for (std::size_t p = 0; p < Scheme::kRank; ++p) {
      next.products.push_back({refine(leaf.left, all.k, scheme.u[p], Scheme::kM, Scheme::kK),
                               refine(leaf.right, all.n, scheme.v[p], Scheme::kK, Scheme::kN),
                               refine(leaf.to, all.n, scheme.w[p], Scheme::kM, Scheme::kN),
                               leaf.part * stored + parts[p]});
    }
  }
  return next;
}

/// That many levels of the engine's scheme. Without any it is the plain product: one block each.
inline Leaves leaves_of(int depth) {
  Leaves all;
  all.products.push_back({{0}, {0}, {0}, 0});
  for (; depth > 0; --depth) all = refined(all, kScheme, same_right(kScheme, kScheme), kScheme.kRank);
  return all;
}

/// The products of a database that has `stored` levels stored, two of them as kRank47 and an odd one as
/// kScheme, when `depth` of them are used (stored_levels()), and the plain product on the same sums of blocks
/// of B for the others.
inline Leaves stored_leaves(int depth, int stored) {
  Leaves all = leaves_of(0);
  const auto step = [&](bool used, const auto& scheme, const auto& thin) {
    all = used ? refined(all, scheme, same_right(scheme, scheme), scheme.kRank)
               : refined(all, thin, same_right(thin, scheme), scheme.kRank);
  };
  if (stored >= 2) step(depth >= 2, kRank47, kRank47Thin);
  if (stored % 2 == 1) step(depth % 2 == 1, kScheme, kThinScheme);
  return all;
}

}  // namespace pirx::strassen
