// Keys for quadratic-residuosity PIR: Blum integers N = pq, p and q both 3 modulo 4, so that -1 is a
// non-residue whose Jacobi symbol is 1. Kushilevitz and Ostrovsky 1997; paper 004 section 2.3.
#pragma once

#include "pirx/cpir/dj/keys.h"

namespace pirx::cpir::qr {

using dj::KeyPolicy;
using dj::PublicKey;

/// As PublicKey::create, and InvalidArgument too unless N is 1 modulo 4, as products of such primes are.
Result<PublicKey> make_public_key(ByteSpan modulus, unsigned bits, KeyPolicy policy);

/// p and q, wiped. Serves any number of queries. Not to be shared with other protocols.
class SecretKey {
 public:
  /// Uniform primes (FIPS 186-5, A.1.3) that are 3 modulo 4, from OpenSSL's generator, which the OS seeds.
  /// InvalidArgument: the policy forbids the length, or it is below 512 or odd. Takes a second or so.
  static Result<SecretKey> generate(unsigned bits, KeyPolicy policy);
  /// From two primes, big-endian. InvalidArgument: what dj::SecretKey::from_primes refuses, or a prime that
  /// is 1 modulo 4. Variable time: for keys at rest.
  static Result<SecretKey> from_primes(ByteSpan p, ByteSpan q, KeyPolicy policy);

  const PublicKey& public_key() const noexcept { return key_.public_key(); }
  ByteSpan expose_p() const noexcept { return key_.expose_p(); }
  ByteSpan expose_q() const noexcept { return key_.expose_q(); }

 private:
  explicit SecretKey(dj::SecretKey key) : key_(std::move(key)) {}
  dj::SecretKey key_;
};

}  // namespace pirx::cpir::qr
