// SPDX-License-Identifier: Apache-2.0
// The row of the Damgard-Jurik tree in the table of protocols.
#include "pirx/protocol.h"

#include <bit>
#include <limits>

#include "client_plan.h"
#include "cost.h"
#include "options.h"
#include "pirx/cpir/dj/server.h"

namespace pirx {
namespace cpir::dj {
namespace {

using Kind = Option::Kind;

constexpr Option kOptions[] = {
    kModulusOption,
    {"arity", Kind::kNumbers, 0, std::numeric_limits<std::uint32_t>::max(),
     "Children of a node, leaves first, the last repeated: 32,16 or 8 [32,16]"},
    {"selectors", Kind::kText, 0, 0, "one-hot, or polynomial as in the paper [one-hot]"},
    {"leaf_layer", Kind::kNumber, 1, Params::kMaxLeafLayer,
     "Layer of the leaves: higher ones shorten long rows' replies, for more work [1]"},
    {"rerandomise", Kind::kSwitch, 0, 0,
     "Fresh coins in every node, against clients who would learn of other rows"},
    {"tables", Kind::kSize, 0, std::uint64_t{1} << 50, "Memory for tables of powers [64MiB]"},
    kKernelOption,
    kPaperOption,
};

constexpr Option kMembers[] = {
    kKeyBitsMember,
    kKeyPolicyMember,
    {"arities", Kind::kNumbers, 2, Params::kMaxArity, "Children of a node of the tree, leaves first"},
    {"selectors", Kind::kText, 0, 0, "polynomial where the server wants the paper's; else left out"},
    {"leaf_layer", Kind::kNumber, 2, Params::kMaxLeafLayer, "Layer of the leaves where it is not 1"},
};
constexpr std::string_view kFromDatabase[] = {"arities"};
constexpr Option kClientOptions[] = {kPaperClientOption};

#ifndef PIRX_CLIENT_ONLY
Result<std::unique_ptr<AnyServer>> serve(const ServerSpec& spec) {
  const auto& given = spec.options;
  PIRX_ASSIGN(auto options, read_server_options<ServerOptions>(spec));
  options.rerandomise = given.on("rerandomise");
  options.table_bytes = given.number("tables").value_or(options.table_bytes);
  if (given.on("selectors")) {
    const auto selectors = given.text("selectors");
    if (selectors != "one-hot" && selectors != "polynomial") {
      return invalid("--selectors: '" + selectors + "' is neither one-hot nor polynomial");
    }
    if (selectors == "polynomial") options.selectors = Selectors::kPolynomial;
  }
  options.leaf_layer = static_cast<unsigned>(given.number("leaf_layer").value_or(1));
  const auto arities = given.numbers("arity");
  options.arities.assign(arities.begin(), arities.end());
  const bool polynomial = options.selectors == Selectors::kPolynomial;
  if (polynomial && options.arities.empty()) options.arities = {8};
  const std::size_t chosen = options.arities.size();
  options.arities = repeat_last_arity(std::move(options.arities), spec.database->geometry().rows());
  for (std::size_t i = chosen; polynomial && i < options.arities.size(); ++i) {
    options.arities[i] = std::bit_ceil(options.arities[i]);
  }
  return make_dj_server(spec.database, options);
}
#endif

}  // namespace

Result<std::pair<unsigned, KeyPolicy>> read_key_options(const ServerSpec& spec) {
  const auto modulus = spec.options.number("modulus");
  const bool paper = spec.options.on("paper_reproduction");
  if (paper && !spec.loopback) {
    return invalid(
        "keys of 1024 bits can be broken: --paper-reproduction is refused beyond loopback, listen on "
        "127.0.0.1 or ::1");
  }
  if (paper && modulus && *modulus != 1024) {
    return invalid("--paper-reproduction means keys of 1024 bits: leave --modulus away");
  }
  if (!paper && modulus == 1024) {
    return invalid(
        "keys of 1024 bits can be broken: use 3072 (the default) or 2048, or --paper-reproduction to "
        "reproduce a paper's figures on this machine");
  }
  if (paper && spec.note) {
    spec.note(
        "warning: keys of 1024 bits can be broken; they are for reproducing the paper and hide nothing");
  }
  if (paper) return std::pair(1024u, KeyPolicy::kPaperReproduction);
  return std::pair(static_cast<unsigned>(modulus.value_or(kDefaultModulusBits)), KeyPolicy::kSecure);
}

}  // namespace cpir::dj

extern const Protocol kTreeProtocol;

constinit const Protocol kTreeProtocol{
    .id = ProtocolId::kDamgardJurikTree,
    .name = "dj-tree",
    .summary = "one server, Damgard-Jurik ciphertexts: little traffic, seconds of work",
    .slow = true,
    .members = cpir::dj::kMembers,
    .from_database = cpir::dj::kFromDatabase,
    .client_options = cpir::dj::kClientOptions,
    .tell = cpir::dj::tell,
    .plan = cpir::dj::make_plan,
    .options = cpir::dj::kOptions,
#ifndef PIRX_CLIENT_ONLY
    .serve = cpir::dj::serve,
    .schemes = cpir::dj::kSchemes,
    .steps = cpir::dj::kSteps
#endif
};

}  // namespace pirx
