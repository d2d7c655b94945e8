// SPDX-License-Identifier: Apache-2.0
// The row of dpf, two-server retrieval with distributed point functions.
#include "pirx/protocol.h"

#include "any_two.h"
#include "pirx/base/field.h"
#ifndef PIRX_CLIENT_ONLY
#include "cost.h"
#include "itpir/server_options.h"
#include "server.h"
#endif

namespace pirx {

extern const Protocol kPointProtocol;

namespace {

using namespace itpir;

Result<std::shared_ptr<const Plan>> plan(const PlanSpec& spec) {
  PIRX_TRY(check_given(spec.members, {"field"}));
  if (spec.members.text("field") != kTagGf2.name()) {
    return invalid("dpf is over gf2, not over " + spec.members.text("field"));
  }
  if (spec.members.on("threshold") && spec.members.number("threshold") != 1) {
    return invalid("dpf has threshold 1, not " + spec.members.text("threshold"));
  }
  return dpf::plan_any_two({.protocol = &kPointProtocol,
                            .geometry = *spec.geometry,
                            .version = spec.version,
                            .coordinates = spec.coordinates,
                            .threshold = 1,
                            .members = {{"field", kTagGf2.name()}}});
}

#ifndef PIRX_CLIENT_ONLY
constexpr Option kOptions[] = {kCoordinateOption, kLayoutOption, kPreparedOption, kMaxQueriesOption};
#endif
constexpr Option kChosen[] = {kThresholdOption};
constexpr Option kMembers[] = {{"field", Option::Kind::kText, 0, 0, "gf2"}, kThresholdOption};

}  // namespace

constinit const Protocol kPointProtocol{
    .id = ProtocolId::kPointFunctions,
    .name = "dpf",
    .summary =
        "two servers that must not talk to each other: a query of some hundred bytes, a reply of one record; "
        "a liar is noticed but not found",
    .several = true,
    .most_servers = 2,
    .spreads = true,
    .members = kMembers,
    .chosen = kChosen,
    .tell = tell_all_but_threshold,
    .plan = plan,
#ifndef PIRX_CLIENT_ONLY
    .options = kOptions,
    .serve = [](const ServerSpec& spec) -> Result<std::unique_ptr<AnyServer>> {
      PIRX_ASSIGN(const auto options, read_server_options(spec));
      return dpf::make_server(spec.database, options);
    },
    .schemes = dpf::kSchemes,
    .steps = dpf::kSteps
#endif
};

}  // namespace pirx
