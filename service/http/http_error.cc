// SPDX-License-Identifier: Apache-2.0
// Translates errors to HTTP status numbers and JSON bodies, and reads both with care.
#include "http_error.h"

#include "pirx/base/json.h"
#include "pirx/base/printable.h"
#include "pirx/protocol.h"

namespace pirx::http {
namespace {

/// A text in the object "error" of a refusal's body, which may be anything; empty when there is none.
std::string error_text(std::string_view body, const char* name) {
  const auto json = Json::parse(body, {});
  return json ? (*json)["error"][name].string().value_or("") : "";
}

}  // namespace

unsigned http_status(ErrorCode code) noexcept {
  switch (code) {
    case ErrorCode::kInvalidArgument:
    case ErrorCode::kOutOfRange:
    case ErrorCode::kDataLoss:
      return 400;
    case ErrorCode::kUnavailable:
      return 503;
    case ErrorCode::kResourceExhausted:
      return 429;
    case ErrorCode::kUnauthenticated:
      return 401;
    case ErrorCode::kStaleEpoch:
      return 409;
    case ErrorCode::kUndecodable:
    case ErrorCode::kInternal:
      break;
  }
  return 500;
}

std::string error_body(const Error& error, ByteSpan parameters) {
  OutJson refusal = {{"code", error_code_name(error.code())}};
  const auto epoch = parameters_epoch(parameters);
  const bool tells = epoch && parameters.size() <= kMaxRefusalParameters;
  if (tells) refusal["epoch"] = *epoch;
  refusal["message"] = error.message();
  if (tells) refusal["parameters"] = to_hex(parameters);
  return OutJson{{"error", std::move(refusal)}}.dump();
}

std::string error_message(std::string_view body, std::size_t limit) {
  return printable_ascii(error_text(body, "message"), limit);
}

Bytes error_parameters(std::string_view body) {
  const auto text = error_text(body, "parameters");
  if (text.size() > 2 * kMaxRefusalParameters) return {};
  auto parameters = from_hex(text);
  if (!parameters || !parameters_epoch(*parameters)) return {};
  return std::move(*parameters);
}

std::optional<ErrorCode> error_code_from_name(std::string_view name) noexcept {
  for (auto number = static_cast<unsigned>(ErrorCode::kInvalidArgument);
       number <= static_cast<unsigned>(ErrorCode::kInternal); ++number) {
    const auto code = static_cast<ErrorCode>(number);
    if (error_code_name(code) == name) return code;
  }
  return std::nullopt;
}

}  // namespace pirx::http
