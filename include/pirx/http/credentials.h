// SPDX-License-Identifier: Apache-2.0
// What a client shows to servers that do not answer everyone.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "pirx/base/result.h"
#include "pirx/http/endpoint.h"

namespace pirx::http {

struct Credentials {
  std::string token_file, certificate_file, key_file;  ///< empty: not given
};

/// Gives every endpoint the certificate, and its token: the file has lines "URL TOKEN", URL being scheme,
/// host and port as in the endpoint's; or, for one server only, a token alone. (Several servers that get the
/// same token could each ask the others in the client's name.) Unavailable: the file cannot be read.
/// InvalidArgument names a line that is wrong, and never what is in it.
Result<void> give_credentials(const Credentials& credentials, std::span<Endpoint> endpoints);
/// The same from the text of the file.
Result<void> give_tokens(std::string_view text, std::span<Endpoint> endpoints);

}  // namespace pirx::http
