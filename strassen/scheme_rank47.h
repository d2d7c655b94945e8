// SPDX-License-Identifier: Apache-2.0
// The scheme <4, 4, 4; 47> over GF(2), and so over every field of characteristic 2: two levels in one step,
// with 47 products where two levels of Strassen have 49.
//
// Fawzi et al., "Discovering faster matrix multiplication algorithms with reinforcement learning", Nature 610
// (2022), showed that 47 are enough. This table is a different one. It was found from the 64 products of the
// standard algorithm by a random walk on the flip graph (Kauers and Moosbauer 2022; Arai, Ichikawa and
// Hukushima 2024), then by changes of basis until each of its three tables had 154 non-zero coefficients of
// 752. (Two levels of Strassen have 144.)
#pragma once

#include "strassen/scheme.h"

namespace pirx::strassen {

/// Coefficients of one product as bits: bit x of each mask is coefficient x.
struct ProductMasks {
  std::uint16_t u, v, w;
};

template <std::size_t m, std::size_t k, std::size_t n, std::size_t rank>
constexpr BilinearScheme<m, k, n, rank> scheme_of(const ProductMasks (&masks)[rank]) {
  BilinearScheme<m, k, n, rank> scheme{};
  for (std::size_t p = 0; p < rank; ++p) {
    for (std::size_t x = 0; x < m * k; ++x) scheme.u[p][x] = masks[p].u >> x & 1;
    for (std::size_t x = 0; x < k * n; ++x) scheme.v[p][x] = masks[p].v >> x & 1;
    for (std::size_t x = 0; x < m * n; ++x) scheme.w[p][x] = masks[p].w >> x & 1;
  }
  return scheme;
}

/// multiplies_matrices(kRank47, 2) is checked in tests/strassen/scheme_test.cc: it is too much for compilers
/// to evaluate.
inline constexpr auto kRank47 = scheme_of<4, 4, 4, 47>(
    {{0x0040, 0x8B01, 0x80B1}, {0x3B0A, 0x0040, 0x0400}, {0x0405, 0x0406, 0xC40A}, {0x8000, 0x7401, 0x7041},
     {0x08A0, 0x3010, 0x0130}, {0x0839, 0x000A, 0x08C0}, {0x0130, 0x008A, 0x08A0}, {0x6400, 0x0310, 0x3100},
     {0x1928, 0x304A, 0x0040}, {0x2000, 0x0376, 0x2000}, {0x1111, 0x000F, 0x8040}, {0x0002, 0x6AE0, 0x0002},
     {0x08C6, 0x0A00, 0x0809}, {0x8888, 0xF000, 0x0041}, {0x91A0, 0x3000, 0x0150}, {0x3405, 0x0006, 0xC400},
     {0x0400, 0x0200, 0x3B0A}, {0x0406, 0x0A80, 0x080A}, {0x0100, 0x0002, 0x6EA0}, {0x0404, 0x0C86, 0x800A},
     {0x08C0, 0x8A00, 0x0839}, {0xC405, 0x0400, 0xC405}, {0x3100, 0x0046, 0x6400}, {0x0800, 0x2000, 0x0736},
     {0xC400, 0x6400, 0x3405}, {0x0001, 0x840E, 0x804E}, {0x2514, 0x0386, 0x8000}, {0x0809, 0x800A, 0x08C6},
     {0x0736, 0x0080, 0x0800}, {0x9100, 0x3001, 0x6150}, {0x0020, 0x30BA, 0x0020}, {0x4444, 0x0F00, 0x8001},
     {0x0110, 0x0389, 0x80A0}, {0x08C9, 0x8000, 0x08C9}, {0x8041, 0x8401, 0x8041}, {0x0200, 0x0020, 0x0200},
     {0x0150, 0x0301, 0x91A0}, {0x4400, 0x6510, 0x3001}, {0x6150, 0x0300, 0x9100}, {0x9150, 0x0001, 0x9150},
     {0x1100, 0x3045, 0x6040}, {0x0808, 0xC04A, 0x0046}, {0x6EA0, 0x0010, 0x0100}, {0x4C82, 0x6A10, 0x0001},
     {0x0880, 0x9A10, 0x0031}, {0xC40A, 0x6000, 0x0405}, {0x080A, 0x6040, 0x0406}});

/// The plain product on 16 of its sums of blocks of B, like kStrassenThin.
inline constexpr auto kRank47Thin = scheme_of<1, 4, 4, 16>({{0x8, 0x2000, 0x3},
                                                            {0x3, 0x0040, 0x4},
                                                            {0x3, 0x0080, 0x8},
                                                            {0x4, 0x0300, 0x1},
                                                            {0x8, 0x3000, 0x5},
                                                            {0x1, 0x0002, 0xE},
                                                            {0x4, 0x0200, 0xB},
                                                            {0x4, 0x0400, 0x4},
                                                            {0x2, 0x0010, 0x1},
                                                            {0x1, 0x0046, 0x4},
                                                            {0x2, 0x0020, 0x2},
                                                            {0x1, 0x008A, 0x8},
                                                            {0x8, 0x8000, 0xC},
                                                            {0x1, 0x0001, 0x1},
                                                            {0x4, 0x0A00, 0x8},
                                                            {0x8, 0xF000, 0x4}});
static_assert(multiplies_matrices(kRank47Thin, 2));
static_assert(std::ranges::max(same_right(kRank47Thin, kRank47)) < kRank47.kRank);

}  // namespace pirx::strassen
