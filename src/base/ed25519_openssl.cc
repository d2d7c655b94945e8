// SPDX-License-Identifier: Apache-2.0
// Ed25519 through OpenSSL's EVP interface.
#include <openssl/evp.h>
#include <openssl/pem.h>

#include <memory>
#include <new>

#include "pirx/base/rng.h"
#include "src/base/ed25519_provider.h"

namespace pirx::ed25519 {
namespace {

using Key = std::unique_ptr<EVP_PKEY, decltype([](EVP_PKEY* key) { EVP_PKEY_free(key); })>;
using Work = std::unique_ptr<EVP_MD_CTX, decltype([](EVP_MD_CTX* work) { EVP_MD_CTX_free(work); })>;
using Text = std::unique_ptr<BIO, decltype([](BIO* text) { BIO_free(text); })>;

const unsigned char* raw(ByteSpan bytes) { return reinterpret_cast<const unsigned char*>(bytes.data()); }

template <class T>
T made(T object) {
  if (object == nullptr) throw std::bad_alloc();
  return object;
}

Key key_of(const Seed& seed) {
  const auto& bytes = seed.expose();
  return made(Key(EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nullptr, raw(bytes), bytes.size())));
}

/// No passphrase is asked for.
int no_passphrase(char*, int, int, void*) { return -1; }

}  // namespace

bool provider_verify(const PublicKey& key, ByteSpan message, const Signature& signature) {
  const Key loaded(EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, raw(key), key.size()));
  if (loaded == nullptr) return false;
  const Work work = made(Work(EVP_MD_CTX_new()));
  return EVP_DigestVerifyInit(work.get(), nullptr, nullptr, nullptr, loaded.get()) == 1 &&
         EVP_DigestVerify(work.get(), raw(signature), signature.size(), raw(message), message.size()) == 1;
}

Result<Seed> new_seed() {
  PIRX_ASSIGN(auto rng, Rng::from_os());
  Seed seed;
  rng.fill(seed.expose());
  return seed;
}

PublicKey public_key(const Seed& seed) {
  PublicKey key;
  std::size_t size = key.size();
  PIRX_CHECK(EVP_PKEY_get_raw_public_key(key_of(seed).get(), reinterpret_cast<unsigned char*>(key.data()),
                                         &size) == 1 &&
             size == key.size());
  return key;
}

Signature sign(const Seed& seed, ByteSpan message) {
  const Key key = key_of(seed);
  const Work work = made(Work(EVP_MD_CTX_new()));
  Signature signature;
  std::size_t size = signature.size();
  PIRX_CHECK(EVP_DigestSignInit(work.get(), nullptr, nullptr, nullptr, key.get()) == 1 &&
             EVP_DigestSign(work.get(), reinterpret_cast<unsigned char*>(signature.data()), &size,
                            raw(message), message.size()) == 1 &&
             size == signature.size());
  return signature;
}

Bytes to_pem(const Seed& seed) {
  const Key key = key_of(seed);
  const Text text = made(Text(BIO_new(BIO_s_secmem())));
  PIRX_CHECK(PEM_write_bio_PKCS8PrivateKey(text.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr) ==
             1);
  char* begin = nullptr;
  const auto size = BIO_get_mem_data(text.get(), &begin);
  PIRX_CHECK(size > 0);
  const auto* bytes = reinterpret_cast<const std::byte*>(begin);
  return Bytes(bytes, bytes + size);
}

Result<Seed> from_pem(std::string_view text) {
  if (text.size() > std::size_t{1} << 16) return invalid("the key file is longer than any key");
  const Text source = made(Text(BIO_new_mem_buf(text.data(), static_cast<int>(text.size()))));
  const Key key(PEM_read_bio_PrivateKey(source.get(), nullptr, no_passphrase, nullptr));
  Seed seed;
  std::size_t size = seed.expose().size();
  if (key == nullptr || EVP_PKEY_get_base_id(key.get()) != EVP_PKEY_ED25519 ||
      EVP_PKEY_get_raw_private_key(key.get(), reinterpret_cast<unsigned char*>(seed.expose().data()),
                                   &size) != 1 ||
      size != seed.expose().size()) {
    return invalid("there is no Ed25519 private key in PEM without a passphrase");
  }
  return seed;
}

}  // namespace pirx::ed25519
