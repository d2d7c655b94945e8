// Protocols with one server (Damgard-Jurik trees, quadratic residuosity, Spiral): the plan that client and
// server share, and which keys it may ask for.
#pragma once

#include <optional>
#include <variant>

#include "pirx/cpir/dj/common.h"
#include "pirx/cpir/qr/common.h"
#include "pirx/cpir/spiral/common.h"
#include "pirx/net/http_client.h"

namespace pirx::client {

using SinglePlan = std::variant<cpir::dj::Params, cpir::qr::Params, cpir::spiral::Params>;

/// Where such a protocol's only server is, and what it serves.
struct SingleDeployment {
  SinglePlan plan;
  net::Endpoint server;
};

/// "dj-tree", "qr" or "spiral", and whether that is what `name` means.
std::string single_protocol_name(const SinglePlan& plan);
bool is_single_protocol(const std::string& name);

const database::Geometry& geometry_of(const SinglePlan& plan);
const database::Version& version_of(const SinglePlan& plan);

/// The plan of a server's parameters message; nothing where that is of a protocol with several servers.
/// Errors of the protocols' Params::decode.
Result<std::optional<SinglePlan>> decode_plan(ByteSpan parameters);

/// Keys too short to hide anything are for reproducing the papers: with the flag, and with a server on this
/// machine. Spiral's plans that are not secure are refused. InvalidArgument.
Result<void> check_keys(const SingleDeployment& deployment, bool paper_reproduction);
/// What every such use begins with.
extern const char* const kPaperWarning;

}  // namespace pirx::client
