// SPDX-License-Identifier: Apache-2.0
// Bearer tokens of the clients that may ask. The server keeps digests of them.
#pragma once

#include <filesystem>
#include <string_view>

#include "pirx/http/http_server.h"

namespace pirx::http {

/// Makes HttpServerOptions::authenticate from lines "NAME DIGEST". NAME has 1 to 64 letters, digits and "-",
/// "_", "."; DIGEST is the SHA-256 of the token in 64 hexadecimal digits. Empty lines and those that begin
/// with "#" are skipped. A digest does not protect a token that can be guessed: make tokens of 16 random
/// bytes or more. The time of a look-up depends only on the number of tokens.
/// DataLoss: a line is malformed, a name or digest is repeated, or there is none; the message names the line
/// but not its content.
Result<Authenticate> parse_tokens(std::string_view text);
/// The same from a file of at most 1 MiB. Unavailable: the file cannot be read.
Result<Authenticate> load_tokens(const std::filesystem::path& path);

}  // namespace pirx::http
