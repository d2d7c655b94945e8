// SPDX-License-Identifier: Apache-2.0
// Bounds what a peer of a TLS connection sends beside data, for clients and servers.
#pragma once

#include <openssl/ssl.h>

#include "pirx/base/bytes.h"

namespace pirx::http {

/// Whether a key in these certificates (DER) may be on an elliptic curve that the certificate itself defines
/// by its prime and coefficients. OpenSSL may take half a second to read such a key. Certificates of real
/// authorities have named curves, such as P-256.
bool has_curve_of_its_own(ByteSpan certificates) noexcept;

/// Whether the point of a key on an elliptic curve is compressed. OpenSSL takes up to six times as long for
/// such a key, as it computes a root. Each key of such a curve (RFC 5480) has the name of its kind, the name
/// of its curve, and a string of bits, which begins with 4 if the point is whole. Lengths that are longer
/// than DER has them are refused, too.
bool has_compressed_key(ByteSpan certificates) noexcept;

/// Takes each connection of this context for closed once its peer has sent more messages and records that are
/// no data than any handshake and its tickets need. OpenSSL reads on for as long as such messages come: its
/// caller looks at no deadline meanwhile, and each of them costs it a key. And bounds chains of certificates,
/// each of which may take it 8 ms to verify, and refuses those that take long to read: with curves of their
/// own and with compressed keys.
void bound_tls_messages(SSL_CTX* context) noexcept;

}  // namespace pirx::http
