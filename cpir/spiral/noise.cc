// SPDX-License-Identifier: Apache-2.0
// The formulas are averages over all coefficients; tests find them exact to a tenth of a bit. Spiral's own
// formulas (section 4.3 of eprint 2022/368) assume the worst coefficient of an expanded ciphertext for all,
// which is 2^g times too pessimistic: each of g rounds of expansion multiplies the energy of one coefficient
// in 2^g by 4, but the mean energy by 2.
#include "noise.h"

#include <cmath>

#include "cpir/ring/ring.h"

namespace pirx::cpir::spiral {

double log2_failure(double count, double bound, double deviation) {
  const double x = bound / (std::sqrt(2.0) * deviation);
  const double tail =
      x < 5 ? std::log2(std::erfc(x)) : (-x * x - std::log(x * std::sqrt(std::acos(-1.0)))) / std::log(2.0);
  return std::min(0.0, std::log2(count) + tail);
}

Noise noise_model(const NoiseInput& in) {
  const auto& scheme = in.scheme;
  const double d = std::ldexp(1.0, static_cast<int>(scheme.log_d));
  const double variance = scheme.eta / 2.0;  // of errors and secrets alike
  const auto pow2 = [](unsigned e) { return std::ldexp(1.0, static_cast<int>(e)); };
  const auto forgotten = [](const Gadget& gadget) {
    const auto delta = static_cast<double>(gadget.delta());
    return (delta * delta - 1) / 12;
  };
  const auto key_switch = [&](const Gadget& gadget) {
    return d * gadget.mean_square() * variance + d * variance * forgotten(gadget);
  };
  Noise out;
  out.expanded = pow2(in.row_rounds) * variance + (pow2(in.row_rounds - 1) - 1) * key_switch(in.left) +
                 pow2(in.row_rounds - 1) * key_switch(in.right);
  out.gsw_bit = pow2(in.bit_rounds) * variance + (pow2(in.bit_rounds) - 1) * key_switch(in.right);
  out.gsw_secret = 2 * d * in.conversion.mean_square() * variance + d * variance * out.gsw_bit +
                   d * variance * (1 + d * variance) * forgotten(in.conversion);
  const double p = pow2(scheme.log_p), q = static_cast<double>(kModulus);
  // Two products multiply the same error by the difference of two digits.
  const bool two = in.form == FoldForm::kTwoProducts;
  const double digits = two ? 2 * in.fold.variance() : in.fold.mean_square();
  const double folds = scheme.log_columns * (d * digits * (out.gsw_secret + out.gsw_bit) +
                                             (two ? 2 : 1) * forgotten(in.fold) * (1 + d * variance));
  const double packing = scheme.pack > 1 ? scheme.pack * key_switch(in.conversion) : 0;
  const double count = static_cast<double>(in.trials) * scheme.pack * scheme.pack * d;
  out.first = static_cast<double>(in.rows) * d * out.expanded * (p * p + 2) / 12;
  out.folded = out.first + folds;
  out.packed = out.folded + packing;
  const double cut = p / pow2(scheme.log_q2);
  out.deviation = std::sqrt(out.packed * (p / q) * (p / q) + cut * cut * d * variance / 12);
  // The last rounding, to a quarter of a step, takes up to 1/8 of the half step that there is.
  out.log2_failure = log2_failure(count, 0.375, out.deviation);
  return out;
}

}  // namespace pirx::cpir::spiral
