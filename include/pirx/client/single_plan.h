// Protocols with one server (Damgard-Jurik trees, quadratic residuosity, Spiral): the plan that client and
// server share, and which keys it may ask for.
#pragma once

#include <chrono>
#include <optional>
#include <variant>

#include "pirx/cpir/dj/common.h"
#include "pirx/cpir/qr/common.h"
#include "pirx/cpir/spiral/common.h"
#include "pirx/http/http_client.h"

namespace pirx::client {

using SinglePlan = std::variant<cpir::dj::Params, cpir::qr::Params, cpir::spiral::Params>;

/// Where such a protocol's only server is, and what it serves.
struct SingleDeployment {
  SinglePlan plan;
  http::Endpoint server;
};

/// "dj-tree", "qr" or "spiral", and whether that is what `name` means.
std::string single_protocol_name(const SinglePlan& plan);
bool is_single_protocol(const std::string& name);

const database::Geometry& geometry_of(const SinglePlan& plan);
const database::Version& version_of(const SinglePlan& plan);
/// SHA-256 of the plan's parameters message: every query carries it.
const Digest& digest_of(const SinglePlan& plan);

/// The plan of a server's parameters message; nothing where that is of a protocol with several servers.
/// Errors of the protocols' Params::decode.
Result<std::optional<SinglePlan>> decode_plan(ByteSpan parameters);

/// The most that a server's plan may ask of a client for one query. A plan is a few bytes that the server
/// chooses.
struct WorkLimits {
  std::uint64_t bytes = std::uint64_t{256} << 20;  ///< a query and its reply, and Spiral's keys
  std::uint64_t memory = std::uint64_t{1} << 30;   ///< for these, and for the rows of all queries
  std::chrono::milliseconds time{60'000};          ///< of one core, without the making of a key
};
/// Compares what `queries` of a plan take with the limits, and what one takes with `deadline`, before
/// anything is done: sizes as they are, time by a model that is right within a factor of four.
/// ResourceExhausted names the limit, and what raises it in `pirx get`.
Result<void> check_work(const SinglePlan& plan, std::size_t queries, const WorkLimits& limits,
                        std::chrono::milliseconds deadline);

/// Keys too short to hide anything are for reproducing the papers: with the flag, and with a server on this
/// machine. Spiral's plans that are not secure are refused. InvalidArgument.
Result<void> check_keys(const SingleDeployment& deployment, bool paper_reproduction);
/// What every such use begins with.
extern const char* const kPaperWarning;

}  // namespace pirx::client
