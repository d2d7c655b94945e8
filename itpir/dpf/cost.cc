// SPDX-License-Identifier: Apache-2.0
// The offer of dpf: two servers, a row for each record.
#include "cost.h"

#include "expand.h"
#include "itpir/make_client.h"
#include "keys.h"
#include "pirx/base/rng.h"
#include "pirx/itpir/dpf/client.h"
#include "src/protocol/stopwatch.h"

namespace pirx::itpir::dpf {
namespace {

constexpr std::uint32_t kLengths[] = {6, 9, 12, 14, 16, 18};

}  // namespace

Result<double> measure_client(const RateId& id, RateTable& /*others*/) {
  const RateServers servers{
      kTagGf2, ProtocolId::kPointFunctions, {1, 2}, make_clients_at<Params, Client>({1, 2})};
  if (id.step == "dpf_gather") return measure_gather(servers, id.of[0], 1);
  return measure_share(servers, id.of[0], false);
}

Result<double> measure_expansion(const RateId& id, RateTable& /*others*/) {
  constexpr unsigned kMostLogRows = 30;
  if (id.of[0] > kMostLogRows) return invalid("there is no rate " + id.name() + ": too many rows");
  const std::uint64_t rows = std::uint64_t{1} << id.of[0];
  PIRX_ASSIGN(auto rng, Rng::from_os());
  Hash hash;
  Expander expander;
  Bytes keys(2 * key_bytes(rows));
  const auto first = MutableByteSpan(keys).first(key_bytes(rows));
  write_keys(hash, 0, rows, rng, first, MutableByteSpan(keys).subspan(first.size()));
  Bytes sum(expansion_bytes(rows));
  return cpu_seconds([&] { expander.add(first, rows, sum); });
}

Result<Offer> offer(const Question& question, Rates& rates) {
  if (question.servers < 2) {
    return invalid("it needs two servers that do not talk to each other: give --servers");
  }
  if (question.collusion != 1) {
    return invalid("two servers that talk to each other learn everything: it hides nothing from " +
                   std::to_string(question.collusion));
  }
  PIRX_ASSIGN(const auto file, geometry_of(question, 1));
  auto rows = file.spec();  // whatever the file's rows hold, a row is a slot here
  rows.records = slots(file);
  rows.records_per_row = 1;
  rows.filter = {};
  PIRX_ASSIGN(const auto geometry, database::Geometry::create(rows));
  PIRX_ASSIGN(auto params, Params::create({file, {}, {1, 2}}));
  const Client client(std::move(params));
  const MessageSizes sizes{client.request_bytes(1), client.reply_bytes(1)};
  Offer offer;
  offer.privacy = "either of 2 servers learns nothing, if it cannot tell AES-128 from a random permutation";
  offer.notes.push_back("both servers must answer; a lie is noticed, but not whose");
  offer.servers = 2;
  offer.threshold = 1;
  offer.records_per_row = file.spec().records_per_row;
  offer.bytes_up = 2 * sizes.request;
  offer.bytes_down = 2 * sizes.reply;
  PIRX_TRY(
      add_costs(offer, question, rates, {kTagGf2, {"dpf_share", {0}}, {"dpf_gather", {0}}, sizes}, geometry));
  PIRX_ASSIGN(const double expansion,
              seconds_at(rates, {"dpf_expand", {0}}, 0, static_cast<double>(geometry.rows()), kLengths));
  offer.server_seconds += expansion;
  return offer;
}

}  // namespace pirx::itpir::dpf
