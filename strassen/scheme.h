// Bilinear schemes <m, k, n; rank>: matrix products of m x k by k x n blocks with `rank` block products, as
// data.
#pragma once

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

/// True when the scheme multiplies matrices over the integers, and so over every ring: the trilinear identity
/// sum over p of u[p](i, l) v[p](l', j) w[p](i', j') = [i = i'][l = l'][j = j'] for all indices.
template <std::size_t m, std::size_t k, std::size_t n, std::size_t rank>
constexpr bool multiplies_matrices(const BilinearScheme<m, k, n, rank>& scheme) {
  for (std::size_t a = 0; a < m * k; ++a) {
    for (std::size_t b = 0; b < k * n; ++b) {
      for (std::size_t c = 0; c < m * n; ++c) {
        const bool wanted = a / k == c / n && a % k == b / n && b % n == c % n;
        int sum = 0;
        for (std::size_t p = 0; p < rank; ++p) sum += scheme.u[p][a] * scheme.v[p][b] * scheme.w[p][c];
        if (sum != (wanted ? 1 : 0)) return false;
      }
    }
  }
  return true;
}

/// Strassen 1969 (paper 000, appendix A). Winograd's variant saves 3 of 18 additions only by sharing sums
/// between products, and costs more as a flat table: its v has 7 additions where this one has 5, and D is
/// what is large here.
inline constexpr BilinearScheme<2, 2, 2, 7> kStrassen = {
    // A11 A12 A21 A22
    {{1, 0, 0, 1}, {0, 0, 1, 1}, {1, 0, 0, 0}, {0, 0, 0, 1}, {1, 1, 0, 0}, {-1, 0, 1, 0}, {0, 1, 0, -1}},
    // B11 B12 B21 B22
    {{1, 0, 0, 1}, {1, 0, 0, 0}, {0, 1, 0, -1}, {-1, 0, 1, 0}, {0, 0, 0, 1}, {1, 1, 0, 0}, {0, 0, 1, 1}},
    // C11 C12 C21 C22
    {{1, 0, 0, 1}, {0, 0, 1, -1}, {0, 1, 0, 1}, {1, 0, 1, 0}, {-1, 1, 0, 0}, {0, 0, 0, 1}, {1, 0, 0, 0}},
};
static_assert(multiplies_matrices(kStrassen));

/// The scheme that the engine recurses with.
inline constexpr const auto& kScheme = kStrassen;

}  // namespace pirx::strassen
