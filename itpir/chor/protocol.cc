// SPDX-License-Identifier: Apache-2.0
// The row of Chor's protocol.
#include "pirx/protocol.h"

#include "cost.h"
#include "itpir/client_plan.h"
#include "itpir/make_client.h"
#include "itpir/server_options.h"
#include "pirx/itpir/chor/client.h"
#include "pirx/itpir/chor/server.h"

namespace pirx {

extern const Protocol kChorProtocol;

namespace {

using namespace itpir;

constexpr Option kOptions[] = {kCoordinateOption, kCodeOption, kLayoutOption, kPreparedOption,
                               kMaxQueriesOption};
constexpr Option kChosen[] = {kThresholdOption};
constexpr Option kMembers[] = {{"field", Option::Kind::kText, 0, 0, "gf2"}, kThresholdOption, kCodeMember};

Result<std::shared_ptr<const Plan>> plan(const PlanSpec& spec) {
  const auto& given = spec.members;
  PIRX_TRY(check_given(given, {"field"}));
  PIRX_ASSIGN(const auto params, chor::Params::create({*spec.geometry, spec.version, spec.coordinates}));
  if (given.text("field") != kTagGf2.name()) {
    return invalid("Chor's protocol is over gf2, not over " + given.text("field"));
  }
  if (given.on("threshold") && given.number("threshold") != params.threshold()) {
    return invalid("Chor's protocol with " + std::to_string(params.servers()) + " servers has threshold " +
                   std::to_string(params.threshold()) + ", not " + given.text("threshold"));
  }
  return SharesPlan::create({.protocol = &kChorProtocol,
                             .geometry = *spec.geometry,
                             .version = spec.version,
                             .coordinates = spec.coordinates,
                             .threshold = params.threshold(),
                             .code = given.text("code"),
                             .members = {{"field", kTagGf2.name()}},
                             .client = make_clients_at<chor::Params, chor::Client>(spec.coordinates)});
}

}  // namespace

constinit const Protocol kChorProtocol{
    .id = ProtocolId::kChor,
    .name = "chor",
    .summary =
        "several servers, all of which must answer; all but one may pool what they see, and a liar is "
        "noticed but not found",
    .several = true,
    .spreads = true,
    .members = kMembers,
    .chosen = kChosen,
    .client_options = kSharesClientOptions,
    .tell = tell_all_but_threshold,
    .plan = plan,
    .options = kOptions,
#ifndef PIRX_CLIENT_ONLY
    .serve = [](const ServerSpec& spec) -> Result<std::unique_ptr<AnyServer>> {
      PIRX_ASSIGN(const auto options, read_server_options(spec));
      return chor::make_server(spec.database, options);
    },
    .schemes = chor::kSchemes,
    .steps = chor::kSteps
#endif
};

}  // namespace pirx
