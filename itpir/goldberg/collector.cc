// SPDX-License-Identifier: Apache-2.0
// Instantiates GoldbergCollector for the shipped fields.
#include "collector_impl.h"

namespace pirx::itpir::goldberg {

template class GoldbergCollector<gf2e::Gf2_8>;
template class GoldbergCollector<gf2e::Gf2_16>;
template class GoldbergCollector<fp::W160>;
template class GoldbergCollector<fp::W48>;
template class GoldbergCollector<fp::PrimeField>;

}  // namespace pirx::itpir::goldberg
