// SPDX-License-Identifier: Apache-2.0
// AES-128 block by block, as a fixed permutation that everybody knows.
#pragma once

#include <memory>
#include <span>

#include "pirx/base/bytes.h"

namespace pirx {

/// AES-128 (FIPS 197) under a public key. Time and addresses depend on no block. Not thread-safe.
class Aes128 {
 public:
  static constexpr std::size_t kBlockBytes = 16;
  explicit Aes128(std::span<const std::byte, 16> key);
  /// out = the encryptions of the blocks of `in`, each by itself. Both have the same length, a multiple of
  /// kBlockBytes, and are the same memory or do not overlap.
  void encrypt(ByteSpan in, MutableByteSpan out);

 private:
  struct Cipher;  // OpenSSL's, or our own
  struct Free {
    void operator()(Cipher* cipher) const noexcept;
  };
  std::unique_ptr<Cipher, Free> cipher_;
};

}  // namespace pirx
