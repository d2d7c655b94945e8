// SPDX-License-Identifier: Apache-2.0
// The Moebius transform over the sets of bits, with division in place of subtraction.
#include "polynomial.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace pirx::cpir::dj {

std::vector<std::uint32_t> monomials(std::uint32_t arity) {
  std::vector<std::uint32_t> sets;
  for (std::uint32_t set = 1; set < arity; ++set) sets.push_back(set);
  std::sort(sets.begin(), sets.end(), [](std::uint32_t a, std::uint32_t b) {
    return std::pair(std::popcount(a), a) < std::pair(std::popcount(b), b);
  });
  return sets;
}

std::vector<mpz_class> one_hot_from_polynomial(const std::vector<mpz_class>& selectors,
                                               const mpz_class& modulus) {
  const auto arity = static_cast<std::uint32_t>(selectors.size() + 1);
  const auto sets = monomials(arity);
  std::vector<mpz_class> out(selectors.size());
  for (std::size_t i = 0; i < sets.size(); ++i) out[sets[i] - 1] = selectors[i];
  for (std::uint32_t bit = 1; bit < arity; bit *= 2) {
    for (std::uint32_t set = 1; set < arity; ++set) {
      if ((set & bit) != 0) continue;
      mpz_class inverse;
      mpz_invert(inverse.get_mpz_t(), out[(set | bit) - 1].get_mpz_t(), modulus.get_mpz_t());
      out[set - 1] = out[set - 1] * inverse % modulus;
    }
  }
  return out;
}

}  // namespace pirx::cpir::dj
