// What plans have in common, and which are refused.
#include "pirx/client/single_plan.h"

#include <algorithm>
#include <cmath>
#include <thread>

#include "pirx/protocol.h"

namespace pirx::client {
namespace {

namespace dj = cpir::dj;
namespace qr = cpir::qr;
namespace spiral = cpir::spiral;

/// What one query takes. Seconds of one core: a product of two 64-bit limbs takes one nanosecond.
struct Work {
  double bytes, memory, row_bytes, seconds;
};

double square(double x) { return x * x; }

Work work_of(const dj::Params& params) {
  const double bits = params.spec().modulus_bits;
  // A number of layer s is lifted from p to p^(s+1) by a power for each step, as long as p; opening it takes
  // as many. The same modulo q.
  double lift = 0, selectors = 0;
  for (unsigned s = 1; s <= params.levels(); ++s) {
    lift += bits * square((s + 1) * bits / 128) * 1e-9;
    selectors += (params.arities()[s - 1] - 1) * lift;
  }
  const auto up = static_cast<double>(params.request_bytes()),
             down = static_cast<double>(params.reply_bytes());
  return {up + down, 5 * up + 3 * down, static_cast<double>(params.geometry().row_bytes()),
          selectors + static_cast<double>(params.chunks()) * lift};
}

Work work_of(const qr::Params& params) {
  const auto up = static_cast<double>(params.request_bytes()),
             down = static_cast<double>(params.reply_bytes());
  const double product = square(params.spec().modulus_bits / 64.0) * 1e-9;
  const auto row_bytes = static_cast<double>(params.row_bytes());
  return {up + down, 5 * up + 3 * down, row_bytes,
          product * (4 * static_cast<double>(params.rows()) + 40 * 8 * row_bytes)};
}

Work work_of(const spiral::Params& params) {
  const auto up = static_cast<double>(params.request_bytes() + params.keys_bytes());
  const auto down = static_cast<double>(params.reply_bytes()),
             item = static_cast<double>(params.item_bytes());
  const auto polynomials = static_cast<double>(params.polynomials());
  return {up + down, 5 * up + 3 * down + 2 * polynomials * static_cast<double>(params.d()) + item,
          static_cast<double>(params.slot_bytes()),
          100e-6 * up / static_cast<double>(params.polynomial_bytes()) + 40e-6 * polynomials};
}

std::string show_bytes(double bytes) {
  const bool small = bytes < 10 << 20;
  return std::to_string(std::llround(std::ceil(bytes / (small ? 1 << 10 : 1 << 20)))) +
         (small ? " KiB" : " MiB");
}

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

const Digest& digest_of(const SinglePlan& plan) {
  return std::visit(
      [](const auto& params) -> const auto& { return params.digest(); }, plan);
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

Result<void> check_work(const SinglePlan& plan, std::size_t queries, const WorkLimits& limits,
                        std::chrono::milliseconds deadline) {
  const Work work = std::visit([](const auto& params) { return work_of(params); }, plan);
  const auto refuse = [](const std::string& asked, const std::string& most, const char* option) {
    return fail(ErrorCode::kResourceExhausted, "the server's plan asks this client for " + asked +
                                                   ", more than " + most + ": use another server, or raise " +
                                                   option);
  };
  const auto seconds = [](double time) { return std::to_string(std::llround(std::ceil(time))) + " s"; };
  const auto bytes = static_cast<double>(limits.bytes), all = static_cast<double>(limits.memory);
  const double memory = work.memory + static_cast<double>(queries) * work.row_bytes;
  if (work.bytes > bytes) {
    return refuse(show_bytes(work.bytes) + " a query and its reply", show_bytes(bytes), "--max-bytes");
  }
  if (memory > all) return refuse(show_bytes(memory) + " of memory", show_bytes(all), "--max-memory");
  const auto in_seconds = [](auto time) { return std::chrono::duration<double>(time).count(); };
  const double time = in_seconds(limits.time);
  if (work.seconds > time) {
    return refuse("about " + seconds(work.seconds) + " of work a query", seconds(time), "--max-work");
  }
  const double least = work.seconds / std::max(1u, std::thread::hardware_concurrency());
  if (least > in_seconds(deadline)) {
    return refuse("about " + seconds(least) + " a query", std::to_string(deadline.count()) + " ms",
                  "--deadline");
  }
  return {};
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
  if (!http::is_loopback_url(deployment.server.url)) {
    return invalid(
        "keys of 1024 bits can be broken: --paper-reproduction is refused for servers on other machines");
  }
  return {};
}

}  // namespace pirx::client
