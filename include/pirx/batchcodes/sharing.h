// Shares of unit vectors: q of them in one vector of random polynomials (Shamir 1979; the ramp of paper 002,
// section 2; Goldberg 2007 is q = 1).
#pragma once

#include <span>

#include "pirx/base/secret.h"
#include "pirx/strassen/engine.h"

namespace pirx::batchcodes {

/// Scalars and sums are the same values: shares are interpolated, so a sum must be something that a scalar
/// can multiply and that can be a scalar itself. True of every shipped field but GF(2).
template <class F>
concept SharingField = Field<F> && std::same_as<typename F::Elem, typename F::Sum>;

/// The vector of polynomials is the unit vector e_row at `coordinate`. Secret.
template <class Elem>
struct SharePoint {
  std::uint64_t row = 0;
  std::uint64_t filled = 0;  ///< all ones; 0: blank, the point is left out of the polynomial
  Elem coordinate{};
};

/// shares[j] = rho_j (Z(x_j) sum_{a < t} x_j^a coins[a] + sum_m prod_{n != m} (x_j - s_n) / (s_m - s_n)
/// e_row_m) over the points (s_m, row_m), where Z(x) = prod_m (x - s_m): the value at x_j of polynomials of
/// degree below t + q that are the wanted unit vectors at the s_m. coins: t x R, uniform; shares: l x R; x: l
/// coordinates; blinding: l non-zero rho_j, or empty for ones. The x and the filled points' s are distinct
/// and, with t > 0, any t shares are uniform. Cost l t R multiply-adds, l R additions and l q R masked
/// copies. OutOfRange: a filled row that is not below R. InvalidArgument: shapes that do not fit.
/// ResourceExhausted. No branch and no address depends on a point, provided f's operations do not.
/// addends > 1: so many consecutive points, at one coordinate and blank together, are one point whose value
/// is the sum of their unit vectors.
template <SharingField F>
Result<void> make_shares(const strassen::Engine<F>& engine, std::span<const typename F::Elem> x,
                         std::span<const SharePoint<typename F::Elem>> points,
                         matrix::ConstView<typename F::Elem> coins, matrix::View<typename F::Elem> shares,
                         std::span<const typename F::Elem> blinding = {}, std::size_t addends = 1);

/// The shares of the last l - t servers when those of the first t are given (expanded from seeds, say): the
/// same polynomials, fixed by the points and t values each. given: t x R uniform, as sent, blinded by their
/// rho; rest: (l - t) x R. Everything else as make_shares.
template <SharingField F>
Result<void> complete_shares(const strassen::Engine<F>& engine, std::span<const typename F::Elem> x,
                             std::span<const SharePoint<typename F::Elem>> points,
                             matrix::ConstView<typename F::Elem> given, matrix::View<typename F::Elem> rest,
                             std::span<const typename F::Elem> blinding = {}, std::size_t addends = 1);

}  // namespace pirx::batchcodes
