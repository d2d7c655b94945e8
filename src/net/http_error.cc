// Status numbers, JSON error bodies, and the careful reading of both.
#include "http_error.h"

#include <nlohmann/json.hpp>

namespace pirx::net {

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

std::string error_body(const Error& error) {
  const nlohmann::json body = {
      {"error", {{"code", error_code_name(error.code())}, {"message", error.message()}}}};
  return body.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string error_message(std::string_view body, std::size_t limit) {
  const auto json = nlohmann::json::parse(body, nullptr, false);
  if (!json.is_object() || !json.contains("error")) return {};
  const auto& error = json["error"];
  if (!error.is_object() || !error.contains("message") || !error["message"].is_string()) return {};
  return printable(error["message"].get_ref<const std::string&>(), limit);
}

std::optional<ErrorCode> error_code_from_name(std::string_view name) noexcept {
  for (auto number = static_cast<unsigned>(ErrorCode::kInvalidArgument);
       number <= static_cast<unsigned>(ErrorCode::kInternal); ++number) {
    const auto code = static_cast<ErrorCode>(number);
    if (error_code_name(code) == name) return code;
  }
  return std::nullopt;
}

std::string printable(std::string_view text, std::size_t limit) {
  std::string out(text.substr(0, limit));
  for (auto& c : out) {
    if (c < 0x20 || c > 0x7E) c = '?';
  }
  return out;
}

}  // namespace pirx::net
