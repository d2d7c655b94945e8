// SPDX-License-Identifier: Apache-2.0
// Instantiates sharing and PolynomialCode for the shipped fields.
#include "batchcodes/polynomial_code_impl.h"

namespace pirx::batchcodes {

#define PIRX_INSTANTIATE(F)                                                                                  \
  template Result<void> make_shares<F>(const strassen::Engine<F>&, std::span<const F::Elem>,                 \
                                       std::span<const SharePoint<F::Elem>>, matrix::ConstView<F::Elem>,     \
                                       matrix::View<F::Elem>, std::span<const F::Elem>, std::size_t);        \
  template Result<void> complete_shares<F>(const strassen::Engine<F>&, std::span<const F::Elem>,             \
                                           std::span<const SharePoint<F::Elem>>, matrix::ConstView<F::Elem>, \
                                           matrix::View<F::Elem>, std::span<const F::Elem>, std::size_t);    \
  template class PolynomialCode<F>
PIRX_INSTANTIATE(gf2e::Gf2_8);
PIRX_INSTANTIATE(gf2e::Gf2_16);
PIRX_INSTANTIATE(fp::W160);
PIRX_INSTANTIATE(fp::W48);
PIRX_INSTANTIATE(fp::PrimeField);
#undef PIRX_INSTANTIATE

}  // namespace pirx::batchcodes
