// SPDX-License-Identifier: Apache-2.0
// Ed25519 from our own code, where there is no OpenSSL.
#include "src/base/ed25519_portable.h"

#include "src/base/ed25519_provider.h"

namespace pirx::ed25519 {

bool provider_verify(const PublicKey& key, ByteSpan message, const Signature& signature) {
  return portable::verify_ed25519(key, message, signature);
}

}  // namespace pirx::ed25519
