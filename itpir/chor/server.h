// SPDX-License-Identifier: Apache-2.0
// The server half of Chor's protocol over any rows, with any kernels.
#pragma once

#include "itpir/server_impl.h"
#include "pirx/gf2e/gf2.h"

namespace pirx::itpir::chor {

/// As the public make_server.
Result<std::unique_ptr<AnyServer>> make_server(
    ServedRows served, const ServerOptions& options,
    strassen::Engine<gf2e::Gf2> engine = strassen::Engine<gf2e::Gf2>(gf2e::Gf2{}));

}  // namespace pirx::itpir::chor
