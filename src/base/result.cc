// Names of error codes, and the end of the process after a broken contract.
#include "pirx/base/result.h"

#include <cstdio>
#include <cstdlib>

namespace pirx {

std::string_view error_code_name(ErrorCode code) noexcept {
  switch (code) {
    case ErrorCode::kInvalidArgument:
      return "InvalidArgument";
    case ErrorCode::kOutOfRange:
      return "OutOfRange";
    case ErrorCode::kDataLoss:
      return "DataLoss";
    case ErrorCode::kUnavailable:
      return "Unavailable";
    case ErrorCode::kResourceExhausted:
      return "ResourceExhausted";
    case ErrorCode::kUnauthenticated:
      return "Unauthenticated";
    case ErrorCode::kStaleEpoch:
      return "StaleEpoch";
    case ErrorCode::kUndecodable:
      return "Undecodable";
    case ErrorCode::kInternal:
      return "Internal";
  }
  return "Internal";
}

std::string Error::to_string() const { return std::string(error_code_name(code_)) + ": " + message_; }

namespace detail {
void check_failed(const char* condition, const char* file, int line) noexcept {
  std::fprintf(stderr, "pirx: broken contract: %s (%s:%d)\n", condition, file, line);
  std::abort();
}
}  // namespace detail

}  // namespace pirx
