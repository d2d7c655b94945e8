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

struct Sha256::State {
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  ~State() { EVP_MD_CTX_free(context); }
};

Sha256::Sha256() : state_(std::make_unique<State>()) {
  PIRX_CHECK(state_->context != nullptr && EVP_DigestInit_ex(state_->context, algorithm(), nullptr) == 1);
}
Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;
Sha256::~Sha256() = default;

void Sha256::update(ByteSpan bytes) {
  PIRX_CHECK(EVP_DigestUpdate(state_->context, bytes.data(), bytes.size()) == 1);
}

Digest Sha256::finish() && {
  Digest digest{};
  unsigned length = 0;
  PIRX_CHECK(EVP_DigestFinal_ex(state_->context, reinterpret_cast<unsigned char*>(digest.data()), &length) ==
             1);
  PIRX_CHECK(length == digest.size());
  return digest;
}

Digest sha256(ByteSpan bytes) {
  Sha256 hash;
  hash.update(bytes);
  return std::move(hash).finish();
}

}  // namespace pirx
