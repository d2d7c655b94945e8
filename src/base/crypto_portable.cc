// SPDX-License-Identifier: Apache-2.0
// SHA-256 and AES-256-CTR from our own code, where there is no OpenSSL.
#include "src/base/crypto_portable.h"

#include "pirx/base/rng.h"
#include "pirx/base/sha256.h"

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

}  // namespace pirx
