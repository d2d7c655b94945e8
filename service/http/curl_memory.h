// SPDX-License-Identifier: Apache-2.0
// Wipes the copies of requests and replies that libcurl and OpenSSL make.
#pragma once

#include <curl/curl.h>

namespace pirx::http {

/// curl_global_init with secret memory (pirx/base/secret_memory.h) for all that libcurl holds, unless the
/// application has initialised libcurl already: then with the application's.
CURLcode start_curl() noexcept;

/// Has OpenSSL wipe the plaintext of replies that it has handed on, and end connections of servers that send
/// messages of TLS without end; nothing where libcurl has another TLS.
void set_up_tls(CURL* easy) noexcept;

}  // namespace pirx::http
