// SPDX-License-Identifier: Apache-2.0
// Instantiates VerticalDatabase over GF(2), which servers use, and over W48, in which bench/paper000 counts
// operations.
#include "batchcodes/vertical_database_impl.h"

namespace pirx::batchcodes {

template class VerticalDatabase<gf2e::Gf2>;
template class VerticalDatabase<fp::W48>;

}  // namespace pirx::batchcodes
