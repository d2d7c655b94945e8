// The offer of Goldberg's protocol over GF(2^8) and W160: one pass over the database on every server, and the
// client's vectors and Lagrange rows.
#include <cmath>

#include "cost.h"
#include "pirx/batchcodes/encoding.h"
#include "pirx/fp/w160.h"
#include "pirx/gf2e/gf2_8.h"
#include "pirx/itpir/client.h"
#include "pirx/strassen/engine.h"
#include "src/protocol/offers.h"

namespace pirx::itpir {
namespace {

struct Setting {
  FieldTag field;
  bool seeded;
};

Result<Offer> offer_at(const Question& question, Rates& rates, const Setting& setting,
                       std::uint64_t records_per_row) {
  PIRX_ASSIGN(const auto geometry, geometry_of(question, records_per_row));
  PIRX_ASSIGN(auto coordinates, batchcodes::Encoding::suggested_coordinates(setting.field, question.servers));
  PIRX_ASSIGN(auto params, Params::create({.field = setting.field,
                                           .geometry = geometry,
                                           .version = {},
                                           .coordinates = std::move(coordinates),
                                           .threshold = question.collusion}));
  const Client client(params);
  const unsigned l = question.servers, t = question.collusion;
  const std::uint64_t vector = client.request_bytes(1);
  Offer offer;
  offer.settings = setting.field.name() + (setting.seeded ? ", seeded" : "");
  offer.options = {{"field", setting.field.name()}};
  offer.privacy = "any " + std::to_string(t) + " of " + std::to_string(l) + " servers learn nothing" +
                  (setting.seeded ? ", if they cannot tell AES-256-CTR from random" : "");
  offer.notes.push_back("any " + std::to_string(t + 1) + " replies suffice; up to " +
                        std::to_string((l - t - 1) / 2) + " lying servers are found and corrected");
  offer.servers = l;
  offer.threshold = t;
  offer.seeded = setting.seeded;
  offer.records_per_row = geometry.spec().records_per_row;
  offer.bytes_up = setting.seeded ? t * seeds_bytes(1) + (l - t) * vector : l * vector;
  const std::uint64_t reply = client.reply_bytes(1);
  offer.bytes_down = l * reply;
  PIRX_TRY(add_costs(offer, question, rates, {setting.field, l, t, setting.seeded, vector, reply}, geometry));
  return offer;
}

Result<Offer> best_offer(const Question& question, Rates& rates, const Setting& setting) {
  PIRX_TRY(check_several(question));
  PIRX_ASSIGN(const auto probe, geometry_of(question, 1));
  const auto balanced = database::Geometry::balanced_records_per_row(question.records, probe.slot_bytes());
  return best_of(rows_to_try(question, balanced, 5), question,
                 [&](std::uint64_t records) { return offer_at(question, rates, setting, records); });
}

}  // namespace

Result<Offer> offer_goldberg(const Question& question, Rates& rates) {
  return best_offer(question, rates, {kTagGf2_8, false});
}
Result<Offer> offer_goldberg_seeded(const Question& question, Rates& rates) {
  return best_offer(question, rates, {kTagGf2_8, true});
}
Result<Offer> offer_goldberg_w160(const Question& question, Rates& rates) {
  return best_offer(question, rates, {kTagW160, false});
}

}  // namespace pirx::itpir
