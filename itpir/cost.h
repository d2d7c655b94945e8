// The cost models of the protocols with several servers (docs/planner.md), and the measurements that they
// rest on.
#pragma once

#include "pirx/base/field.h"
#include "pirx/protocol/offer.h"

namespace pirx::itpir {

Result<double> measure_pass(const RateId& id, RateTable& others);
Result<double> measure_share(const RateId& id, RateTable& others);
Result<double> measure_gather(const RateId& id, RateTable& others);
Result<double> measure_hash(const RateId& id, RateTable& others);

/// The steps. A field is given by its degree or bits: 1 (Chor's protocol), 8, 160.
inline constexpr Step kSteps[] = {
    // Field, log2 of bytes, threads: one query over a prepared database, and the preparation. In seconds of
    // the clock, on so many threads.
    {"scan", 3, &measure_pass},     {"prepare", 3, &measure_pass},
    {"share", 4, &measure_share},    // field, servers, threshold, log2 of rows: the client makes a query
    {"seeds", 4, &measure_share},    // the same, for a query with seeds
    {"gather", 4, &measure_gather},  // field, servers, threshold, log2 of bytes: a row out of replies
    {"hash", 1, &measure_hash},      // log2 of bytes: SHA-256
};

/// The client and the servers of one query.
struct SharesCost {
  FieldTag field;
  unsigned servers, threshold;
  bool seeded;
  std::uint64_t request_bytes, reply_bytes;  ///< the longest request, and a reply
};
/// Adds to an offer, whose bytes up and down are known, the pass of a server, its preparation, the making of
/// a query and the decoding of its replies, and the memory for them. Bytes are those of whole rows.
Result<void> add_costs(Offer& offer, const Question& question, Rates& rates, const SharesCost& cost,
                       const database::Geometry& geometry);

/// InvalidArgument: the question has only one server.
Result<void> check_several(const Question& question);

Result<Offer> offer_goldberg(const Question& question, Rates& rates);
Result<Offer> offer_goldberg_w160(const Question& question, Rates& rates);
Result<Offer> offer_goldberg_seeded(const Question& question, Rates& rates);
Result<Offer> offer_chor(const Question& question, Rates& rates);
Result<Offer> offer_chor_seeded(const Question& question, Rates& rates);

}  // namespace pirx::itpir
