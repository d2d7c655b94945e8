// The server options that the protocols of this folder share.
#pragma once

#include "pirx/itpir/server.h"

namespace pirx::itpir {

/// `spec` as options. InvalidArgument: a text that names nothing, or a coordinate that is missing.
Result<ServerOptions> read_server_options(const ServerSpec& spec);

/// InvalidArgument: max_queries_per_request is 0 or too large, or a code goes with a side file or a spread.
Result<void> check_server_options(const ServerOptions& options);

}  // namespace pirx::itpir
