// SPDX-License-Identifier: Apache-2.0
// The deployment file: which servers hold a database, by which protocol, and the trust anchors. JSON,
// documented in docs/deployment_file.md. A client trusts what it says, so it must come from somebody whom the
// client trusts.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "pirx/client/manifest.h"
#include "pirx/http/endpoint.h"
#include "pirx/protocol.h"

namespace pirx::client {

struct Deployment {
  std::shared_ptr<const Plan> plan;
  std::vector<http::Endpoint> servers;  ///< in the order of plan->coordinates(), or the only one
  /// The manifest of this epoch, which fits the plan. Its publisher and the publisher's name of the database
  /// are pinned: later epochs must have theirs, too. Null: no publisher is pinned.
  std::shared_ptr<const Manifest> manifest = {};
};

/// Checks that the manifest, if a publisher is pinned, is for the plan. Errors of Manifest::check.
Result<void> check_manifest(const Deployment& deployment);
/// Whether `next` may follow what the pinned publisher said before. Nothing allows an exception.
/// Unauthenticated: it has no manifest any more. Else errors of Manifest::check_next.
Result<void> check_manifest_follows(const Deployment& before, const Deployment& next);

/// Reads and validates the deployments of a file: one, or several of one database, each by a protocol of its
/// own. Unavailable: no such file. DataLoss: not JSON, a missing or foreign member, an unknown version or
/// protocol, or a wrong checksum. InvalidArgument: what Protocol::plan and check_one_database refuse. ca_file
/// paths are relative to the file, where `path` is a link to that to which it leads, and absolute in the
/// result.
Result<std::vector<Deployment>> load_deployments(const std::filesystem::path& path);
Result<std::vector<Deployment>> parse_deployments(std::string_view text, const std::filesystem::path& folder);
std::string format_deployments(std::span<const Deployment> deployments);
/// Writes the file, or the one that a link there leads to, in one step. A ca_file in its folder is
/// written without that folder. Errors are those of replace_file().
Result<void> save_deployments(const std::filesystem::path& path, std::span<const Deployment> deployments);

/// The deployment with that protocol; if no protocol is named, the only deployment. InvalidArgument: there is
/// no such protocol, or none is named and there are several.
Result<Deployment> choose_deployment(std::vector<Deployment> all, std::string_view protocol = {});
/// The same for a file. Other errors are those of load_deployments.
Result<Deployment> load_deployment(const std::filesystem::path& path, std::string_view protocol = {});

/// InvalidArgument: a protocol is there twice, or the deployments are not of one version of one database, or
/// not all are pinned to one publisher's database.
Result<void> check_one_database(std::span<const Deployment> deployments);

/// Whether `next` may follow what a client was told before. StaleEpoch: it has an older epoch, or fewer
/// records, or the same epoch with other content; or, if there is one server, the same epoch with another
/// plan.
Result<void> check_follows(const Plan& before, const Plan& next);

/// Whether every server is on this machine.
bool all_on_this_machine(const Deployment& deployment);

}  // namespace pirx::client
