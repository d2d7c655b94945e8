// SPDX-License-Identifier: Apache-2.0
// Makes AES-256-CTR key streams by encrypting zeros. A zero IV is sound because every key is used for one
// stream only. Keys come from the kernel (in a browser, from crypto.getRandomValues) and not from OpenSSL,
// which takes a child for its parent if both have the same process id.
#include "pirx/base/rng.h"

#include <unistd.h>

#include <algorithm>

#include "guarded.h"
#include "pirx/base/secret.h"
#include "process.h"

namespace pirx {

struct Rng::State {
  SecretVector<std::byte> unused{std::size_t{16} << 10};  ///< the last `left` bytes of it
  std::size_t left = 0;
  std::uint64_t process = 0;  ///< the process that drew them

  /// False when the kernel gives no randomness.
  static bool draw(MutableByteSpan out) {
    SecretVector<std::byte> key(kSeedBytes);
    const bool ok = getentropy(key.expose().data(), kSeedBytes) == 0;
    if (ok) SeedStream(key.expose().first<kSeedBytes>()).fill(out);
    return ok;
  }
  bool refill() {
    left = unused.size();
    process = process_token();
    return draw(unused.expose());
  }
};

Rng::Rng(std::unique_ptr<State> state) : state_(std::move(state)) {}
Rng::Rng(Rng&&) noexcept = default;
Rng& Rng::operator=(Rng&&) noexcept = default;
Rng::~Rng() = default;

Result<Rng> Rng::from_os() {
  return guarded([]() -> Result<Rng> {
    auto state = std::make_unique<State>();
    if (!state->refill()) {
      return fail(ErrorCode::kUnavailable,
                  "the operating system's random source gave no bytes; no query can be made");
    }
    return Rng(std::move(state));
  });
}

void Rng::fill(MutableByteSpan out) {
  auto& [unused, left, process] = *state_;
  if (out.size() > unused.size()) return PIRX_CHECK(State::draw(out));
  // A forked child would repeat its parent's coins: two evaluations of one share polynomial.
  if (out.size() > left || process != process_token()) PIRX_CHECK(state_->refill());
  const auto coins = unused.expose().last(left).first(out.size());
  std::copy(coins.begin(), coins.end(), out.begin());
  secure_wipe(coins.data(), coins.size());
  left -= out.size();
}

}  // namespace pirx
