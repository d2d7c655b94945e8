// SPDX-License-Identifier: Apache-2.0
// Secret shares of unit vectors: one vector of random polynomials hides q of them (Shamir 1979; the ramp of
// paper 002, section 2; Goldberg 2007 has q = 1).
#pragma once

#include <span>

#include "pirx/base/secret.h"
#include "pirx/strassen/engine.h"

namespace pirx::batchcodes {

/// A field whose scalars and sums are the same values. Shares are interpolated, so a sum must be able to
/// serve as a scalar. True of every shipped field but GF(2).
template <class F>
concept SharingField = Field<F> && std::same_as<typename F::Elem, typename F::Sum>;

/// The vector of polynomials takes the value e_row, a unit vector, at `coordinate`. Secret.
template <class Elem>
struct SharePoint {
  std::uint64_t row = 0;
  std::uint64_t filled = 0;  ///< all ones: in use; 0: blank, the polynomial ignores this point
  Elem coordinate{};
};

/// The values at x_j of polynomials of degree below t + q that are the wanted unit vectors at the points:
///
///   shares[j] = rho_j (Z(x_j) sum_{a < t} x_j^a coins[a]
///                      + sum_m prod_{n != m} (x_j - s_n) / (s_m - s_n) e_row_m),   Z(x) = prod_m (x - s_m),
///
/// over the points (s_m, row_m).
/// On input coins: t x R, uniform; shares: l x R; x: l coordinates; blinding: l non-zero rho_j, or empty for
/// ones. The x and the filled points' s must be distinct. With addends > 1, that many consecutive points make
/// one point whose value is the sum of their unit vectors; they have one coordinate, and all are blank or all
/// are filled.
/// On output, with t > 0, any t shares are uniform.
/// OutOfRange: a filled row is not below R. InvalidArgument: the shapes do not fit. ResourceExhausted: no
/// memory. Costs l t R multiply-adds, l R additions and l q R masked copies. No branch and no address depends
/// on a point, if f's operations have none that do.
template <SharingField F>
Result<void> make_shares(const strassen::Engine<F>& engine, std::span<const typename F::Elem> x,
                         std::span<const SharePoint<typename F::Elem>> points,
                         matrix::ConstView<typename F::Elem> coins, matrix::View<typename F::Elem> shares,
                         std::span<const typename F::Elem> blinding = {}, std::size_t addends = 1);

/// The shares of the last l - t servers if those of the first t are given, for example expanded from seeds.
/// The points and the t given values determine each polynomial. given: t x R, uniform, as sent, which
/// includes the blinding by rho. rest: (l - t) x R. Everything else is as in make_shares.
template <SharingField F>
Result<void> complete_shares(const strassen::Engine<F>& engine, std::span<const typename F::Elem> x,
                             std::span<const SharePoint<typename F::Elem>> points,
                             matrix::ConstView<typename F::Elem> given, matrix::View<typename F::Elem> rest,
                             std::span<const typename F::Elem> blinding = {}, std::size_t addends = 1);

}  // namespace pirx::batchcodes
