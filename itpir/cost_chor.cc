// The offer of Chor's protocol with t + 1 servers, the fewest that hide anything from t of them.
#include "cost.h"
#include "pirx/gf2e/gf2.h"
#include "pirx/itpir/chor.h"
#include "src/protocol/offers.h"

namespace pirx::itpir {
namespace {

Result<Offer> offer_at(const Question& question, Rates& rates, bool seeded, std::uint64_t records_per_row) {
  PIRX_ASSIGN(const auto geometry, geometry_of(question, records_per_row));
  const unsigned l = question.collusion + 1;
  std::vector<std::uint64_t> coordinates;
  for (unsigned server = 1; server <= l; ++server) coordinates.push_back(server);
  PIRX_ASSIGN(
      auto params,
      ChorParams::create(
          {.geometry = geometry, .version = {}, .coordinates = std::move(coordinates), .seeded = seeded}));
  const ChorClient client(std::move(params));
  Offer offer;
  offer.settings = seeded ? "seeded" : "";
  offer.privacy = "any " + std::to_string(l - 1) + " of " + std::to_string(l) + " servers learn nothing" +
                  (seeded ? ", if they cannot tell AES-256-CTR from random" : "");
  offer.notes.push_back("all " + std::to_string(l) + " servers must answer; a lie is noticed, but not whose");
  offer.servers = l;
  offer.threshold = l - 1;
  offer.seeded = seeded;
  offer.records_per_row = geometry.spec().records_per_row;
  for (unsigned server = 0; server < l; ++server) offer.bytes_up += client.request_bytes(1, server);
  offer.bytes_down = l * client.reply_bytes(1);
  PIRX_TRY(add_costs(offer, question, rates,
                     {kTagGf2, l, l - 1, seeded, client.request_bytes(1, l - 1), client.reply_bytes(1)},
                     geometry));
  return offer;
}

Result<Offer> best_offer(const Question& question, Rates& rates, bool seeded) {
  PIRX_TRY(check_several(question));
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

}  // namespace pirx::itpir
