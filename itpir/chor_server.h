// The server half of Chor's protocol over any rows, with any kernels.
#pragma once

#include "pirx/gf2e/gf2.h"
#include "server_impl.h"

namespace pirx::itpir {

/// As the public make_chor_server.
Result<std::unique_ptr<AnyServer>> make_chor_server(
    ServedRows served, const ServerOptions& options,
    strassen::Engine<gf2e::Gf2> engine = strassen::Engine<gf2e::Gf2>(gf2e::Gf2{}));

}  // namespace pirx::itpir
