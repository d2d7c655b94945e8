// SPDX-License-Identifier: Apache-2.0
// The threads that parallel loops of a thread use.
#pragma once

namespace pirx {

/// Starts so many for the calling thread, itself counted, which keeps them; 0: one a core. Otherwise its
/// first loop does, and OpenMP ends the process where there is no memory for them by then.
void start_team(int threads);

}  // namespace pirx
