// SPDX-License-Identifier: Apache-2.0
// Keys of the Damgard-Jurik cryptosystem: N = pq, with 1 + N as the base. Damgard and Jurik 2001; paper 001,
// section 2.3.
#pragma once

#include "pirx/base/secret.h"
#include "pirx/base/stop.h"

namespace pirx::cpir::dj {

/// The lengths of N that are allowed.
enum class KeyPolicy : std::uint8_t {
  kSecure = 0,  ///< 2048, 3072 or 4096 bits
  /// 1024 bits, as in paper 001: about 80 bits of security. Whoever can pay for it can break it.
  kPaperReproduction = 1,
  kToy = 2,  ///< any length: no security at all, for tests
};
inline constexpr unsigned kDefaultModulusBits = 3072;
inline constexpr unsigned kMaxModulusBits = 4096;
/// The largest s, which is the greatest number of levels of a tree. The row kernels have room for as many; a
/// binary tree of 1024 rows has 10.
inline constexpr unsigned kMaxLevels = 10;

/// InvalidArgument: the policy does not allow N of `bits` bits.
Result<void> check_modulus_bits(unsigned bits, KeyPolicy policy);

/// N, checked as far as possible without its factors.
class PublicKey {
 public:
  /// Reads N from ceil(bits / 8) bytes, big-endian. InvalidArgument: the policy forbids the length, or N is
  /// even, not of exactly `bits` bits, a perfect power, or (except for toys) has a prime factor below 2^16.
  /// Variable time: N is public.
  static Result<PublicKey> create(ByteSpan modulus, unsigned bits, KeyPolicy policy);

  unsigned bits() const noexcept { return bits_; }  ///< k
  KeyPolicy policy() const noexcept { return policy_; }
  ByteSpan modulus() const noexcept { return modulus_; }
  /// The bytes of a ciphertext of layer s, a number below N^(s+1): ceil((s + 1) k / 8).
  std::size_t ciphertext_bytes(unsigned s) const noexcept { return ((s + std::size_t{1}) * bits_ + 7) / 8; }

 private:
  PublicKey(Bytes modulus, unsigned bits, KeyPolicy policy)
      : modulus_(std::move(modulus)), bits_(bits), policy_(policy) {}
  Bytes modulus_;
  unsigned bits_;
  KeyPolicy policy_;
};

/// p and q; wiped on destruction. One key serves all layers and any number of queries.
class SecretKey {
 public:
  /// Makes a key from primes of FIPS 186-5 and OpenSSL's generator, which the OS seeds. Takes about a second.
  /// InvalidArgument: the policy forbids the length, or it is below 512 bits, for which OpenSSL makes no
  /// keys. Unavailable: `stop`, asked between two candidates for primes, said so.
  static Result<SecretKey> generate(unsigned bits, KeyPolicy policy, const Stop& stop = {});
  /// Makes a key from two primes, big-endian. InvalidArgument: they are not distinct odd primes of the same
  /// length, not coprime to (p-1)(q-1), not above kMaxLevels (except for toys), or do not make a valid
  /// PublicKey. Variable time: for keys that are read from storage. Unavailable: `stop` said so.
  static Result<SecretKey> from_primes(ByteSpan p, ByteSpan q, KeyPolicy policy, const Stop& stop = {});

  const PublicKey& public_key() const noexcept { return public_key_; }
  /// Big-endian; half as long as N, rounded up.
  ByteSpan expose_p() const noexcept { return p_.expose(); }
  ByteSpan expose_q() const noexcept { return q_.expose(); }

 private:
  SecretKey(PublicKey public_key, SecretVector<std::byte> p, SecretVector<std::byte> q)
      : public_key_(std::move(public_key)), p_(std::move(p)), q_(std::move(q)) {}
  PublicKey public_key_;
  SecretVector<std::byte> p_, q_;
};

}  // namespace pirx::cpir::dj
