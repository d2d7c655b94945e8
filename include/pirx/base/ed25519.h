// SPDX-License-Identifier: Apache-2.0
// Ed25519 signatures (RFC 8032): checking them everywhere, making them where there is OpenSSL.
#pragma once

#include <array>

#include "pirx/base/bytes.h"
#include "pirx/base/secret.h"

namespace pirx::ed25519 {

using PublicKey = std::array<std::byte, 32>;
using Signature = std::array<std::byte, 64>;
/// The secret from which everything else of a key follows.
using Seed = Secret<std::array<std::byte, 32>>;

/// Whether 32 bytes can be a public key: their number is below the prime, and they are none of the points of
/// small order, under which anybody can sign. Only verify() finds out whether they are a point at all.
bool is_key(const PublicKey& key) noexcept;
/// Whether whoever holds the secret of `key` signed the message. Also false if `key` is no key, or if the
/// signature has a form that signing never gives. All arguments are public, and the time depends on them.
bool verify(const PublicKey& key, ByteSpan message, const Signature& signature);

// The rest is not in a client without OpenSSL.

/// A new secret. Unavailable: the operating system gives no randomness.
Result<Seed> new_seed();
PublicKey public_key(const Seed& seed);
Signature sign(const Seed& seed, ByteSpan message);
/// The secret as a private key in PEM (PKCS #8, not encrypted), as `openssl genpkey -algorithm ed25519`
/// writes it.
Bytes to_pem(const Seed& seed);
/// InvalidArgument: there is no such key in the text, or it is encrypted.
Result<Seed> from_pem(std::string_view text);

}  // namespace pirx::ed25519
