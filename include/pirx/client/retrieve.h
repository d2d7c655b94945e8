// Private retrieval in one call, whatever protocol the deployment file names. Fetcher and fetch_records have
// the parts: connections that are kept, evidence of the caller's, progress.
#pragma once

#include "pirx/client/fetch_single.h"

namespace pirx::client {

/// The records at these positions; no server learns which (while at most the deployment's threshold of
/// several servers pool what they see). `deadline` is for each query; nothing: 10 s, and 10 minutes where
/// there is one server only, which computes for long. InvalidArgument: more than kMaxRecordsPerRound
/// records, or a plan that hides nothing (check_keys). Else errors of Fetcher::fetch and fetch_records.
Result<FetchReport> retrieve(const AnyDeployment& deployment, std::span<const std::uint64_t> records,
                             std::optional<std::chrono::milliseconds> deadline = {});
/// The same by key, from a keyed database: FetchReport::missing has the keys without a record.
Result<FetchReport> retrieve_keys(const AnyDeployment& deployment, std::span<const std::string> keys,
                                  std::optional<std::chrono::milliseconds> deadline = {});

}  // namespace pirx::client
