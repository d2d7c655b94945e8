// Cryptographic randomness: an AES-256-CTR stream keyed from the operating system. Fails closed.
#pragma once

#include <concepts>
#include <memory>
#include <span>

#include "pirx/base/bytes.h"

namespace pirx {

/// Anything that fills memory with random bytes. The shipped one is Rng; tests replay coins through another.
template <class R>
concept RandomSource = requires(R& rng, MutableByteSpan out) {
  { rng.fill(out) } -> std::same_as<void>;
};

/// AES-256-CTR stream (NIST SP 800-38A) under a fresh 256-bit key from OpenSSL's DRBG, which the OS seeds.
/// Not thread-safe: one per thread. After a fork the child re-keys itself before its first byte, so that no
/// two processes ever draw the same coins. Aborts if the cipher itself fails: no coin is ever predictable.
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
  SeedStream(SeedStream&&) noexcept;
  SeedStream& operator=(SeedStream&&) noexcept;
  ~SeedStream();
  /// The next bytes of the stream; fill(a), fill(b) is fill(ab).
  void fill(MutableByteSpan out);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace pirx
