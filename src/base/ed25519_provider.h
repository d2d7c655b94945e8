// SPDX-License-Identifier: Apache-2.0
// What checks a signature: OpenSSL, or our own code where there is none.
#pragma once

#include "pirx/base/ed25519.h"

namespace pirx::ed25519 {

/// As verify(), for bytes that are is_key().
bool provider_verify(const PublicKey& key, ByteSpan message, const Signature& signature);

}  // namespace pirx::ed25519
