// SPDX-License-Identifier: Apache-2.0
// Errors as values. Bad input and bad peers give an Error in a Result. A broken contract inside the library
// ends the process (PIRX_CHECK).
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

/// The name of a code, such as "InvalidArgument". Logs, JSON and messages use it, and it does not change.
std::string_view error_code_name(ErrorCode code) noexcept;

/// Says what was wrong and what to do about it. It never holds a secret: no position, no key, no share, no
/// record.
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

/// Makes the error for `return fail(ErrorCode::kDataLoss, "...")` in a function that returns a Result.
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

/// Aborts if the condition is false. That is a bug in pirx or in the caller, never something that a peer or a
/// file can cause.
#define PIRX_CHECK(condition) \
  ((condition) ? static_cast<void>(0) : ::pirx::detail::check_failed(#condition, __FILE__, __LINE__))

/// Like PIRX_CHECK, but only in builds with PIRX_VERIFY (the debug preset), for checks that take too long.
#if defined(PIRX_VERIFY)
#define PIRX_VERIFY_CHECK(condition) PIRX_CHECK(condition)
#else
#define PIRX_VERIFY_CHECK(condition) static_cast<void>(0)
#endif

#define PIRX_CONCAT_INNER(a, b) a##b
#define PIRX_CONCAT(a, b) PIRX_CONCAT_INNER(a, b)

/// PIRX_TRY(expr): if the Result<void> `expr` is an error, returns that error from the enclosing function.
#define PIRX_TRY(expr)                                                                                \
  do {                                                                                                \
    auto pirx_try_result = (expr);                                                                    \
    if (!pirx_try_result) return ::tl::unexpected<::pirx::Error>(std::move(pirx_try_result).error()); \
  } while (false)

/// PIRX_ASSIGN(auto x, expr): `auto x =` the value of the Result<T> `expr`, or returns its error from the
/// enclosing function.
#define PIRX_ASSIGN(lhs, expr) PIRX_ASSIGN_INNER(PIRX_CONCAT(pirx_assign_, __LINE__), lhs, expr)
#define PIRX_ASSIGN_INNER(tmp, lhs, expr)                                   \
  auto tmp = (expr);                                                        \
  if (!tmp) return ::tl::unexpected<::pirx::Error>(std::move(tmp).error()); \
  lhs = std::move(*tmp)
