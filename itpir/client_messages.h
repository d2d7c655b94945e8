// SPDX-License-Identifier: Apache-2.0
// Queries and replies as every client of this folder makes and reads them.
#pragma once

#include "pirx/itpir/client_interface.h"
#include "pirx/itpir/common.h"

namespace pirx::itpir {

/// Checks the size of a query of `vectors` vectors for so many wishes. InvalidArgument: there are no wishes,
/// or more vectors than kMaxQueriesPerRequest. ResourceExhausted: a message would exceed kMaxMessageBytes.
Result<void> check_query_size(std::size_t wishes, std::uint64_t vectors, const MessageSizes& sizes);

/// One request for each server, with header.queries vectors of vector_bytes each, which are zero. The first
/// `seeded` servers get room for seeds instead. `header` is that of all requests but for type and coordinate.
/// ResourceExhausted without memory.
Result<std::vector<Bytes>> empty_requests(MessageHeader header, std::span<const std::uint64_t> coordinates,
                                          std::uint64_t vector_bytes, std::size_t seeded);

/// The values in the reply of `server`, whose header must be `expected` but for the coordinate. If the reply
/// is invalid, the error says so, and status[server] what it counts as. InvalidArgument: there is no such
/// server, or it has replied already (kOk).
Result<ByteSpan> take_reply(std::span<ServerStatus> status, std::span<const std::uint64_t> coordinates,
                            std::size_t server, ByteSpan reply, MessageHeader expected,
                            std::size_t sum_bytes);

/// ReplyCollector::set_missing.
void note_missing(std::span<ServerStatus> status, std::size_t server, ServerStatus why);

/// The error where too few replies can be used; `moved` if that is because servers hold another version.
tl::unexpected<Error> too_few_replies(std::span<const ServerStatus> status, const std::string& needed,
                                      bool moved);
/// The same, because `locked_out` of them are not trusted or do not trust this client.
tl::unexpected<Error> too_few_trust(std::size_t usable, std::size_t servers, std::size_t needed,
                                    std::size_t locked_out);

/// The data of records[k] out of the k-th of `rows`, which have row_bytes() each. Looks at all of them
/// whatever is wrong with one. DataLoss: a length, padding or digest is wrong.
Result<Records> read_records(const database::Geometry& geometry, std::span<const std::uint64_t> records,
                             ByteSpan rows);

/// Where in its row lies what the i-th wish wants of it: the slot of a record or of a sum, or all of it.
struct SlotBytes {
  std::uint64_t offset, bytes;
};
SlotBytes slot_of(const database::Geometry& geometry, const Wishes& wishes, std::size_t i);
/// What such bytes hold: the record, or these bytes of a sum. DataLoss: a length, padding or digest is wrong.
Result<Bytes> read_slot(const database::Geometry& geometry, const Wishes& wishes, std::size_t i,
                        ByteSpan slot);

/// What DecodeOptions::read makes of what was found.
Result<Records> read_found(const DecodeOptions& options, std::size_t first, std::span<const Bytes> found);
/// Whether something can speak for an answer that replies do not prove: digests or the caller.
bool checks_records(const DecodeOptions& options, const database::Geometry& geometry, QueryKind kind);

}  // namespace pirx::itpir
