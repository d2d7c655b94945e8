// What plans have in common, and which are refused.
#include "pirx/client/single_plan.h"

#include "pirx/protocol.h"

namespace pirx::client {
namespace {

namespace dj = cpir::dj;
namespace qr = cpir::qr;
namespace spiral = cpir::spiral;

}  // namespace

const char* const kPaperWarning =
    "warning: keys of 1024 bits reproduce a paper's figures; they can be broken and hide nothing from who "
    "pays for it";

std::string single_protocol_name(const SinglePlan& plan) {
  if (std::holds_alternative<spiral::Params>(plan)) return "spiral";
  return std::holds_alternative<dj::Params>(plan) ? "dj-tree" : "qr";
}

bool is_single_protocol(const std::string& name) {
  return name == "dj-tree" || name == "qr" || name == "spiral";
}

const database::Geometry& geometry_of(const SinglePlan& plan) {
  return std::visit(
      [](const auto& params) -> const auto& { return params.geometry(); }, plan);
}

const database::Version& version_of(const SinglePlan& plan) {
  return std::visit(
      [](const auto& params) -> const auto& { return params.spec().version; }, plan);
}

Result<std::optional<SinglePlan>> decode_plan(ByteSpan parameters) {
  constexpr std::size_t kProtocolAt = 7;  // docs/wire_format.md
  std::optional<SinglePlan> plan;
  if (parameters.size() <= kProtocolAt) return plan;
  switch (static_cast<ProtocolId>(parameters[kProtocolAt])) {
    case ProtocolId::kDamgardJurikTree: {
      PIRX_ASSIGN(plan, dj::Params::decode(parameters));
      break;
    }
    case ProtocolId::kQuadraticResiduosity: {
      PIRX_ASSIGN(plan, qr::Params::decode(parameters));
      break;
    }
    case ProtocolId::kSpiral: {
      PIRX_ASSIGN(plan, spiral::Params::decode(parameters));
      break;
    }
    default:
      break;
  }
  return plan;
}

Result<void> check_keys(const SingleDeployment& deployment, bool paper_reproduction) {
  if (const auto* params = std::get_if<spiral::Params>(&deployment.plan)) {
    if (params->scheme().policy == spiral::Policy::kSecure) return {};
    return invalid("the server's plan is for tests or comparisons and hides nothing: use another server");
  }
  const auto policy = std::holds_alternative<dj::Params>(deployment.plan)
                          ? std::get<dj::Params>(deployment.plan).spec().policy
                          : std::get<qr::Params>(deployment.plan).spec().policy;
  if (policy == dj::KeyPolicy::kSecure) return {};
  if (policy != dj::KeyPolicy::kPaperReproduction) {
    return invalid("the server asks for toy keys, which hide nothing: use another server");
  }
  if (!paper_reproduction) {
    return invalid(
        "the server asks for keys of 1024 bits, which can be broken: use another server, or, to reproduce a "
        "paper's figures on this machine, give --paper-reproduction");
  }
  if (!net::is_loopback_url(deployment.server.url)) {
    return invalid(
        "keys of 1024 bits can be broken: --paper-reproduction is refused for servers on other machines");
  }
  return {};
}

}  // namespace pirx::client
