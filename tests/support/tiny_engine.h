// SPDX-License-Identifier: Apache-2.0
// The engine over the tiny fields. Made once, in tiny_engine.cc, for every test that uses it.
#pragma once

#include "strassen/engine_impl.h"
#include "support/tiny_field.h"

namespace pirx::strassen {

extern template class Engine<testing::TinyPrime<2>>;
extern template class Engine<testing::TinyPrime<3>>;
extern template class Engine<testing::TinyGf4>;
extern template class Engine<testing::TinyPrime<5>>;
extern template class Engine<testing::TinyPrime<7>>;
extern template class Engine<testing::TinyPrime<11>>;
extern template class Engine<testing::TinyPrime<97>>;

}  // namespace pirx::strassen
