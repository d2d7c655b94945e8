// SPDX-License-Identifier: Apache-2.0
// The threads that parallel loops of a thread use.
#pragma once

namespace pirx {

/// Starts them for the calling thread, which keeps them. Otherwise its first loop does, and OpenMP ends the
/// process where there is no memory for them by then.
void start_team();

}  // namespace pirx
