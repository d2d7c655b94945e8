// SHA-256 (FIPS 180-4) from OpenSSL, in pieces or in one call.
#pragma once

#include <array>
#include <memory>

#include "pirx/base/bytes.h"

namespace pirx {

using Digest = std::array<std::byte, 32>;

/// The digest of bytes that come in pieces. Not thread-safe.
class Sha256 {
 public:
  Sha256();
  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) noexcept;
  ~Sha256();
  void update(ByteSpan bytes);
  /// The digest of all bytes so far. The object must not be used afterwards.
  Digest finish() &&;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// The digest of bytes that are at hand.
Digest sha256(ByteSpan bytes);

}  // namespace pirx
