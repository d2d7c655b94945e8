// SPDX-License-Identifier: Apache-2.0
// What a client must know of a deployment beside its servers' addresses: what the servers said of themselves,
// and what was chosen for clients. A deployment file holds both.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "pirx/base/sha256.h"
#include "pirx/base/stop.h"
#include "pirx/database/geometry.h"
#include "pirx/protocol/option.h"
#include "pirx/protocol/retrieval.h"

namespace pirx {

struct Protocol;

/// What a retrieval takes: a part for every query, and a part that it takes once. Sizes are those of messages
/// without client options, times a rough model.
struct Work {
  double up = 0, down = 0;            ///< bytes of each query and its replies, for all servers
  double once_up = 0, once_down = 0;  ///< bytes in addition
  double query_messages = 0;          ///< messages, one after another, for each query
  double once_messages = 0;           ///< in addition
  double memory = 0;                  ///< bytes that the client holds for a query and what is sent once
  double row_bytes = 0;               ///< bytes held in addition for each query
  double seconds = 0;                 ///< of one core of the client, for each query
  double once_seconds = 0;            ///< in addition, such as for making a key
  double least_seconds = 0;           ///< of a look-up, however few its queries and however many cores
  double pair_seconds = 0;            ///< of one core of the client, for each pair of queries of a look-up
  double server_seconds = 0;          ///< of one core of a server, for each query
  double once_server_seconds = 0;     ///< in addition
  unsigned key_queries = 1;           ///< queries for a key of a keyed database
};

/// What Plan::join needs in addition to the plan.
struct ClientSpec {
  Options options = {};   ///< checked against Protocol::client_options
  bool loopback = false;  ///< all servers are on this machine
  Stop stop = {};         ///< asked while keys are made
};

/// What a client knows of a deployment, as a validated, immutable value. Public.
class Plan {
 public:
  virtual ~Plan() = default;
  virtual const Protocol& protocol() const noexcept = 0;
  virtual const database::Geometry& geometry() const noexcept = 0;
  virtual const database::Version& version() const noexcept = 0;
  /// The members of the deployment file that Protocol::members describes.
  virtual Texts members() const = 0;
  /// The servers' public coordinates, in their order; empty if the protocol has one server.
  virtual std::vector<std::uint64_t> coordinates() const { return {}; }
  /// The options that the server at this position of the deployment must be opened with (Protocol::options).
  virtual Texts server_options([[maybe_unused]] std::size_t server) const { return {}; }
  /// SHA-256 of the parameters message of the only server. Nothing if there are several servers.
  virtual std::optional<Digest> digest() const { return std::nullopt; }
  virtual Work work() const { return {}; }
  /// One or two lines about it for people.
  virtual std::string summary() const = 0;
  /// Whether a client should use it. Gives a warning for people, or an empty text. InvalidArgument: it would
  /// not hide what is asked for, for example because its keys are too short.
  virtual Result<std::string> check(const ClientSpec&) const { return std::string(); }
  /// Makes a client and its keys, which takes seconds in some protocols. Does not call check(): pirx::join()
  /// does. Unavailable: no randomness, or ClientSpec::stop said so.
  virtual Result<std::unique_ptr<AnyClient>> join(const ClientSpec& spec) const = 0;
};

/// What a deployment file says, or is about to say.
struct PlanSpec {
  Options members;  ///< checked against Protocol::members
  /// Absent if Protocol::describes_database.
  std::optional<database::Geometry> geometry = {};
  database::Version version = {};
  std::vector<std::uint64_t> coordinates = {};  ///< none if the protocol has one server
};

/// What a server says of itself in its parameters message.
struct Told {
  Texts members;  ///< for a deployment file; Protocol::chosen have their least values
  database::Geometry geometry;
  database::Version version;
  std::optional<std::uint64_t> coordinate;  ///< nothing if the protocol has one server
  /// SHA-256 of the message with a zero coordinate. A server must tell every client the same.
  Digest digest{};
};

}  // namespace pirx
