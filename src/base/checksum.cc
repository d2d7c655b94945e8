// SPDX-License-Identifier: Apache-2.0
// Computes checksums with OpenSSL's Poly1305, which is vectorized on every CPU. SHA-256 would take longer
// than preparing a database again.
#include "src/base/checksum.h"

#include <openssl/evp.h>

#include <memory>

#include "pirx/base/sha256.h"

namespace pirx {

Result<Checksum> checksum(ByteSpan bytes) {
  static EVP_MAC* const algorithm = EVP_MAC_fetch(nullptr, "POLY1305", nullptr);
  static const Digest key = sha256(as_bytes("pirx checksum v1"));
  const std::unique_ptr<EVP_MAC_CTX, decltype(&EVP_MAC_CTX_free)> context(
      algorithm == nullptr ? nullptr : EVP_MAC_CTX_new(algorithm), &EVP_MAC_CTX_free);
  const auto* from = reinterpret_cast<const unsigned char*>(bytes.data());
  Checksum result{};
  std::size_t length = 0;
  if (context == nullptr ||
      EVP_MAC_init(context.get(), reinterpret_cast<const unsigned char*>(key.data()), key.size(), nullptr) !=
          1 ||
      (!bytes.empty() && EVP_MAC_update(context.get(), from, bytes.size()) != 1) ||
      EVP_MAC_final(context.get(), reinterpret_cast<unsigned char*>(result.data()), &length, result.size()) !=
          1 ||
      length != result.size()) {
    return fail(ErrorCode::kUnavailable, "this system's OpenSSL offers no Poly1305");
  }
  return result;
}

}  // namespace pirx
