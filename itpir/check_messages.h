// SPDX-License-Identifier: Apache-2.0
// Checks whether a message has exactly the shape that was agreed, and whether servers have names of their
// own. Every half does this first.
#pragma once

#include "pirx/itpir/common.h"

namespace pirx::itpir {

/// A query's header against that of the largest query that the server takes. StaleEpoch: it is for another
/// database version. InvalidArgument: it differs otherwise, or holds more queries; the message says in what.
Result<void> check_query(const MessageHeader& header, const MessageHeader& largest);

/// The exact length of a query of so many vectors, or seeds, of vector_bytes. InvalidArgument.
Result<void> check_query_bytes(ByteSpan request, std::uint64_t queries, std::uint64_t vector_bytes);

/// The bytes behind the header of a reply that has the header `expected` and sums of `sum_bytes`. StaleEpoch:
/// it is from another database version. DataLoss: it is malformed or differs otherwise; the message says in
/// what.
Result<ByteSpan> check_reply(ByteSpan reply, const MessageHeader& expected, std::size_t sum_bytes);

/// InvalidArgument: a coordinate that is zero, or the same one twice.
Result<void> check_coordinates(std::span<const std::uint64_t> coordinates);

}  // namespace pirx::itpir
