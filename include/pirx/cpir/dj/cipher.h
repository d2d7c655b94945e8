// SPDX-License-Identifier: Apache-2.0
// The Damgard-Jurik cryptosystem: E_s maps plaintexts modulo N^s to ciphertexts modulo N^(s+1).
// Damgard and Jurik 2001; paper 001 section 2.3. All numbers are big-endian bytes.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "pirx/base/rng.h"
#include "pirx/base/stop.h"
#include "pirx/cpir/dj/keys.h"

namespace pirx::cpir::dj {

/// Encryption and decryption for the holder of the secret key, with tables that make them fast. Decryption
/// computes modulo the two primes, by p-adic logarithms. Constant time in the key, plaintexts and coins.
/// Thread-safe. Secrets are wiped.
class Cipher {
 public:
  /// A cipher for layers 1 to s_max. InvalidArgument: s_max is not in 1 .. kMaxLevels, or the key is a toy
  /// with a prime that is not above s_max.
  static Result<Cipher> create(const SecretKey& key, unsigned s_max);

  Cipher(Cipher&&) noexcept = default;  // not copied: it holds secrets
  Cipher& operator=(Cipher&&) noexcept = default;

  const PublicKey& public_key() const noexcept;

  /// E_s(0) with a uniform coin, ciphertext_bytes(s) long. It is a secret until encrypt_bit() has turned it
  /// into a ciphertext. Use it for one bit, once. InvalidArgument: s is out of range.
  Result<SecretVector<std::byte>> encrypt_zero(unsigned s, Rng& rng) const;
  /// One E_s(0) for each of the layers, computed by all threads. Unavailable: `stop` ended it.
  Result<std::vector<SecretVector<std::byte>>> encrypt_zeros(std::span<const unsigned> layers, Rng& rng,
                                                             const Stop& stop = {}) const;
  /// E_s(bit) from an unused E_s(0). On input `bit` is 0 or 1. Takes microseconds.
  Result<Bytes> encrypt_bit(unsigned s, unsigned bit, SecretVector<std::byte> zero) const;

  /// Decrypts the layers down to `last`: D_last(... D_s(c)), the plaintext modulo N^last in
  /// ciphertext_bytes(last - 1) bytes. On input c has ciphertext_bytes(s) bytes. Undecodable: c is not below
  /// N^(s+1), or is no unit at some layer. This is decided after everything was computed, so that time does
  /// not tell.
  Result<SecretVector<std::byte>> decrypt_layers(unsigned s, ByteSpan c, unsigned last = 1) const;
  /// Decrypts one layer: D_s(c), the plaintext modulo N^s in ciphertext_bytes(s - 1) bytes. Errors as
  /// decrypt_layers.
  Result<SecretVector<std::byte>> decrypt(unsigned s, ByteSpan c) const;

 private:
  struct State;
  explicit Cipher(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  std::shared_ptr<const State> state_;
};

}  // namespace pirx::cpir::dj
