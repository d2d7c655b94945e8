// SPDX-License-Identifier: Apache-2.0
// The offer of Goldberg's protocol over GF(2^8) and W160: one pass over the database on every server, and the
// client's vectors and Lagrange rows.
#include "cost.h"

#include "itpir/make_client.h"
#include "pirx/itpir/goldberg/client.h"

namespace pirx::itpir::goldberg {
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
  const std::uint32_t field = setting.field == kTagW160 ? 160 : 8;
  PIRX_TRY(add_costs(offer, question, rates,
                     {setting.field,
                      {setting.seeded ? "seeds" : "share", {field, l, t, 0}},
                      {"gather", {field, l, t, 0}},
                      {vector, reply}},
                     geometry));
  return offer;
}

Result<Offer> best_offer(const Question& question, Rates& rates, const Setting& setting) {
  return best_of_several(question, 1,
                         [&](std::uint64_t records) { return offer_at(question, rates, setting, records); });
}

}  // namespace

Result<double> measure_client(const RateId& id, RateTable& /*others*/) {
  const std::uint32_t field = id.of[0], log_size = id.of[3];
  if (field != 8 && field != 160) return invalid("there is no rate " + id.name() + ": the field is unknown");
  RateServers servers{field == 8 ? kTagGf2_8 : kTagW160, ProtocolId::kGoldberg, {}, nullptr};
  PIRX_ASSIGN(servers.coordinates, batchcodes::Encoding::suggested_coordinates(servers.field, id.of[1]));
  servers.client = make_clients<Params, Client>([&](const auto& geometry, const auto& version) {
    return Params::Spec{servers.field, geometry, version, servers.coordinates, id.of[2]};
  });
  if (id.step == "gather") return measure_gather(servers, log_size);
  return measure_share(servers, log_size, id.step == "seeds");
}

Result<Offer> offer_plain(const Question& question, Rates& rates) {
  return best_offer(question, rates, {kTagGf2_8, false});
}
Result<Offer> offer_seeded(const Question& question, Rates& rates) {
  return best_offer(question, rates, {kTagGf2_8, true});
}
Result<Offer> offer_w160(const Question& question, Rates& rates) {
  return best_offer(question, rates, {kTagW160, false});
}

}  // namespace pirx::itpir::goldberg
