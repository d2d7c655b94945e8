// Bearer tokens: who may ask, kept as digests.
#pragma once

#include <filesystem>
#include <string_view>

#include "pirx/http/http_server.h"

namespace pirx::http {

/// For HttpServerOptions::authenticate, from lines "NAME DIGEST": 1 to 64 letters, digits, '-', '_' and '.',
/// a blank, and the SHA-256 of the token in 64 hexadecimal digits. Empty lines and those that begin with '#'
/// are left out. Names and digests are there once, and at least one. A token is looked for in time that
/// depends on the number of tokens only. The digest is no protection for tokens that can be guessed: make
/// them of 16 random bytes or more. DataLoss names the line, and never what is in it.
Result<Authenticate> parse_tokens(std::string_view text);
/// The same from a file of at most 1 MiB. Unavailable: it cannot be read.
Result<Authenticate> load_tokens(const std::filesystem::path& path);

}  // namespace pirx::http
