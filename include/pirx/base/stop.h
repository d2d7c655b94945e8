// SPDX-License-Identifier: Apache-2.0
// How a caller ends work that takes long.
#pragma once

#include <functional>

namespace pirx {

/// A function that is called between the steps of long work, from any of its threads, and at the same time.
/// If it returns true, the work ends with Unavailable. An empty one never ends it.
using Stop = std::function<bool()>;

}  // namespace pirx
