// One private retrieval from the only server of a protocol.
#pragma once

#include "pirx/client/fetch.h"
#include "pirx/client/single_plan.h"

namespace pirx::client {

struct SingleOptions {
  /// Of each query, with its making and, for the first one, that of the key.
  std::chrono::milliseconds deadline{600'000};
  WorkLimits limits = {};
  /// Told before each query: how many were answered, how many there are, and the bytes of one.
  std::function<void(std::size_t done, std::size_t all, std::size_t bytes)> waiting = {};
};

/// Fetches the records at these positions, or by these keys (three rows each, from a keyed database; a
/// dj-tree only), at most kMaxRecordsPerRound, under a new key of the client's, with one query after the
/// other. All of them are sent whatever the replies hold, so that a server that damages a reply is not told
/// whose, and where there is no such position, so that one that claims fewer records is not told that.
/// ResourceExhausted: check_work. Errors of the clients' query and decode; DataLoss where a digest does not
/// fit; OutOfRange at the end.
Result<FetchReport> fetch_records(const SingleDeployment& deployment, std::span<const std::uint64_t> records,
                                  const SingleOptions& options);
Result<FetchReport> fetch_keys(const SingleDeployment& deployment, std::span<const std::string> keys,
                               const SingleOptions& options);

}  // namespace pirx::client
