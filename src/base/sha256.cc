// SPDX-License-Identifier: Apache-2.0
// SHA-256 through OpenSSL's EVP interface, which picks the CPU's SHA instructions.
#include "pirx/base/sha256.h"

#include <openssl/evp.h>

namespace pirx {
namespace {

/// Looked up once: for short records the look-up by name would cost as much as the hash.
const EVP_MD* algorithm() {
  static const EVP_MD* const md = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  return md;
}

}  // namespace

void Sha256::Free::operator()(evp_md_ctx_st* context) const noexcept { EVP_MD_CTX_free(context); }

Sha256::Sha256() : context_(EVP_MD_CTX_new()) {
  PIRX_CHECK(context_ != nullptr && EVP_DigestInit_ex(context_.get(), algorithm(), nullptr) == 1);
}

void Sha256::update(ByteSpan bytes) {
  PIRX_CHECK(EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()) == 1);
}

Digest Sha256::finish() && {
  Digest digest{};
  unsigned length = 0;
  PIRX_CHECK(EVP_DigestFinal_ex(context_.get(), reinterpret_cast<unsigned char*>(digest.data()), &length) ==
             1);
  PIRX_CHECK(length == digest.size());
  return digest;
}

Digest sha256(ByteSpan bytes) { return sha256_of({bytes}); }

Digest sha256_of(std::initializer_list<ByteSpan> parts) {
  Sha256 hash;
  for (const ByteSpan part : parts) hash.update(part);
  return std::move(hash).finish();
}

}  // namespace pirx
