// Whom an audit asks: the servers of a deployment, as far as an audit needs to know them.
#pragma once

#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

#include "pirx/base/field.h"
#include "pirx/database/geometry.h"
#include "pirx/net/http_client.h"

namespace pirx::ct {

/// The servers, as `pirx deploy` writes them down or as they were named on the command line.
struct Servers {
  std::vector<net::Endpoint> endpoints;
  std::vector<std::uint64_t> coordinates;
  FieldTag field = kTagGf2_8;
  unsigned threshold = 1;
  std::optional<database::Version> version = {};  ///< what the deployment file says that they hold
};

/// Of a deployment file (docs/deployment_file.md), what an audit needs. DataLoss: malformed, or of servers
/// with encoded databases, batch codes or another protocol than Goldberg's, which an audit does not ask.
Result<Servers> parse_servers(std::string_view deployment, const std::filesystem::path& folder);

}  // namespace pirx::ct
