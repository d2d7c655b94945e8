// SPDX-License-Identifier: Apache-2.0
// Makes the server's TLS context.
#pragma once

#include <boost/asio/ssl/context.hpp>

#include "pirx/http/http_server.h"

namespace pirx::http {

/// TLS 1.3 (1.2 too with tls_allow_1_2) with the certificate chain and key of `options`, no tickets, no
/// session cache: a server has nothing by which to link two connections. With tls_client_ca_file clients must
/// show a certificate that these authorities made. Unauthenticated when a file cannot be used.
Result<boost::asio::ssl::context> make_tls_context(const HttpServerOptions& options);

/// With such a context a handshake stops once the client's hello is read, before anything is computed for it:
/// it fails, and waits_for_turn() is true. After give_turn(), begin it again, and it goes on from there.
bool waits_for_turn(SSL* connection) noexcept;
void give_turn(SSL* connection, bool turn = true) noexcept;

/// SHA-256 of the subject of the certificate that the peer has shown; empty when it has shown none.
std::string client_subject(SSL* connection);

}  // namespace pirx::http
