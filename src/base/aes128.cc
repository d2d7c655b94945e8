// SPDX-License-Identifier: Apache-2.0
// AES-128 by OpenSSL, which keeps several blocks in flight in the processor's AES unit.
#include "src/base/aes128.h"

#include <openssl/evp.h>

#include <algorithm>

namespace pirx {

void Aes128::Free::operator()(evp_cipher_ctx_st* cipher) const noexcept { EVP_CIPHER_CTX_free(cipher); }

Aes128::Aes128(std::span<const std::byte, 16> key) : cipher_(EVP_CIPHER_CTX_new()) {
  PIRX_CHECK(cipher_ != nullptr &&
             EVP_EncryptInit_ex(cipher_.get(), EVP_aes_128_ecb(), nullptr,
                                reinterpret_cast<const unsigned char*>(key.data()), nullptr) == 1 &&
             EVP_CIPHER_CTX_set_padding(cipher_.get(), 0) == 1);
}

void Aes128::encrypt(ByteSpan in, MutableByteSpan out) {
  PIRX_CHECK(in.size() == out.size() && in.size() % kBlockBytes == 0);
  constexpr std::size_t kChunk = std::size_t{1} << 20;  // an int counts the bytes of a call
  while (!in.empty()) {
    const std::size_t size = std::min(in.size(), kChunk);
    int written = 0;
    PIRX_CHECK(EVP_EncryptUpdate(cipher_.get(), reinterpret_cast<unsigned char*>(out.data()), &written,
                                 reinterpret_cast<const unsigned char*>(in.data()),
                                 static_cast<int>(size)) == 1 &&
               static_cast<std::size_t>(written) == size);
    in = in.subspan(size);
    out = out.subspan(size);
  }
}

}  // namespace pirx
