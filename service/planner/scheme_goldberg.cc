// The offer of Goldberg's protocol over GF(2^8) and W160: one pass over the database on every server, and the
// client's vectors and Lagrange rows.
#include <cmath>

#include "pirx/batchcodes/encoding.h"
#include "pirx/fp/w160.h"
#include "pirx/gf2e/gf2_8.h"
#include "pirx/itpir/client.h"
#include "pirx/strassen/engine.h"
#include "scan.h"
#include "schemes.h"

namespace pirx::planner {
namespace {

struct Setting {
  FieldTag field;
  ScanField scan;
  bool seeded;
};

Result<Offer> offer_at(const Question& question, Rates& rates, const Setting& setting,
                       std::uint64_t records_per_row) {
  PIRX_ASSIGN(const auto geometry, geometry_of(question, records_per_row));
  PIRX_ASSIGN(auto coordinates, batchcodes::Encoding::suggested_coordinates(setting.field, question.servers));
  PIRX_ASSIGN(auto params, itpir::Params::create({.field = setting.field,
                                                  .geometry = geometry,
                                                  .version = {},
                                                  .coordinates = std::move(coordinates),
                                                  .threshold = question.collusion}));
  const itpir::Client client(params);
  const unsigned l = question.servers, t = question.collusion;
  const std::uint64_t vector = client.request_bytes(1);
  Offer offer;
  offer.scheme = "goldberg";
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
  offer.bytes_up = setting.seeded ? t * itpir::seeds_bytes(1) + (l - t) * vector : l * vector;
  const std::uint64_t reply = client.reply_bytes(1);
  offer.bytes_down = l * reply;
  PIRX_TRY(add_scan(offer, question, rates, setting.scan, geometry));
  const auto rows = static_cast<double>(geometry.rows()),
             row_bytes = static_cast<double>(geometry.row_bytes());
  const auto field = static_cast<std::uint32_t>(setting.scan);
  PIRX_ASSIGN(
      offer.client_seconds,
      seconds_at(rates, {setting.seeded ? Quantity::kSeeds : Quantity::kShare, {field, l, t, 0}}, 3, rows));
  PIRX_ASSIGN(const double gather, seconds_at(rates, {Quantity::kGather, {field, l, t, 0}}, 3, row_bytes));
  PIRX_ASSIGN(const double hash,
              seconds_at(rates, {Quantity::kHash, {}}, 0, static_cast<double>(geometry.slot_bytes())));
  offer.client_seconds += gather + hash;
  offer.server_bytes += vector + reply;
  offer.client_bytes = offer.bytes_up + offer.bytes_down + geometry.row_bytes();
  return offer;
}

Result<Offer> best_offer(const Question& question, Rates& rates, const Setting& setting) {
  if (question.servers < 2) {
    return invalid("it needs two servers or more that do not all talk to each other: give --servers");
  }
  PIRX_ASSIGN(const auto probe, geometry_of(question, 1));
  const auto balanced = database::Geometry::balanced_records_per_row(question.records, probe.slot_bytes());
  return best_of(rows_to_try(question, balanced, 5), question,
                 [&](std::uint64_t records) { return offer_at(question, rates, setting, records); });
}

}  // namespace

Result<Offer> offer_goldberg(const Question& question, Rates& rates) {
  return best_offer(question, rates, {kTagGf2_8, ScanField::kGf2_8, false});
}
Result<Offer> offer_goldberg_seeded(const Question& question, Rates& rates) {
  return best_offer(question, rates, {kTagGf2_8, ScanField::kGf2_8, true});
}
Result<Offer> offer_goldberg_w160(const Question& question, Rates& rates) {
  return best_offer(question, rates, {kTagW160, ScanField::kW160, false});
}

}  // namespace pirx::planner
