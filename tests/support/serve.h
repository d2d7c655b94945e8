// SPDX-License-Identifier: Apache-2.0
// Server halves by the name of their protocol, as programs open them, and what they answer.
#pragma once

#include "pirx/database/database.h"
#include "pirx/protocol.h"

namespace pirx::testing {

inline Result<std::unique_ptr<AnyServer>> serve_file(const std::string& protocol, const std::string& path,
                                                     const Texts& options, ServerSpec spec = {}) {
  PIRX_ASSIGN(const auto* row, find_protocol(protocol));
  PIRX_ASSIGN(spec.database, database::Database::open(path));
  if (spec.threads == 0) spec.threads = 1;
  return serve(*row, std::move(spec), options);
}

/// Servers of a protocol over a database, and the plan of their clients.
struct Deployed {
  std::vector<std::unique_ptr<AnyServer>> servers;
  std::shared_ptr<const Plan> plan;
};
/// A server for each database; buckets know their coordinates, others get their numbers. `options` are those
/// of each server, `chosen` what the plan has in place of what the servers tell.
inline Result<Deployed> deploy(const Protocol& protocol,
                               const std::vector<std::shared_ptr<const database::Database>>& databases,
                               Texts options = {}, const Texts& chosen = {}) {
  Deployed out;
  PlanSpec spec;
  for (const auto& database : databases) {
    if (protocol.several && database->bucket() == nullptr) {
      options["coordinate"] = std::to_string(out.servers.size() + 1);
    }
    PIRX_ASSIGN(auto server,
                serve(protocol, {.database = database, .threads = 1, .loopback = true}, options));
    PIRX_ASSIGN(auto told, tell(server->parameters()));
    out.servers.push_back(std::move(server));
    if (told.coordinate) spec.coordinates.push_back(*told.coordinate);
    for (const auto& [name, value] : chosen) told.members[name] = value;
    PIRX_ASSIGN(spec.members, Options::create(protocol.members, told.members, ""));
    spec.version = told.version;
    if (!protocol.describes_database) spec.geometry = told.geometry;
  }
  PIRX_ASSIGN(out.plan, protocol.plan(spec));
  return out;
}
/// So many servers of one database.
inline Result<Deployed> deploy(const Protocol& protocol,
                               const std::shared_ptr<const database::Database>& database, unsigned count,
                               Texts options = {}, const Texts& chosen = {}) {
  return deploy(protocol, std::vector(count, database), std::move(options), chosen);
}

/// The answer to one request in a pass of its own.
inline Result<Bytes> ask(const AnyServer& server, ByteSpan request) {
  return std::move(server.answer({&request, 1}).at(0));
}

}  // namespace pirx::testing
