// Private retrieval in one call. Fetcher has the parts: keys that are kept, options, evidence of the
// caller's, progress.
#pragma once

#include "pirx/client/fetch.h"

namespace pirx::client {

/// The records at these positions; no server learns which (while at most the deployment's threshold of
/// several servers pool what they see). Errors of Fetcher::create and Fetcher::fetch.
Result<FetchReport> retrieve(const Deployment& deployment, std::span<const std::uint64_t> positions,
                             const FetchOptions& options = {});
/// The same by key, from a keyed database: FetchReport::answer.missing has the keys without a record.
Result<FetchReport> retrieve_keys(const Deployment& deployment, std::span<const std::string> keys,
                                  const FetchOptions& options = {});

}  // namespace pirx::client
