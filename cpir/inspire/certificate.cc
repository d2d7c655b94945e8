// SPDX-License-Identifier: Apache-2.0
// Words fail at most as often as the sum of their bounds says.
#include "certificate.h"

#include <cmath>

#include "cpir/inspire/noise.h"

namespace pirx::cpir::inspire {

double log2_failure(const Params& params, std::span<const float> packing,
                    std::span<const float> secret) noexcept {
  const Set& set = params.set();
  const Noise model = noise(set, params.rows(), params.spec().t);
  // Of an error and of a secret's coefficient, and of rounding a key.
  const double small = set.eta / 2.0 / std::pow(static_cast<double>(kModulus), 2);
  const double key_rounding = std::exp2(-2.0 * set.kappa) / 12;
  // The bound has 5 % in it for rows that are worse than the mean; here each row is taken as it is.
  constexpr double kSpread = 1.05;
  double failure = 0;
  for (std::size_t k = 0; k < packing.size(); ++k) {
    const double variance =
        model.query + model.rounding + packing[k] * (small + key_rounding) + secret[k] * small;
    failure += std::exp2(log2_failure(set, 1, params.spec().tr, variance / kSpread));
  }
  return std::log2(failure);
}

}  // namespace pirx::cpir::inspire
