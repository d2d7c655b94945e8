// SPDX-License-Identifier: Apache-2.0
// SHA-256, AES-128 and AES-256-CTR from our own code, where there is no OpenSSL.
#include "src/base/crypto_portable.h"

#include "pirx/base/rng.h"
#include "pirx/base/sha256.h"
#include "src/base/aes128.h"

namespace pirx {

struct detail::Sha256Context : portable::Sha256 {};
struct detail::AesContext : portable::AesCounter {
  using AesCounter::AesCounter;
};

void Sha256::Free::operator()(detail::Sha256Context* context) const noexcept { delete context; }
Sha256::Sha256() : context_(new detail::Sha256Context) {}
void Sha256::update(ByteSpan bytes) { context_->update(bytes); }
Digest Sha256::finish() && { return context_->finish(); }

void SeedStream::Free::operator()(detail::AesContext* cipher) const noexcept { delete cipher; }
SeedStream::SeedStream(std::span<const std::byte, kSeedBytes> seed) : cipher_(new detail::AesContext(seed)) {}
void SeedStream::fill(MutableByteSpan out) { cipher_->fill(out); }

struct Aes128::Cipher : portable::Aes<kBlockBytes> {
  using Aes::Aes;
};

void Aes128::Free::operator()(Cipher* cipher) const noexcept { delete cipher; }
Aes128::Aes128(std::span<const std::byte, 16> key) : cipher_(new Cipher(key)) {}
void Aes128::encrypt(ByteSpan in, MutableByteSpan out) {
  PIRX_CHECK(in.size() == out.size() && in.size() % kBlockBytes == 0);
  std::array<std::byte, Cipher::kBatchBytes> blocks{};
  while (!in.empty()) {
    const std::size_t size = std::min(in.size(), blocks.size());
    std::copy_n(in.begin(), size, blocks.begin());
    cipher_->encrypt(blocks, blocks);
    std::copy_n(blocks.begin(), size, out.begin());
    in = in.subspan(size);
    out = out.subspan(size);
  }
}

}  // namespace pirx
