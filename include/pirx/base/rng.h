// Cryptographic randomness: AES-256-CTR under short-lived keys of the operating system's. Fails closed.
#pragma once

#include <concepts>
#include <memory>
#include <span>

#include "pirx/base/bytes.h"

struct evp_cipher_ctx_st;  // OpenSSL's

namespace pirx {

/// Anything that fills memory with random bytes. The shipped one is Rng; tests replay coins through another.
template <class R>
concept RandomSource = requires(R& rng, MutableByteSpan out) {
  { rng.fill(out) } -> std::same_as<void>;
};

/// AES-256-CTR streams (NIST SP 800-38A), each under a fresh 256-bit key from the kernel, which is forgotten
/// at once. What is kept are bytes that nobody has drawn yet: memory that is seen later tells no coin of an
/// earlier query. A child of fork throws them away, so that no two processes ever draw the same coins.
/// Not thread-safe: one per thread. Aborts if kernel or cipher fail: no coin is ever predictable.
class Rng {
 public:
  /// Unavailable when the operating system gives no randomness.
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

/// The string of a seed: the AES-256-CTR key stream under the seed as key, counter blocks from zero up
/// (big-endian, NIST SP 800-38A), which client and server compute alike (docs/wire_format.md). As good as
/// random to whoever has not the seed, if AES-256 is. Not thread-safe. Every seed is for one stream only.
class SeedStream {
 public:
  explicit SeedStream(std::span<const std::byte, kSeedBytes> seed);
  /// The next bytes of the stream; fill(a), fill(b) is fill(ab).
  void fill(MutableByteSpan out);

 private:
  struct Free {
    void operator()(evp_cipher_ctx_st* cipher) const noexcept;
  };
  std::unique_ptr<evp_cipher_ctx_st, Free> cipher_;
};

}  // namespace pirx
