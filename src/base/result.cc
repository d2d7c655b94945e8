// SPDX-License-Identifier: Apache-2.0
// Names of error codes, and the end of the process after a broken contract.
#include "pirx/base/result.h"

#include <cstdio>
#include <cstdlib>
#include <iterator>

namespace pirx {

std::string_view error_code_name(ErrorCode code) noexcept {
  constexpr std::string_view kNames[] = {"InvalidArgument", "OutOfRange",        "DataLoss",
                                         "Unavailable",     "ResourceExhausted", "Unauthenticated",
                                         "StaleEpoch",      "Undecodable",       "Internal"};
  static_assert(std::size(kNames) == static_cast<std::size_t>(ErrorCode::kInternal));
  const std::size_t at = static_cast<std::size_t>(code) - 1;
  return at < std::size(kNames) ? kNames[at] : kNames[std::size(kNames) - 1];
}

std::string Error::to_string() const { return std::string(error_code_name(code_)) + ": " + message_; }

namespace detail {
void check_failed(const char* condition, const char* file, int line) noexcept {
  std::fprintf(stderr, "pirx: broken contract: %s (%s:%d)\n", condition, file, line);
  std::abort();
}
}  // namespace detail

}  // namespace pirx
