// SPDX-License-Identifier: Apache-2.0
// The cost models of the protocols with several servers (docs/planner.md), and the measurements that they
// rest on.
#pragma once

#include "pirx/itpir/client_interface.h"
#include "pirx/protocol.h"
#include "src/protocol/offers.h"

namespace pirx::itpir {

Result<double> measure_pass(const RateId& id, RateTable& others);
Result<double> measure_hash(const RateId& id, RateTable& others);

// Steps of every protocol with several servers. A field is given by its bits: 1, 8, 160.
// Field, log2 of bytes, threads: one query over a prepared database, and the preparation. In seconds of the
// clock, on so many threads.
inline constexpr Step kScanStep{"scan", 3, &measure_pass}, kPrepareStep{"prepare", 3, &measure_pass};
// log2 of bytes: SHA-256
inline constexpr Step kHashStep{"hash", 1, &measure_hash};

/// The deployment of which a step of the client is measured.
struct RateServers {
  FieldTag field;
  ProtocolId protocol;
  std::vector<std::uint64_t> coordinates;
  MakeClient client;
};
/// The seconds of making a query over 2^log_rows rows, and of making a row of 2^log_bytes bytes out of
/// replies, by a client of these servers. A row holds records of 32 bytes, or as many as are given.
Result<double> measure_share(const RateServers& servers, unsigned log_rows, bool seeded);
Result<double> measure_gather(const RateServers& servers, unsigned log_bytes, std::uint64_t records = 0);

/// What a query costs beside its bytes: the field of the pass, the rates of the client's steps, of which the
/// last number stands for the size, and the bytes of a request with a vector and of a reply.
struct SharesCost {
  FieldTag field;
  RateId share, gather;
  MessageSizes sizes;
};
/// Adds to an offer, whose bytes up and down are known, the pass of a server, its preparation, the making of
/// a query and the decoding of its replies, and the memory for them. Bytes are those of whole rows.
Result<void> add_costs(Offer& offer, const Question& question, Rates& rates, const SharesCost& cost,
                       const database::Geometry& geometry);

/// The best of offer_at(x), which has x records in a row. A query takes one `part`-th of a byte up for a row.
/// InvalidArgument: the question has only one server. Else errors of best_of.
template <class OfferAt>
Result<Offer> best_of_several(const Question& question, std::uint64_t part, const OfferAt& offer_at) {
  if (question.servers < 2) {
    return invalid("it needs two servers or more that do not all talk to each other: give --servers");
  }
  PIRX_ASSIGN(const auto probe, geometry_of(question, 1));
  const auto balanced =
      database::Geometry::balanced_records_per_row(question.records, part * probe.slot_bytes());
  return best_of(rows_to_try(question, balanced, 5), question, offer_at);
}

}  // namespace pirx::itpir
