// SPDX-License-Identifier: Apache-2.0
// The offer of Chor's protocol with t + 1 servers, the fewest that hide anything from t of them.
#include "cost.h"

#include <numeric>

#include "itpir/make_client.h"
#include "pirx/itpir/chor/client.h"
#include "pirx/itpir/common.h"

namespace pirx::itpir::chor {
namespace {

std::vector<std::uint64_t> coordinates_of(unsigned servers) {
  std::vector<std::uint64_t> coordinates(servers);
  std::iota(coordinates.begin(), coordinates.end(), 1u);
  return coordinates;
}

Result<Offer> offer_at(const Question& question, Rates& rates, bool seeded, std::uint64_t records_per_row) {
  PIRX_ASSIGN(const auto geometry, geometry_of(question, records_per_row));
  const unsigned l = question.collusion + 1;
  PIRX_ASSIGN(auto params, Params::create({geometry, {}, coordinates_of(l)}));
  const Client client(std::move(params));
  const MessageSizes sizes{client.request_bytes(1), client.reply_bytes(1)};
  Offer offer;
  offer.settings = seeded ? "seeded" : "";
  offer.privacy = "any " + std::to_string(l - 1) + " of " + std::to_string(l) + " servers learn nothing" +
                  (seeded ? ", if they cannot tell AES-256-CTR from random" : "");
  offer.notes.push_back("all " + std::to_string(l) + " servers must answer; a lie is noticed, but not whose");
  offer.servers = l;
  offer.threshold = l - 1;
  offer.seeded = seeded;
  offer.records_per_row = geometry.spec().records_per_row;
  offer.bytes_up = sizes.request + (l - 1) * (seeded ? seeds_bytes(1) : sizes.request);
  offer.bytes_down = l * sizes.reply;
  PIRX_TRY(add_costs(
      offer, question, rates,
      {kTagGf2, {seeded ? "chor_seeds" : "chor_share", {l, 0}}, {"chor_gather", {l, 0}}, sizes}, geometry));
  return offer;
}

Result<Offer> best_offer(const Question& question, Rates& rates, bool seeded) {
  constexpr std::uint64_t kBits = 8;  // a bit a row up, a byte of a row down
  return best_of_several(question, kBits,
                         [&](std::uint64_t records) { return offer_at(question, rates, seeded, records); });
}

}  // namespace

Result<double> measure_client(const RateId& id, RateTable& /*others*/) {
  if (id.of[0] > kMaxServers) return invalid("there is no rate " + id.name() + ": too many servers");
  const auto coordinates = coordinates_of(id.of[0]);
  const RateServers servers{kTagGf2, ProtocolId::kChor, coordinates,
                            make_clients_at<Params, Client>(coordinates)};
  if (id.step == "chor_gather") return measure_gather(servers, id.of[1]);
  return measure_share(servers, id.of[1], id.step == "chor_seeds");
}

Result<Offer> offer_plain(const Question& question, Rates& rates) {
  return best_offer(question, rates, false);
}
Result<Offer> offer_seeded(const Question& question, Rates& rates) {
  return best_offer(question, rates, true);
}

}  // namespace pirx::itpir::chor
