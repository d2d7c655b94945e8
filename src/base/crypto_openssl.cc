// SPDX-License-Identifier: Apache-2.0
// SHA-256, AES-128 and AES-256-CTR through OpenSSL's EVP interface, which picks the CPU's instructions for
// them.
#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <new>

#include "pirx/base/rng.h"
#include "pirx/base/sha256.h"
#include "src/base/aes128.h"

namespace pirx {
namespace {

/// Looked up once: for short records the look-up by name would cost as much as the hash.
const EVP_MD* sha256_algorithm() {
  static const EVP_MD* const md = [] {
    const auto* found = EVP_MD_fetch(nullptr, "SHA256", nullptr);
    if (found == nullptr) throw std::bad_alloc();
    return found;
  }();
  return md;
}

EVP_MD_CTX* evp(detail::Sha256Context* context) { return reinterpret_cast<EVP_MD_CTX*>(context); }
EVP_CIPHER_CTX* evp(detail::AesContext* cipher) { return reinterpret_cast<EVP_CIPHER_CTX*>(cipher); }

}  // namespace

void Sha256::Free::operator()(detail::Sha256Context* context) const noexcept {
  EVP_MD_CTX_free(evp(context));
}

Sha256::Sha256() : context_(reinterpret_cast<detail::Sha256Context*>(EVP_MD_CTX_new())) {
  if (context_ == nullptr || EVP_DigestInit_ex(evp(context_.get()), sha256_algorithm(), nullptr) != 1) {
    throw std::bad_alloc();
  }
}

void Sha256::update(ByteSpan bytes) {
  PIRX_CHECK(EVP_DigestUpdate(evp(context_.get()), bytes.data(), bytes.size()) == 1);
}

Digest Sha256::finish() && {
  Digest digest{};
  unsigned length = 0;
  PIRX_CHECK(
      EVP_DigestFinal_ex(evp(context_.get()), reinterpret_cast<unsigned char*>(digest.data()), &length) == 1);
  PIRX_CHECK(length == digest.size());
  return digest;
}

void SeedStream::Free::operator()(detail::AesContext* cipher) const noexcept {
  EVP_CIPHER_CTX_free(evp(cipher));
}

SeedStream::SeedStream(std::span<const std::byte, kSeedBytes> seed)
    : cipher_(reinterpret_cast<detail::AesContext*>(EVP_CIPHER_CTX_new())) {
  const std::array<unsigned char, 16> iv{};
  if (cipher_ == nullptr ||
      EVP_EncryptInit_ex(evp(cipher_.get()), EVP_aes_256_ctr(), nullptr,
                         reinterpret_cast<const unsigned char*>(seed.data()), iv.data()) != 1) {
    throw std::bad_alloc();
  }
}

void SeedStream::fill(MutableByteSpan out) {
  constexpr std::size_t kChunk = std::size_t{1} << 20;
  while (!out.empty()) {
    const auto chunk = out.first(std::min(out.size(), kChunk));
    std::fill(chunk.begin(), chunk.end(), std::byte{0});
    auto* bytes = reinterpret_cast<unsigned char*>(chunk.data());
    int written = 0;
    PIRX_CHECK(
        EVP_EncryptUpdate(evp(cipher_.get()), bytes, &written, bytes, static_cast<int>(chunk.size())) == 1);
    PIRX_CHECK(static_cast<std::size_t>(written) == chunk.size());
    out = out.subspan(chunk.size());
  }
}

void Aes128::Free::operator()(Cipher* cipher) const noexcept {
  EVP_CIPHER_CTX_free(reinterpret_cast<EVP_CIPHER_CTX*>(cipher));
}

Aes128::Aes128(std::span<const std::byte, 16> key)
    : cipher_(reinterpret_cast<Cipher*>(EVP_CIPHER_CTX_new())) {
  auto* cipher = reinterpret_cast<EVP_CIPHER_CTX*>(cipher_.get());
  if (cipher == nullptr ||
      EVP_EncryptInit_ex(cipher, EVP_aes_128_ecb(), nullptr,
                         reinterpret_cast<const unsigned char*>(key.data()), nullptr) != 1) {
    throw std::bad_alloc();
  }
  PIRX_CHECK(EVP_CIPHER_CTX_set_padding(cipher, 0) == 1);
}

void Aes128::encrypt(ByteSpan in, MutableByteSpan out) {
  PIRX_CHECK(in.size() == out.size() && in.size() % kBlockBytes == 0);
  auto* cipher = reinterpret_cast<EVP_CIPHER_CTX*>(cipher_.get());
  constexpr std::size_t kChunk = std::size_t{1} << 20;  // an int counts the bytes of a call
  while (!in.empty()) {
    const std::size_t size = std::min(in.size(), kChunk);
    int written = 0;
    PIRX_CHECK(EVP_EncryptUpdate(cipher, reinterpret_cast<unsigned char*>(out.data()), &written,
                                 reinterpret_cast<const unsigned char*>(in.data()),
                                 static_cast<int>(size)) == 1 &&
               static_cast<std::size_t>(written) == size);
    in = in.subspan(size);
    out = out.subspan(size);
  }
}

}  // namespace pirx
