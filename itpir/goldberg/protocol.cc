// SPDX-License-Identifier: Apache-2.0
// The row of Goldberg's protocol.
#include "pirx/protocol.h"

#include "cost.h"
#include "itpir/client_plan.h"
#include "itpir/make_client.h"
#include "itpir/server_options.h"
#include "pirx/itpir/goldberg/client.h"
#include "pirx/itpir/goldberg/server.h"

namespace pirx {

extern const Protocol kGoldbergProtocol;

namespace {

using namespace itpir;
using Kind = Option::Kind;

constexpr Option kField{"field", Kind::kText, 0, 0,
                        "gf2_8, gf2_16, w160, w48 or prime<bits>; the same on all servers [gf2_8, or the "
                        "bucket's]"};
constexpr Option kOptions[] = {kCoordinateOption, kField,          kCodeOption,
                               kLayoutOption,     kPreparedOption, kMaxQueriesOption};

constexpr Option kRamp{"ramp", Kind::kNumber, 0, kMaxServers,
                       "Rows that one query vector fetches: several records cost as much as one, and q - 1 "
                       "servers more must answer [1]"};
constexpr Option kChosen[] = {kThresholdOption, kRamp};
constexpr Option kMembers[] = {
    {"field", Kind::kText, 0, 0, "gf2_8, gf2_16, w160, w48 or prime<bits>"},
    kThresholdOption,
    kRamp,
    {"encoding.arity", Kind::kNumber, 0, kMaxServers, "u of the servers' buckets"},
    {"encoding.independence", Kind::kNumber, 0, kMaxServers, "tau of the servers' buckets"},
    {"encoding.modulus", Kind::kNumber, 0, ~std::uint64_t{0}, "M of the servers' buckets"},
    kCodeMember,
};
std::string notes_of(const goldberg::Params& params) {
  const auto& spec = params.spec();
  std::string text;
  if (spec.independence > 0) {
    text += "\ntau = " + std::to_string(spec.independence) +
            ": so many together learn nothing of the database either";
  }
  if (spec.ramp > 1 && !params.encoding().collision_free(params.geometry().rows())) {
    text +=
        "\nq = " + std::to_string(spec.ramp) +
        " saves nothing: rows with the same number modulo M = " + std::to_string(spec.modulus) +
        " cannot share a query vector, so each record takes one of its own; encode with M = u * rows / u, "
        "or leave --ramp away";
  }
  return text;
}

Result<std::shared_ptr<const Plan>> plan(const PlanSpec& spec) {
  const auto& given = spec.members;
  PIRX_TRY(check_given(given, {"field", "threshold"}));
  if (given.on("encoding.arity") || given.on("encoding.independence") || given.on("encoding.modulus")) {
    PIRX_TRY(check_given(given, {"encoding.arity", "encoding.independence", "encoding.modulus"}));
  }
  PIRX_ASSIGN(const auto field, field_by_name(given.text("field")));
  const auto count = [&](std::string_view name, unsigned usual) {
    return static_cast<unsigned>(given.number(name).value_or(usual));
  };
  PIRX_ASSIGN(const auto params,
              goldberg::Params::create({.field = field,
                                        .geometry = *spec.geometry,
                                        .version = spec.version,
                                        .coordinates = spec.coordinates,
                                        .threshold = count("threshold", 1),
                                        .ramp = count("ramp", 1),
                                        .arity = count("encoding.arity", 1),
                                        .independence = count("encoding.independence", 0),
                                        .modulus = given.number("encoding.modulus").value_or(0)}));
  const auto& own = params.spec();
  const std::string code = given.text("code");
  if (!code.empty() && (own.arity != 1 || own.independence != 0 || own.ramp != 1)) {
    return invalid(
        "a batch code goes with the plain database and one row in a query vector: leave u, tau "
        "and q of polynomial codes away");
  }
  Texts members{{"field", field.name()}};
  if (own.ramp > 1) members["ramp"] = std::to_string(own.ramp);
  if (params.encoding().has_data_coordinates()) {
    members["encoding.arity"] = std::to_string(own.arity);
    members["encoding.independence"] = std::to_string(own.independence);
    members["encoding.modulus"] = std::to_string(own.modulus);
  }
  // A row of an encoded database is taken out of those of the whole look-up by a pass over all of them.
  const auto row_bytes = static_cast<double>(own.geometry.row_bytes());
  const double pair_seconds = params.encoding().has_data_coordinates() ? 1e-10 * row_bytes : 0;
  const bool binary = field == kTagGf2_8 || field == kTagGf2_16;
  const auto like_this = [own](const auto& geometry, const auto& version) {
    auto changed = own;
    changed.geometry = geometry;
    changed.version = version;
    return changed;
  };
  return SharesPlan::create({.protocol = &kGoldbergProtocol,
                             .geometry = own.geometry,
                             .version = own.version,
                             .coordinates = own.coordinates,
                             .threshold = own.threshold,
                             .code = code,
                             .members = std::move(members),
                             .server_options = {{"field", field.name()}},
                             .notes = notes_of(params),
                             .ramp = own.ramp,
                             .server_seconds = binary ? 3e-12 : 3e-11,
                             .pair_seconds = pair_seconds,
                             .client = make_clients<goldberg::Params, goldberg::Client>(like_this)});
}

}  // namespace

constinit const Protocol kGoldbergProtocol{
    .id = ProtocolId::kGoldberg,
    .name = "goldberg",
    .summary = "several servers, any t of which learn nothing; servers that lie are corrected and named",
    .several = true,
    .spreads = true,
    .members = kMembers,
    .chosen = kChosen,
    .client_options = kSharesClientOptions,
    .tell = tell_shares,
    .plan = plan,
    .options = kOptions,
#ifndef PIRX_CLIENT_ONLY
    .serve = [](const ServerSpec& spec) -> Result<std::unique_ptr<AnyServer>> {
      PIRX_ASSIGN(const auto options, read_server_options(spec));
      return goldberg::make_server(spec.database, options);
    },
    .schemes = goldberg::kSchemes,
    .steps = goldberg::kSteps
#endif
};

}  // namespace pirx
