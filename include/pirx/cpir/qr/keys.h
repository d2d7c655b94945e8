// SPDX-License-Identifier: Apache-2.0
// Keys for quadratic-residuosity PIR: Blum integers N = pq. Both p and q are 3 modulo 4, so -1 is a
// non-residue whose Jacobi symbol is 1. Kushilevitz and Ostrovsky 1997; paper 004, section 2.3.
#pragma once

#include "pirx/cpir/dj/keys.h"

namespace pirx::cpir::qr {

using dj::KeyPolicy;
using dj::PublicKey;

/// Like PublicKey::create, but N must also be 1 modulo 4, as products of such primes are. InvalidArgument: it
/// is not.
Result<PublicKey> make_public_key(ByteSpan modulus, unsigned bits, KeyPolicy policy);

/// p and q; wiped on destruction. Serves any number of queries. Must not be shared with other protocols.
class SecretKey {
 public:
  /// Makes a key from uniform primes (FIPS 186-5, A.1.3) that are 3 modulo 4, with OpenSSL's generator, which
  /// the OS seeds. Takes about a second. InvalidArgument: the policy forbids the length, or it is below 512
  /// or odd. Unavailable: `stop`, asked between two candidates for primes, said so.
  static Result<SecretKey> generate(unsigned bits, KeyPolicy policy, const Stop& stop = {});
  /// Makes a key from two primes, big-endian. InvalidArgument: what dj::SecretKey::from_primes refuses, or a
  /// prime that is 1 modulo 4. Variable time: for keys that are read from storage. Unavailable: `stop` said
  /// so.
  static Result<SecretKey> from_primes(ByteSpan p, ByteSpan q, KeyPolicy policy, const Stop& stop = {});

  const PublicKey& public_key() const noexcept { return key_.public_key(); }
  ByteSpan expose_p() const noexcept { return key_.expose_p(); }
  ByteSpan expose_q() const noexcept { return key_.expose_q(); }

 private:
  explicit SecretKey(dj::SecretKey key) : key_(std::move(key)) {}
  dj::SecretKey key_;
};

}  // namespace pirx::cpir::qr
