// Several servers or one.
#include "pirx/client/retrieve.h"

namespace pirx::client {
namespace {

template <class Several, class One>
Result<FetchReport> with(const AnyDeployment& deployment, std::optional<std::chrono::milliseconds> deadline,
                         const Several& several, const One& one) {
  if (const auto* single = std::get_if<SingleDeployment>(&deployment)) {
    PIRX_TRY(check_keys(*single, false));
    SingleOptions options;
    options.deadline = deadline.value_or(options.deadline);
    return one(*single, options);
  }
  PIRX_ASSIGN(auto fetcher, Fetcher::create(std::get<Deployment>(deployment)));
  FetchOptions options;
  options.deadline = deadline.value_or(options.deadline);
  return several(fetcher, options);
}

}  // namespace

Result<FetchReport> retrieve(const AnyDeployment& deployment, std::span<const std::uint64_t> records,
                             std::optional<std::chrono::milliseconds> deadline) {
  return with(
      deployment, deadline,
      [&](Fetcher& fetcher, const FetchOptions& options) { return fetcher.fetch(records, options); },
      [&](const SingleDeployment& single, const SingleOptions& options) {
        return fetch_records(single, records, options);
      });
}

Result<FetchReport> retrieve_keys(const AnyDeployment& deployment, std::span<const std::string> keys,
                                  std::optional<std::chrono::milliseconds> deadline) {
  return with(
      deployment, deadline,
      [&](Fetcher& fetcher, const FetchOptions& options) { return fetcher.fetch_keys(keys, options); },
      [&](const SingleDeployment& single, const SingleOptions& options) {
        return fetch_keys(single, keys, options);
      });
}

}  // namespace pirx::client
