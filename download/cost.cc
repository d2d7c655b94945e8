// SPDX-License-Identifier: Apache-2.0
// The scheme to beat: every client downloads the database, once for each version, and the server learns
// nothing.
#include "cost.h"

#include "common.h"
#include "src/protocol/offers.h"

namespace pirx::download {

Result<Offer> offer_download(const Question& question, Rates& /*rates*/) {
  // The rows that `pirx db build` chooses, if there is no database yet.
  PIRX_ASSIGN(const auto probe, geometry_of(question, 1));
  PIRX_ASSIGN(const auto geometry, geometry_of(question, database::Geometry::balanced_records_per_row(
                                                             question.records, probe.slot_bytes())));
  PIRX_ASSIGN(const auto params, Params::create(geometry, {}, question.key_index_bytes));
  const std::uint64_t pieces = params.pieces(), bytes = params.checksums_bytes() + params.content_bytes();
  return Offer{.settings = "",
               .privacy = "nothing is asked",
               .whole = true,
               .records_per_row = geometry.spec().records_per_row,
               .bytes_once = bytes + pieces * kHeaderBytes,
               .bytes_once_up = pieces * kRequestBytes,
               .round_trips = 0,
               .round_trips_once = pieces,
               .server_bytes = bytes,
               .client_bytes = bytes};
}

}  // namespace pirx::download
