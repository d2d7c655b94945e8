// VerticalDatabase for the shipped fields.
#include "batchcodes/vertical_database_impl.h"

namespace pirx::batchcodes {

#define PIRX_INSTANTIATE(F)                                                         \
  template class VerticalDatabase<F>;                                               \
  template Result<void> collect<F>(const strassen::Engine<F>&, const VerticalPlan&, \
                                   matrix::ConstView<F::Sum>, matrix::View<F::Sum>)
PIRX_INSTANTIATE(gf2e::Gf2);
PIRX_INSTANTIATE(gf2e::Gf2_8);
PIRX_INSTANTIATE(gf2e::Gf2_16);
PIRX_INSTANTIATE(fp::W160);
PIRX_INSTANTIATE(fp::W48);
PIRX_INSTANTIATE(fp::PrimeField);
#undef PIRX_INSTANTIATE

}  // namespace pirx::batchcodes
