// SPDX-License-Identifier: Apache-2.0
// Private retrieval in one call. For several retrievals use a Fetcher: it keeps the client's keys, and takes
// the protocol's client options.
#pragma once

#include "pirx/client/fetch.h"

namespace pirx::client {

/// The records at these positions. No server learns which. (With several servers this holds while no more
/// than the deployment's threshold of them pool what they see.) Errors are those of Fetcher::create and
/// Fetcher::fetch.
Result<FetchReport> retrieve(const Deployment& deployment, std::span<const std::uint64_t> positions,
                             const FetchOptions& options = {});
/// The same by key, from a keyed database: FetchReport::answer.missing has the keys without a record.
Result<FetchReport> retrieve_keys(const Deployment& deployment, std::span<const std::string> keys,
                                  const FetchOptions& options = {});

}  // namespace pirx::client
