// SPDX-License-Identifier: Apache-2.0
// Variances and the failure bound (specification, sections 4.1 and 4.2).
#include "noise.h"

#include <cmath>

#include "cpir/ring/ring.h"

namespace pirx::cpir::inspire {
namespace {

constexpr double kSpread = 1.05;  // of the words' variances around their mean

double four_to(double exponent) { return std::exp2(2 * exponent); }

}  // namespace

Noise noise(const Set& set, std::size_t rows, unsigned t) noexcept {
  const auto d = static_cast<double>(set.d()), q = static_cast<double>(kModulus);
  const double secret = set.eta / 2.0, word = four_to(set.w - 1.0), r = static_cast<double>(rows);
  // The mean square of the digits, summed over the l of them. The last one takes what is left of q.
  const double top = q / std::exp2(set.delta + (set.l - 1.0) * set.beta);
  const double digits = (set.l - 1.0) * (four_to(set.beta) + 2) / 12 + top * top / 12;
  const double entries = d * (d - 2) * digits;
  return {.query = r * word * secret / (q * q),
          .rounding = r * word * four_to(-static_cast<double>(t)) / 12,
          .key = entries * secret / (q * q),
          .key_rounding = entries * four_to(-static_cast<double>(set.kappa)) / 12,
          .secret = d * (d - 2) * four_to(set.delta) / 12 * secret / (q * q),
          .masks = 2 * d * secret * four_to(-static_cast<double>(set.tm)) / 12};
}

double log2_failure(const Set& set, std::size_t columns, unsigned tr, double variance) noexcept {
  const double threshold = std::exp2(-1.0 - set.w) - std::exp2(-1.0 - tr);
  return 1 + std::log2(static_cast<double>(columns)) -
         threshold * threshold / (2 * kSpread * variance) / std::log(2.0);
}

std::optional<unsigned> least_t(const Set& set, std::size_t rows, std::size_t columns, unsigned tr) noexcept {
  Noise errors = noise(set, rows, 0);
  const double rounding = errors.rounding;
  for (unsigned t = set.w + 6; t <= set.most_t(); ++t) {
    errors.rounding = std::ldexp(rounding, -2 * static_cast<int>(t));
    if (log2_failure(set, columns, tr, errors.total()) <= Params::kFailureBound) return t;
  }
  return std::nullopt;
}

}  // namespace pirx::cpir::inspire
