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

/// (1 + N)^m r^(N^s) modulo N^(s+1) with the public key alone, in ciphertext_bytes(s) bytes. Constant time in
/// message and r. InvalidArgument: s out of 1 .. kMaxLevels, the message not below N^s, or r not from 1 to N
/// - 1. That r is prime to N, as a random one is, is not checked.
Result<Bytes> encrypt(const PublicKey& key, unsigned s, ByteSpan message, ByteSpan r);
/// The same with r from `rng`, uniform.
Result<Bytes> encrypt(const PublicKey& key, unsigned s, ByteSpan message, Rng& rng);

/// What the holder of the secret key computes, with the tables for it: decryption by the two primes and
/// p-adic logarithms, and fast encryption. Constant time in the key, plaintexts and coins. Thread-safe.
/// Secrets are wiped.
class Cipher {
 public:
  /// For layers 1 to s_max. InvalidArgument: s_max out of 1 .. kMaxLevels, or a toy's prime not above it.
  static Result<Cipher> create(const SecretKey& key, unsigned s_max);
  Cipher(Cipher&&) noexcept;
  Cipher& operator=(Cipher&&) noexcept;
  ~Cipher();

  const PublicKey& public_key() const noexcept;
  unsigned s_max() const noexcept;

  /// E_s(0) with a uniform coin, ciphertext_bytes(s) long: a secret until the ciphertext it becomes is all
  /// that is left. It hides one bit, once. InvalidArgument: s out of range.
  Result<SecretVector<std::byte>> encrypt_zero(unsigned s, Rng& rng) const;
  /// One E_s(0) for each of the layers, by all threads. Unavailable: `stop` ended it.
  Result<std::vector<SecretVector<std::byte>>> encrypt_zeros(std::span<const unsigned> layers, Rng& rng,
                                                             const Stop& stop = {}) const;
  /// E_s(bit) from an unused E_s(0). `bit` is 0 or 1; microseconds.
  Result<Bytes> encrypt_bit(unsigned s, unsigned bit, SecretVector<std::byte> zero) const;

  /// D_1(D_2(... D_s(c))), the plaintext modulo N in ceil(k / 8) bytes. Exactly ciphertext_bytes(s) bytes of
  /// c. Undecodable: c is not below N^(s+1), or at some layer no unit; decided after everything was computed.
  Result<SecretVector<std::byte>> decrypt_layers(unsigned s, ByteSpan c) const;
  /// D_s(c), the plaintext modulo N^s in ciphertext_bytes(s - 1) bytes. Errors as decrypt_layers.
  Result<SecretVector<std::byte>> decrypt(unsigned s, ByteSpan c) const;

 private:
  struct State;
  explicit Cipher(std::unique_ptr<const State> state);
  std::unique_ptr<const State> state_;
};

}  // namespace pirx::cpir::dj
