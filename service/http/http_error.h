// SPDX-License-Identifier: Apache-2.0
// An Error in HTTP: its status, its JSON body and its header, written and read. Server and client share
// this file.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "pirx/base/bytes.h"

namespace pirx::http {

/// Names the ErrorCode of a refusal; its value is error_code_name().
inline constexpr char kErrorHeader[] = "Pirx-Error";
/// Of a query: after so many milliseconds its client will not wait any longer.
inline constexpr char kTimeoutHeader[] = "Pirx-Timeout";
/// Of every reply: a random name that a server draws when it starts, 32 hexadecimal digits.
inline constexpr char kInstanceHeader[] = "Pirx-Instance";
inline constexpr char kOctetStream[] = "application/octet-stream";

/// 400 for a bad request, 401, 409 (StaleEpoch), 429, 503, 500.
unsigned http_status(ErrorCode code) noexcept;

/// No longer parameters message goes with a refusal: its hexadecimal form is to fit what clients take of one.
inline constexpr std::size_t kMaxRefusalParameters = 6 * 1024;

/// {"error":{"code":"StaleEpoch","message":"..."}}; with parameters, that is those of now, also
/// "epoch":8,"parameters":"<hexadecimal>".
std::string error_body(const Error& error, ByteSpan parameters = {});

/// The message in an error_body(), empty when `body` is something else. At most `limit` printable ASCII
/// characters.
std::string error_message(std::string_view body, std::size_t limit);

/// The parameters message in an error_body(), as far as parameters_epoch() tells; empty when there is none.
Bytes error_parameters(std::string_view body);

/// The code whose error_code_name() is `name`.
std::optional<ErrorCode> error_code_from_name(std::string_view name) noexcept;

}  // namespace pirx::http
