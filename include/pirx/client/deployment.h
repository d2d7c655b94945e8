// The deployment file: which servers hold a database, their public coordinates, the threshold and the trust
// anchors. JSON, documented in docs/deployment_file.md. It is what a client trusts, so it comes from whoever
// the client trusts.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "pirx/client/single_plan.h"
#include "pirx/http/http_client.h"
#include "pirx/itpir/common.h"

namespace pirx::client {

struct Deployment {
  itpir::Params params;
  std::vector<http::Endpoint> servers;  ///< in the order of params.coordinates()
  std::string code = {};  ///< vertical batch code that the servers hold the buckets of; empty: none
};

/// What `pirx get` takes: several servers, or the only one of a protocol with one.
using AnyDeployment = std::variant<Deployment, SingleDeployment>;

/// Reads and validates. Unavailable: no such file. DataLoss: not JSON, a missing or foreign member, an
/// unknown version. InvalidArgument: what Params::create refuses. ca_file paths are relative to the
/// deployment file.
Result<AnyDeployment> load_deployment(const std::filesystem::path& path);
Result<AnyDeployment> parse_deployment(std::string_view text, const std::filesystem::path& folder);
std::string format_deployment(const AnyDeployment& deployment);
/// As replace_file.
Result<void> save_deployment(const std::filesystem::path& path, const AnyDeployment& deployment);

/// What every client of a database must be told alike, as a digest: SHA-256 of the parameters message, with
/// the coordinate, where there is one, zero. Errors of decode_plan and ServerParameters::decode.
Result<Digest> parameters_digest(ByteSpan parameters);

/// Whether `next` may follow what a client was told before. StaleEpoch: an older epoch; fewer records; the
/// same epoch with other content or, of one server, with another plan.
Result<void> check_follows(const AnyDeployment& before, const AnyDeployment& next);

/// "gf2_8", "gf2_16", "w160", "w48", "prime64"... InvalidArgument lists them.
Result<FieldTag> parse_field(const std::string& name);

}  // namespace pirx::client
