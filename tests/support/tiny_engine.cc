// SPDX-License-Identifier: Apache-2.0
// The engine over the tiny fields.
#include "support/tiny_engine.h"

namespace pirx::strassen {

template class Engine<testing::TinyPrime<2>>;
template class Engine<testing::TinyPrime<3>>;
template class Engine<testing::TinyGf4>;
template class Engine<testing::TinyPrime<5>>;
template class Engine<testing::TinyPrime<7>>;
template class Engine<testing::TinyPrime<11>>;
template class Engine<testing::TinyPrime<97>>;

}  // namespace pirx::strassen
