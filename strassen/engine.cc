// The engine of the shipped fields.
#include "pirx/fp/prime_field.h"
#include "pirx/fp/w160.h"
#include "pirx/fp/w48.h"
#include "pirx/gf2e/gf2.h"
#include "pirx/gf2e/gf2_16.h"
#include "pirx/gf2e/gf2_8.h"
#include "strassen/engine_impl.h"

namespace pirx::strassen {

template class Engine<gf2e::Gf2>;
template class Engine<gf2e::Gf2_8>;
template class Engine<gf2e::Gf2_16>;
template class Engine<fp::W160>;
template class Engine<fp::W48>;
template class Engine<fp::PrimeField>;

}  // namespace pirx::strassen
