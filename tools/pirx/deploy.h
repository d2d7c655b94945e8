// SPDX-License-Identifier: Apache-2.0
// Brings a deployment file to the epoch that its servers have now, for `pirx deploy` and `pirx get`.
#pragma once

#include "cli.h"
#include "pirx/client/refresh.h"

namespace pirx::cli {

struct RefreshedFile {
  std::vector<Deployment> before, after;  ///< with credentials
  bool changed = false;                   ///< and written
};

/// Gives all servers of a deployment file what the client shows to them. InvalidArgument: a token alone, and
/// the file names several servers, be it for different protocols.
Result<void> give_credentials(const Credentials& credentials, std::span<Deployment> all);

/// Refreshes all deployments of the file and writes it, unless nothing is new. Errors are those of
/// client::refresh, with the flag that allows a rollback. With `in_use`, a protocol of several servers, those
/// of other protocols' deployments are warnings, and so is that they are at another epoch: servers of one
/// protocol keep nobody from another one. Then the file stays as it is.
Result<RefreshedFile> refresh_file(const std::string& path, const Credentials& credentials,
                                   RefreshOptions options, const Protocol* in_use = nullptr);

}  // namespace pirx::cli
