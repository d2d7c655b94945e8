// SPDX-License-Identifier: Apache-2.0
// Instantiates the engine for the shipped fields.
#include "strassen/engine_impl.h"

namespace pirx::strassen {

template class Engine<gf2e::Gf2>;
template class Engine<gf2e::Gf2_8>;
template class Engine<gf2e::Gf2_16>;
template class Engine<fp::W160>;
template class Engine<fp::W48>;
template class Engine<fp::PrimeField>;

}  // namespace pirx::strassen
