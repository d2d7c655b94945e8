// SPDX-License-Identifier: Apache-2.0
// Bilinear schemes <m, k, n; rank> as data: they multiply m x k blocks by k x n blocks with `rank` products.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace pirx::strassen {

/// Product p is (sum of u[p][i * k + l] * A(i, l)) times (sum of v[p][l * n + j] * B(l, j)), and C(i, j) is
/// the sum of w[p][i * n + j] times product p. Coefficients are -1, 0 or 1, so a scheme serves every field.
template <std::size_t m, std::size_t k, std::size_t n, std::size_t rank>
struct BilinearScheme {
  static constexpr std::size_t kM = m, kK = k, kN = n, kRank = rank;
  std::int8_t u[rank][m * k];
  std::int8_t v[rank][k * n];
  std::int8_t w[rank][m * n];
};

/// Whether the scheme multiplies matrices correctly: over the integers, and so over every ring; with
/// `modulus`, modulo this number only. Checks the trilinear identity (Brent's equations) sum over p of
/// u[p](i, l) v[p](l', j) w[p](i', j') = [i = i'][l = l'][j = j'] for all indices.
template <std::size_t m, std::size_t k, std::size_t n, std::size_t rank>
constexpr bool multiplies_matrices(const BilinearScheme<m, k, n, rank>& scheme, int modulus = 0) {
  for (std::size_t a = 0; a < m * k; ++a) {
    for (std::size_t b = 0; b < k * n; ++b) {
      for (std::size_t c = 0; c < m * n; ++c) {
        const bool wanted = a / k == c / n && a % k == b / n && b % n == c % n;
        int sum = 0;
        for (std::size_t p = 0; p < rank; ++p) sum += scheme.u[p][a] * scheme.v[p][b] * scheme.w[p][c];
        const int wrong = sum - (wanted ? 1 : 0);
        if (modulus == 0 ? wrong != 0 : wrong % modulus != 0) return false;
      }
    }
  }
  return true;
}

/// Strassen 1969 (paper 000, appendix A). Winograd's variant saves 3 of 18 additions only by sharing sums
/// between products. As a flat table it costs more: its v has 7 additions where this one has 5, and D is the
/// large matrix here.
inline constexpr BilinearScheme<2, 2, 2, 7> kStrassen = {
    // A11 A12 A21 A22
    {{1, 0, 0, 1}, {0, 0, 1, 1}, {1, 0, 0, 0}, {0, 0, 0, 1}, {1, 1, 0, 0}, {-1, 0, 1, 0}, {0, 1, 0, -1}},
    // B11 B12 B21 B22
    {{1, 0, 0, 1}, {1, 0, 0, 0}, {0, 1, 0, -1}, {-1, 0, 1, 0}, {0, 0, 0, 1}, {1, 1, 0, 0}, {0, 0, 1, 1}},
    // C11 C12 C21 C22
    {{1, 0, 0, 1}, {0, 0, 1, -1}, {0, 1, 0, 1}, {1, 0, 1, 0}, {-1, 1, 0, 0}, {0, 0, 0, 1}, {1, 0, 0, 0}},
};
static_assert(multiplies_matrices(kStrassen));

/// The scheme that the engine uses at every level.
inline constexpr const auto& kScheme = kStrassen;

/// The plain product, made from four of Strassen's seven sums of blocks of B: each block of B is the sum of
/// one or two of these four. It multiplies a database that stores Strassen's sums without splitting A's rows,
/// and reads no more than the size of B.
inline constexpr BilinearScheme<1, 2, 2, 4> kStrassenThin = {
    {{1, 1}, {0, 1}, {1, 0}, {1, 1}},
    {{1, 0, 0, 0}, {-1, 0, 1, 0}, {0, 1, 0, -1}, {0, 0, 0, 1}},
    {{1, 0}, {1, 0}, {0, 1}, {0, 1}},
};
static_assert(multiplies_matrices(kStrassenThin));
inline constexpr const auto& kThinScheme = kStrassenThin;

/// For each product of `some`, the number of the product of `all` with the same sum of blocks of B;
/// All::kRank if there is no such product.
template <class Some, class All>
constexpr std::array<std::size_t, Some::kRank> same_right(const Some& some, const All& all) {
  static_assert(Some::kK == All::kK && Some::kN == All::kN);
  std::array<std::size_t, Some::kRank> found{};
  for (std::size_t p = 0; p < Some::kRank; ++p) {
    found[p] = 0;
    while (found[p] < All::kRank && !std::equal(some.v[p], some.v[p] + All::kK * All::kN, all.v[found[p]])) {
      ++found[p];
    }
  }
  return found;
}
static_assert(std::ranges::max(same_right(kThinScheme, kScheme)) < kScheme.kRank);

}  // namespace pirx::strassen
