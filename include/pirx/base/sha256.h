// SPDX-License-Identifier: Apache-2.0
// SHA-256 (FIPS 180-4), in pieces or in one call: from OpenSSL, or from our own code where there is no
// OpenSSL.
#pragma once

#include <array>
#include <initializer_list>
#include <memory>

#include "pirx/base/bytes.h"

namespace pirx {

namespace detail {
struct Sha256Context;  // the provider's: src/base/crypto_*.cc
}

using Digest = std::array<std::byte, 32>;

/// The digest of bytes that come in pieces. Not thread-safe.
class Sha256 {
 public:
  Sha256();
  void update(ByteSpan bytes);
  /// The digest of all bytes so far. The object must not be used afterwards.
  Digest finish() &&;

 private:
  struct Free {
    void operator()(detail::Sha256Context* context) const noexcept;
  };
  std::unique_ptr<detail::Sha256Context, Free> context_;
};

/// The digest of bytes that are at hand.
Digest sha256(ByteSpan bytes);
/// The digest of the parts, one after another.
Digest sha256_of(std::initializer_list<ByteSpan> parts);

}  // namespace pirx
