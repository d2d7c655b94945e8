// The deployment file: which servers hold a database, by which protocol, and the trust anchors. JSON,
// documented in docs/deployment_file.md. A client trusts what it says, so it must come from somebody whom the
// client trusts.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "pirx/http/http_client.h"
#include "pirx/protocol.h"

namespace pirx::client {

struct Deployment {
  std::shared_ptr<const Plan> plan;
  std::vector<http::Endpoint> servers;  ///< in the order of plan->coordinates(), or the only one
};

/// Reads and validates a deployment file. Unavailable: it cannot be read. DataLoss: it is not JSON, lacks a
/// member, or has an unknown one, or another version or protocol. InvalidArgument: what Protocol::plan
/// refuses. ca_file paths are relative to the deployment file.
Result<Deployment> load_deployment(const std::filesystem::path& path);
/// The same from the text of a file in `folder`.
Result<Deployment> parse_deployment(std::string_view text, const std::filesystem::path& folder);
std::string format_deployment(const Deployment& deployment);
/// Writes the file in one step. Errors are those of replace_file().
Result<void> save_deployment(const std::filesystem::path& path, const Deployment& deployment);

/// Whether `next` may follow what a client was told before. StaleEpoch: it has an older epoch, or fewer
/// records, or the same epoch with other content; or, if there is one server, the same epoch with another
/// plan.
Result<void> check_follows(const Plan& before, const Plan& next);

/// Whether every server is on this machine.
bool all_on_this_machine(const Deployment& deployment);

}  // namespace pirx::client
