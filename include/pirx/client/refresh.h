// SPDX-License-Identifier: Apache-2.0
// What servers say of the database that they hold, over HTTP: for a first deployment, and for its next epoch.
#pragma once

#include <functional>

#include "pirx/client/deployment.h"
#include "pirx/http/http_client.h"

namespace pirx::client {

struct AskOptions {
  std::chrono::milliseconds deadline{10'000};  ///< for all servers to answer
  /// Servers that cannot be reached are asked again until this has passed: they may be starting.
  std::chrono::milliseconds wait{0};
  /// Asks every server for a manifest of this publisher and database, too.
  std::optional<Pin> pin = {};
  /// Called once, with the first reason, before anybody is asked again.
  std::function<void(const std::string& why)> waiting = {};
};

/// What servers said, all of which speak the same protocol and hold the same version of one database.
struct Parameters {
  const Protocol* protocol = nullptr;
  std::vector<Told> told;  ///< in the order of the servers
  /// The publisher's manifest, if one was asked for: it is for what all servers said.
  std::shared_ptr<const Manifest> manifest = {};
};

/// Asks all servers for their parameters. InvalidArgument: an endpoint is malformed, one server was given
/// twice, or a protocol with one server is spoken by several. StaleEpoch: the servers do not hold the same.
/// Unauthenticated: a manifest that was asked for is missing, damaged or not that of the pin. DataLoss: what
/// a server says cannot be read, or is of a protocol or field that is not known here. Else the error of the
/// first server that gave no parameters, or of Manifest::check.
Result<Parameters> ask_parameters(std::span<const http::Endpoint> servers, const AskOptions& options = {});

/// The plan of a deployment on these servers. `chosen` are options of Protocol::chosen. InvalidArgument: they
/// do not fit.
Result<std::shared_ptr<const Plan>> plan_for(const Parameters& parameters, const Texts& chosen);

struct RefreshOptions {
  AskOptions ask = {};
  /// Also accepts parameters that check_follows() refuses.
  bool allow_rollback = false;
  /// The options that the client will use: Plan::check() depends on them. Options of other protocols are
  /// ignored.
  Texts client_options = {};
  /// Called with what somebody should know: weak keys of the new plan, servers that do not agree with most.
  std::function<void(const std::string& warning)> warn = {};
  /// Called with the deployment and what its servers said, before that is used. An error is the result of
  /// refresh().
  std::function<Result<void>(const Deployment& before, const Parameters& said)> accept = {};
};

/// The deployment with the parameters that all of its servers but t have now, and at least more than half.
/// `warn` is told of each other server; these stay as they were. Servers, trust anchors and what was chosen
/// (threshold, ramp) stay. StaleEpoch: the parameters do not follow (check_follows), or they are of another
/// kind of deployment: another protocol or field, other coordinates, a database that lost its keys or its
/// digests. Such a change weakens what the deployment vouches for, so somebody must deploy anew. If a
/// publisher is pinned, every epoch needs its manifest, and no option takes an older one
/// (check_manifest_follows). DataLoss: there is no plan for what the servers say. Errors of ask_parameters
/// and Plan::check.
Result<Deployment> refresh(const Deployment& deployment, const RefreshOptions& options = {});

}  // namespace pirx::client
