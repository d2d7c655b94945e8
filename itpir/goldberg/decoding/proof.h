// SPDX-License-Identifier: Apache-2.0
// What an agreement proves (Theorem A).
//
// Let G agree in all words with one code word matrix, b = k - |G| > 0 be accused, and rank be that of the
// errors this implies, which is the rank of the syndromes. If at most |G| + rank - d - 2 of the k servers
// lied, that matrix is the truth. For let G* be the h = k - V honest ones and suppose that some of them, A,
// are accused. On G* the errors are polynomials of degree <= d that vanish on G* \ A. With d + 1 of these
// they vanish on A too, a contradiction; else their rank on A is at most |A| - (h - d - 1). The other
// b - |A| accused leave a rank of at least |A| - (b - rank) on A, so V >= |G| + rank - d - 1.
#pragma once

#include <cstddef>

namespace pirx::itpir::goldberg::decoding {

/// How many of k servers may have lied for sure, when `agreeing` of them make a word matrix of that degree
/// and the errors of the others have that rank. With rank = 1 it is the unique radius, with rank = b the
/// optimum k - d - 2, whatever the liars do. k > degree; an accused server means rank > 0.
constexpr std::size_t proof_bound(std::size_t k, std::size_t degree, std::size_t agreeing,
                                  std::size_t rank) noexcept {
  if (agreeing == k) return k - degree - 1;
  const std::size_t sum = agreeing + rank;
  return sum < degree + 2 ? 0 : sum - degree - 2;
}

}  // namespace pirx::itpir::goldberg::decoding
