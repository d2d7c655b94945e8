// SPDX-License-Identifier: Apache-2.0
// Cryptographic random bytes: AES-256-CTR streams under keys from the operating system.
#pragma once

#include <concepts>
#include <memory>
#include <span>

#include "pirx/base/bytes.h"

namespace pirx {

namespace detail {
struct AesContext;  // the provider's: src/base/crypto_*.cc
}

/// Anything that fills memory with random bytes. Programs use Rng; tests use sources that repeat known coins.
template <class R>
concept RandomSource = requires(R& rng, MutableByteSpan out) {
  { rng.fill(out) } -> std::same_as<void>;
};

/// Random bytes from AES-256-CTR streams (NIST SP 800-38A), each under a fresh 256-bit key from the kernel.
/// The key is forgotten at once, and an Rng keeps only bytes that nobody has drawn yet. So whoever reads its
/// memory later learns no coin of an earlier query. A child of fork throws these bytes away, so that two
/// processes never draw the same coins. Not thread-safe: use one per thread. If the kernel or the cipher
/// fails after from_os(), the process aborts, so that no coin is ever predictable.
class Rng {
 public:
  /// Unavailable: the operating system gives no randomness.
  static Result<Rng> from_os();
  Rng(Rng&&) noexcept;
  Rng& operator=(Rng&&) noexcept;
  ~Rng();
  /// Fills `out` with uniformly distributed bytes.
  void fill(MutableByteSpan out);

 private:
  struct State;
  explicit Rng(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// A 32-byte seed that stands for a long random string on the wire.
inline constexpr std::size_t kSeedBytes = 32;

/// The long string that a seed stands for: the AES-256-CTR key stream under the seed as key, with big-endian
/// counter blocks from zero up (NIST SP 800-38A). Client and server compute the same (docs/wire_format.md).
/// If AES-256 is secure, nobody without the seed can tell the string from random. Use a seed for one stream
/// only. Not thread-safe.
class SeedStream {
 public:
  explicit SeedStream(std::span<const std::byte, kSeedBytes> seed);
  /// Writes the next bytes of the stream. Two calls write what one call for both lengths would.
  void fill(MutableByteSpan out);

 private:
  struct Free {
    void operator()(detail::AesContext* cipher) const noexcept;
  };
  std::unique_ptr<detail::AesContext, Free> cipher_;
};

}  // namespace pirx
