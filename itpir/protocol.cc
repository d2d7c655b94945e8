// The rows of Goldberg's and Chor's protocols.
#include "pirx/protocol.h"

#include "client_plan.h"
#include "cost.h"
#include "pirx/itpir/server.h"
#include "server_options.h"

namespace pirx {
namespace {

using Kind = Option::Kind;

constexpr Option kCoordinate{
    "coordinate", Kind::kNumber, 0, ~std::uint64_t{0},
    "This server's public x-coordinate: 1, 2, ...; no two servers alike. A bucket knows its own"};
constexpr Option kField{"field", Kind::kText, 0, 0,
                        "gf2_8, gf2_16, w160, w48 or prime<bits>; the same on all servers [gf2_8, or the "
                        "bucket's]"};
constexpr Option kCode{
    "code", Kind::kText, 0, 0,
    "Batch code: subcube:L,K or subset:L,w; several records then cost little more than one"};
constexpr Option kLayout{"layout", Kind::kText, 0, 0,
                         "auto, rows (no copy), or what trades memory for speed of many queries: residues "
                         "(prime fields, 2.5 times "
                         "the database more), strassen1, strassen2 (GF(2^n), 1.75 and 2.9 times) [auto]"};
constexpr Option kMaxQueries{"max_queries", Kind::kNumber, 1, itpir::kMaxQueriesPerRequest,
                             "Queries that one request may hold [256]"};

constexpr Option kGoldbergOptions[] = {kCoordinate, kField, kCode, kLayout, kPreparedOption, kMaxQueries};
constexpr Option kChorOptions[] = {kCoordinate, kCode, kLayout, kPreparedOption, kMaxQueries};

constexpr Option kThreshold{"threshold", Kind::kNumber, 0, itpir::Params::kMaxServers,
                            "So many servers together must learn nothing [1]"};
constexpr Option kRamp{"ramp", Kind::kNumber, 0, itpir::Params::kMaxServers,
                       "Rows that one query vector fetches: several records cost as much as one, and q - 1 "
                       "servers more must answer [1]"};
constexpr Option kChosen[] = {kThreshold, kRamp};
constexpr Option kMembers[] = {
    {"field", Kind::kText, 0, 0, "gf2_8, gf2_16, w160, w48 or prime<bits>; gf2 for Chor's protocol"},
    kThreshold,
    kRamp,
    {"encoding.arity", Kind::kNumber, 0, itpir::Params::kMaxServers, "u of the servers' buckets"},
    {"encoding.independence", Kind::kNumber, 0, itpir::Params::kMaxServers, "tau of the servers' buckets"},
    {"encoding.modulus", Kind::kNumber, 0, ~std::uint64_t{0}, "M of the servers' buckets"},
    {"code", Kind::kText, 0, 0, "Batch code of the servers' buckets: subcube:L,K or subset:L,w"},
};
constexpr Option kClientOptions[] = {
    {"seeded", Kind::kSwitch, 0, 0,
     "Send seeds of 32 bytes in place of t of the query vectors: less to upload, and privacy then rests on "
     "AES-256 too"},
};
constexpr Scheme kGoldbergSchemes[] = {{"goldberg", &itpir::offer_goldberg},
                                       {"goldberg seeded", &itpir::offer_goldberg_seeded},
                                       {"goldberg w160", &itpir::offer_goldberg_w160}};
constexpr Scheme kChorSchemes[] = {{"chor", &itpir::offer_chor}, {"chor seeded", &itpir::offer_chor_seeded}};

}  // namespace

constinit const Protocol kGoldbergProtocol{
    .id = ProtocolId::kGoldberg,
    .name = "goldberg",
    .summary = "several servers, any t of which learn nothing; servers that lie are corrected and named",
    .several = true,
    .spreads = true,
    .options = kGoldbergOptions,
    .serve = [](const ServerSpec& spec) -> Result<std::unique_ptr<AnyServer>> {
      PIRX_ASSIGN(const auto options, itpir::read_server_options(spec));
      return itpir::make_goldberg_server(spec.database, options);
    },
    .members = kMembers,
    .chosen = kChosen,
    .client_options = kClientOptions,
    .tell = itpir::tell_shares,
    .plan = [](const PlanSpec& spec) { return itpir::plan_of_shares(spec, ProtocolId::kGoldberg); },
    .schemes = kGoldbergSchemes,
    .steps = itpir::kSteps};

constinit const Protocol kChorProtocol{
    .id = ProtocolId::kChor,
    .name = "chor",
    .summary =
        "several servers, all of which must answer; all but one may pool what they see, and a liar is "
        "noticed but not found",
    .several = true,
    .spreads = true,
    .options = kChorOptions,
    .serve = [](const ServerSpec& spec) -> Result<std::unique_ptr<AnyServer>> {
      PIRX_ASSIGN(const auto options, itpir::read_server_options(spec));
      return itpir::make_chor_server(spec.database, options);
    },
    .members = kMembers,
    .chosen = kChosen,
    .client_options = kClientOptions,
    .tell = itpir::tell_shares,
    .plan = [](const PlanSpec& spec) { return itpir::plan_of_shares(spec, ProtocolId::kChor); },
    .schemes = kChorSchemes,
    .steps = itpir::kSteps};

}  // namespace pirx
