// SPDX-License-Identifier: Apache-2.0
// PolynomialCode<F>: turns the slots of a query vector into the points of a sharing. polynomial_code.cc
// instantiates it for the shipped fields, tests do for tiny ones.
#pragma once

#include "batchcodes/sharing_impl.h"
#include "pirx/batchcodes/fields.h"
#include "pirx/batchcodes/polynomial_code.h"

namespace pirx::batchcodes {

template <SharingField F>
PolynomialCode<F>::PolynomialCode(strassen::Engine<F> engine, Encoding encoding)
    : engine_(std::move(engine)), encoding_(std::move(encoding)) {
  PIRX_CHECK(encoding_.spec().field == field().tag());
  for (const auto label : encoding_.spec().coordinates) x_.push_back(field().from_label(label));
}

template <SharingField F>
SecretVector<SharePoint<typename F::Elem>> PolynomialCode<F>::points(std::span<const Slot> slots) const {
  const std::size_t addends = this->addends(slots);
  PIRX_CHECK(slots.size() <= addends * encoding_.spec().ramp);
  SecretVector<SharePoint<Elem>> result(slots.size());
  for (std::size_t m = 0; m < slots.size(); ++m) {
    const auto position = encoding_.position(slots[m].block, m / addends);
    result.expose()[m] = {position.row, slots[m].filled, field().from_label(position.coordinate)};
  }
  return result;
}

template <SharingField F>
Result<void> PolynomialCode<F>::check(std::span<const Slot> slots, std::size_t coin_rows) const {
  const auto& spec = encoding_.spec();
  const bool sums = slots.size() > spec.ramp && !encoding_.has_data_coordinates();
  const bool whole = slots.size() == spec.ramp || (sums && slots.size() % spec.ramp == 0);
  if (whole && coin_rows == spec.threshold) return {};
  return invalid("a query vector takes q = " + std::to_string(spec.ramp) +
                 " slots and t = " + std::to_string(spec.threshold) + " rows of coins, not " +
                 std::to_string(slots.size()) + " and " + std::to_string(coin_rows));
}

template <SharingField F>
Result<void> PolynomialCode<F>::share(std::span<const Slot> slots, matrix::ConstView<Elem> coins,
                                      matrix::View<Elem> shares, std::span<const Elem> blinding) const {
  PIRX_TRY(check(slots, coins.rows));
  const auto wanted = points(slots);
  return make_shares<F>(engine_, x_, wanted.expose(), coins, shares, blinding, addends(slots));
}

template <SharingField F>
Result<void> PolynomialCode<F>::complete(std::span<const Slot> slots, matrix::ConstView<Elem> given,
                                         matrix::View<Elem> rest, std::span<const Elem> blinding) const {
  PIRX_TRY(check(slots, given.rows));
  const auto wanted = points(slots);
  return complete_shares<F>(engine_, x_, wanted.expose(), given, rest, blinding, addends(slots));
}

template <SharingField F>
SecretVector<typename F::Elem> PolynomialCode<F>::secret_coordinates(std::span<const Slot> slots) const {
  const std::size_t addends = this->addends(slots);
  SecretVector<Elem> result(slots.size() / addends);
  const auto wanted = points(slots);
  for (std::size_t m = 0; m < result.size(); ++m) {
    result.expose()[m] = wanted.expose()[m * addends].coordinate;
  }
  return result;
}

template <SharingField F>
Result<matrix::Matrix<typename F::Elem>> PolynomialCode<F>::interpolation_rows(
    std::span<const Slot> slots, std::span<const Elem> x) const {
  const auto secrets = secret_coordinates(slots);
  return lagrange_matrix(field(), x, secrets.expose());
}

// Instantiated once, in polynomial_code.cc.
#define PIRX_MADE_ONCE(F)                                                                         \
  extern template Result<void> make_shares<F>(                                                    \
      const strassen::Engine<F>&, std::span<const F::Elem>, std::span<const SharePoint<F::Elem>>, \
      matrix::ConstView<F::Elem>, matrix::View<F::Elem>, std::span<const F::Elem>, std::size_t);  \
  extern template Result<void> complete_shares<F>(                                                \
      const strassen::Engine<F>&, std::span<const F::Elem>, std::span<const SharePoint<F::Elem>>, \
      matrix::ConstView<F::Elem>, matrix::View<F::Elem>, std::span<const F::Elem>, std::size_t);  \
  extern template class PolynomialCode<F>
PIRX_MADE_ONCE(gf2e::Gf2_8);
PIRX_MADE_ONCE(gf2e::Gf2_16);
PIRX_MADE_ONCE(fp::W160);
PIRX_MADE_ONCE(fp::W48);
PIRX_MADE_ONCE(fp::PrimeField);
#undef PIRX_MADE_ONCE

}  // namespace pirx::batchcodes
