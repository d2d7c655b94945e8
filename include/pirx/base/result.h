// Errors as values. Bad input and bad peers yield a Result; a broken contract inside the library is a
// PIRX_CHECK.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>

namespace pirx {

enum class ErrorCode : std::uint8_t {
  kInvalidArgument = 1,
  kOutOfRange = 2,
  kDataLoss = 3,
  kUnavailable = 4,
  kResourceExhausted = 5,
  kUnauthenticated = 6,
  kStaleEpoch = 7,
  kUndecodable = 8,
  kInternal = 9,
};

/// "InvalidArgument", ... : the stable name used in logs, JSON and exit messages.
std::string_view error_code_name(ErrorCode code) noexcept;

/// What was wrong and what to do about it. Never holds a secret: no index, no share, no record.
class [[nodiscard]] Error {
 public:
  Error(ErrorCode code, std::string message) : code_(code), message_(std::move(message)) {}
  ErrorCode code() const noexcept { return code_; }
  const std::string& message() const noexcept { return message_; }
  /// "InvalidArgument: message".
  std::string to_string() const;

 private:
  ErrorCode code_;
  std::string message_;
};

template <class T>
using Result = tl::expected<T, Error>;

/// For `return fail(ErrorCode::kDataLoss, "...")` out of any function that returns a Result.
inline tl::unexpected<Error> fail(ErrorCode code, std::string message) {
  return tl::unexpected<Error>(Error(code, std::move(message)));
}

/// The same for a caller's mistake: `return invalid("...")`.
inline tl::unexpected<Error> invalid(std::string message) {
  return fail(ErrorCode::kInvalidArgument, std::move(message));
}

namespace detail {
[[noreturn]] void check_failed(const char* condition, const char* file, int line) noexcept;
}

}  // namespace pirx

/// A contract of the library itself: false is a bug in pirx, never something a peer or a file can cause.
/// Aborts.
#define PIRX_CHECK(condition) \
  ((condition) ? static_cast<void>(0) : ::pirx::detail::check_failed(#condition, __FILE__, __LINE__))

/// Like PIRX_CHECK, but only in builds with PIRX_VERIFY (debug preset): for checks too dear to ship.
#if defined(PIRX_VERIFY)
#define PIRX_VERIFY_CHECK(condition) PIRX_CHECK(condition)
#else
#define PIRX_VERIFY_CHECK(condition) static_cast<void>(0)
#endif

#define PIRX_CONCAT_INNER(a, b) a##b
#define PIRX_CONCAT(a, b) PIRX_CONCAT_INNER(a, b)

/// PIRX_TRY(expr): returns the error of a Result<void> expression from the enclosing function.
#define PIRX_TRY(expr)                                                                                \
  do {                                                                                                \
    auto pirx_try_result = (expr);                                                                    \
    if (!pirx_try_result) return ::tl::unexpected<::pirx::Error>(std::move(pirx_try_result).error()); \
  } while (false)

/// PIRX_ASSIGN(auto x, expr): binds the value of a Result<T> expression or returns its error.
#define PIRX_ASSIGN(lhs, expr) PIRX_ASSIGN_INNER(PIRX_CONCAT(pirx_assign_, __LINE__), lhs, expr)
#define PIRX_ASSIGN_INNER(tmp, lhs, expr)                                   \
  auto tmp = (expr);                                                        \
  if (!tmp) return ::tl::unexpected<::pirx::Error>(std::move(tmp).error()); \
  lhs = std::move(*tmp)
