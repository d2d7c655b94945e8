// The options of a ServerSpec, which the protocols of this folder share.
#pragma once

#include "pirx/itpir/server.h"

namespace pirx::itpir {

/// Reads `spec`'s options. InvalidArgument: one that is unknown or malformed. `protocol` is for messages.
Result<ServerOptions> parse_server_options(const ServerSpec& spec, const std::string& protocol);

/// InvalidArgument: max_queries_per_request is 0 or too large, or a code goes with a side file or a spread.
Result<void> check_server_options(const ServerOptions& options);

}  // namespace pirx::itpir
