// Keys of the Damgard-Jurik cryptosystem: N = pq, with 1 + N as the base. Damgard and Jurik 2001; paper 001
// section 2.3.
#pragma once

#include "pirx/base/secret.h"

namespace pirx::cpir::dj {

/// Which lengths of N are allowed.
enum class KeyPolicy : std::uint8_t {
  kSecure = 0,  ///< 2048, 3072 or 4096 bits
  kPaperReproduction =
      1,     ///< 1024 bits, as in paper 001: about 80 bits of security, broken by who can pay for it
  kToy = 2,  ///< anything: no security at all, for tests
};
inline constexpr unsigned kDefaultModulusBits = 3072;
inline constexpr unsigned kMaxModulusBits = 4096;
/// Largest s: levels of a tree. As many as the row kernels have room for; a binary tree of 1024 rows has 10.
inline constexpr unsigned kMaxLevels = 10;

/// InvalidArgument unless the policy allows N of so many bits.
Result<void> check_modulus_bits(unsigned bits, KeyPolicy policy);

/// N, checked as far as one can without its factors.
class PublicKey {
 public:
  /// From ceil(bits / 8) bytes, big-endian. InvalidArgument: a length that the policy forbids, or N even, not
  /// of exactly `bits` bits, a perfect power, or (but for toys) with a prime factor below 2^16. Variable
  /// time: N is public.
  static Result<PublicKey> create(ByteSpan modulus, unsigned bits, KeyPolicy policy);

  unsigned bits() const noexcept { return bits_; }  ///< k
  KeyPolicy policy() const noexcept { return policy_; }
  ByteSpan modulus() const noexcept { return modulus_; }
  /// Bytes of a ciphertext of layer s, a number below N^(s+1): ceil((s + 1) k / 8).
  std::size_t ciphertext_bytes(unsigned s) const noexcept { return ((s + std::size_t{1}) * bits_ + 7) / 8; }

 private:
  PublicKey(Bytes modulus, unsigned bits, KeyPolicy policy)
      : modulus_(std::move(modulus)), bits_(bits), policy_(policy) {}
  Bytes modulus_;
  unsigned bits_;
  KeyPolicy policy_;
};

/// p and q, wiped. One key serves all layers and any number of queries.
class SecretKey {
 public:
  /// Primes of FIPS 186-5 from OpenSSL's generator, which the OS seeds. InvalidArgument: the policy forbids
  /// the length, or it is below 512, for which OpenSSL makes no keys. Takes a second or so.
  static Result<SecretKey> generate(unsigned bits, KeyPolicy policy);
  /// From two primes, big-endian. InvalidArgument unless they are distinct odd primes of the same length,
  /// prime to (p-1)(q-1), above kMaxLevels (but for toys) and make a valid PublicKey. Variable time: for keys
  /// at rest.
  static Result<SecretKey> from_primes(ByteSpan p, ByteSpan q, KeyPolicy policy);

  const PublicKey& public_key() const noexcept { return public_key_; }
  /// Big-endian, half as long as N rounded up.
  ByteSpan expose_p() const noexcept { return p_.expose(); }
  ByteSpan expose_q() const noexcept { return q_.expose(); }

 private:
  SecretKey(PublicKey public_key, SecretVector<std::byte> p, SecretVector<std::byte> q)
      : public_key_(std::move(public_key)), p_(std::move(p)), q_(std::move(q)) {}
  PublicKey public_key_;
  SecretVector<std::byte> p_, q_;
};

}  // namespace pirx::cpir::dj
