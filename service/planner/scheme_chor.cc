// The offer of Chor's protocol with t + 1 servers, the fewest that hide anything from t of them.
#include "pirx/gf2e/gf2.h"
#include "pirx/itpir/chor/client.h"
#include "pirx/itpir/common.h"
#include "scan.h"
#include "schemes.h"

namespace pirx::planner {
namespace {

Result<Offer> offer_at(const Question& question, Rates& rates, bool seeded, std::uint64_t records_per_row) {
  PIRX_ASSIGN(const auto geometry, geometry_of(question, records_per_row));
  const unsigned l = question.collusion + 1;
  std::vector<std::uint64_t> coordinates;
  for (unsigned server = 1; server <= l; ++server) coordinates.push_back(server);
  PIRX_ASSIGN(auto params, itpir::chor::Params::create({geometry, {}, std::move(coordinates)}));
  const itpir::chor::Client client(std::move(params));
  Offer offer;
  offer.scheme = "chor";
  offer.settings = seeded ? "seeded" : "";
  offer.privacy = "any " + std::to_string(l - 1) + " of " + std::to_string(l) + " servers learn nothing" +
                  (seeded ? ", if they cannot tell AES-256-CTR from random" : "");
  offer.notes.push_back("all " + std::to_string(l) + " servers must answer; a lie is noticed, but not whose");
  offer.servers = l;
  offer.threshold = l - 1;
  offer.seeded = seeded;
  offer.records_per_row = geometry.spec().records_per_row;
  offer.bytes_up =
      client.request_bytes(1) + (l - 1) * (seeded ? itpir::seeds_bytes(1) : client.request_bytes(1));
  offer.bytes_down = l * client.reply_bytes(1);
  PIRX_TRY(add_scan(offer, question, rates, ScanField::kGf2, geometry));
  const auto field = static_cast<std::uint32_t>(ScanField::kGf2);
  PIRX_ASSIGN(offer.client_seconds,
              seconds_at(rates, {seeded ? Quantity::kSeeds : Quantity::kShare, {field, l, l - 1, 0}}, 3,
                         static_cast<double>(geometry.rows())));
  PIRX_ASSIGN(const double gather, seconds_at(rates, {Quantity::kGather, {field, l, l - 1, 0}}, 3,
                                              static_cast<double>(geometry.row_bytes())));
  PIRX_ASSIGN(const double hash,
              seconds_at(rates, {Quantity::kHash, {}}, 0, static_cast<double>(geometry.slot_bytes())));
  offer.client_seconds += gather + hash;
  offer.server_bytes += client.request_bytes(1) + client.reply_bytes(1);
  offer.client_bytes = offer.bytes_up + offer.bytes_down + geometry.row_bytes();
  return offer;
}

Result<Offer> best_offer(const Question& question, Rates& rates, bool seeded) {
  if (question.servers < 2) {
    return fail(ErrorCode::kInvalidArgument,
                "it needs two servers or more that do not all talk to each other: give --servers");
  }
  PIRX_ASSIGN(const auto probe, geometry_of(question, 1));
  // A bit a row up, a byte of a row down.
  const auto balanced =
      database::Geometry::balanced_records_per_row(question.records, 8 * probe.slot_bytes());
  return best_of(rows_to_try(question, balanced, 5), question,
                 [&](std::uint64_t records) { return offer_at(question, rates, seeded, records); });
}

}  // namespace

Result<Offer> offer_chor(const Question& question, Rates& rates) {
  return best_offer(question, rates, false);
}
Result<Offer> offer_chor_seeded(const Question& question, Rates& rates) {
  return best_offer(question, rates, true);
}

}  // namespace pirx::planner
