// SPDX-License-Identifier: Apache-2.0
// One client for one retrieval.
#include "pirx/client/retrieve.h"

namespace pirx::client {

Result<FetchReport> retrieve(const Deployment& deployment, std::span<const std::uint64_t> positions,
                             const FetchOptions& options) {
  PIRX_ASSIGN(auto fetcher, Fetcher::create(deployment));
  return fetcher.fetch(positions, options);
}

Result<FetchReport> retrieve_keys(const Deployment& deployment, std::span<const std::string> keys,
                                  const FetchOptions& options) {
  PIRX_ASSIGN(auto fetcher, Fetcher::create(deployment));
  return fetcher.fetch_keys(keys, options);
}

}  // namespace pirx::client
