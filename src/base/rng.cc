// AES-256-CTR key stream: encrypting zeros. A zero IV is sound because every key is used for one stream only.
#include "pirx/base/rng.h"

#include <openssl/evp.h>
#include <openssl/rand.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "pirx/base/secret.h"

namespace pirx {
namespace {

bool start_stream(EVP_CIPHER_CTX* cipher, const unsigned char* key) {
  const std::array<unsigned char, 16> iv{};
  return EVP_EncryptInit_ex(cipher, EVP_aes_256_ctr(), nullptr, key, iv.data()) == 1;
}

void next_bytes(EVP_CIPHER_CTX* cipher, MutableByteSpan out) {
  constexpr std::size_t kChunk = std::size_t{1} << 20;
  while (!out.empty()) {
    const auto chunk = out.first(std::min(out.size(), kChunk));
    std::fill(chunk.begin(), chunk.end(), std::byte{0});
    auto* bytes = reinterpret_cast<unsigned char*>(chunk.data());
    int written = 0;
    PIRX_CHECK(EVP_EncryptUpdate(cipher, bytes, &written, bytes, static_cast<int>(chunk.size())) == 1);
    PIRX_CHECK(static_cast<std::size_t>(written) == chunk.size());
    out = out.subspan(chunk.size());
  }
}

}  // namespace

struct Rng::State {
  EVP_CIPHER_CTX* cipher = nullptr;
  pid_t pid = 0;
  ~State() { EVP_CIPHER_CTX_free(cipher); }

  bool rekey() {
    std::array<unsigned char, 32> key{};
    bool ok = RAND_priv_bytes(key.data(), static_cast<int>(key.size())) == 1;
    ok = ok && start_stream(cipher, key.data());
    secure_wipe(key.data(), key.size());
    pid = getpid();
    return ok;
  }
};

Rng::Rng(std::unique_ptr<State> state) : state_(std::move(state)) {}
Rng::Rng(Rng&&) noexcept = default;
Rng& Rng::operator=(Rng&&) noexcept = default;
Rng::~Rng() = default;

Result<Rng> Rng::from_os() {
  auto state = std::make_unique<State>();
  state->cipher = EVP_CIPHER_CTX_new();
  if (state->cipher == nullptr || !state->rekey()) {
    return fail(ErrorCode::kUnavailable,
                "the operating system's random source gave no bytes; no query can be made");
  }
  return Rng(std::move(state));
}

void Rng::fill(MutableByteSpan out) {
  // A forked child would repeat its parent's coins: two evaluations of one share polynomial.
  if (state_->pid != getpid()) PIRX_CHECK(state_->rekey());
  next_bytes(state_->cipher, out);
}

struct SeedStream::State {
  EVP_CIPHER_CTX* cipher = EVP_CIPHER_CTX_new();
  ~State() { EVP_CIPHER_CTX_free(cipher); }
};

SeedStream::SeedStream(std::span<const std::byte, kSeedBytes> seed) : state_(std::make_unique<State>()) {
  PIRX_CHECK(state_->cipher != nullptr &&
             start_stream(state_->cipher, reinterpret_cast<const unsigned char*>(seed.data())));
}
SeedStream::SeedStream(SeedStream&&) noexcept = default;
SeedStream& SeedStream::operator=(SeedStream&&) noexcept = default;
SeedStream::~SeedStream() = default;

void SeedStream::fill(MutableByteSpan out) { next_bytes(state_->cipher, out); }

}  // namespace pirx
