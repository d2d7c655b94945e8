// How a caller ends work that takes long: it owns the clock.
#pragma once

#include <functional>

namespace pirx {

/// Asked between the steps of long work, by all of its threads at once: true ends it, with Unavailable. An
/// empty one never does.
using Stop = std::function<bool()>;

}  // namespace pirx
