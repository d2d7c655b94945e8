// Cryptographic randomness: an AES-256-CTR stream keyed from the operating system. Fails closed.
#pragma once

#include <concepts>
#include <memory>

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

}  // namespace pirx
