// What the holder of a key does with residues modulo N: makes squares and non-squares that only she can tell
// apart, and tells them apart. Constant time in the key, the coins and the bits.
#pragma once

#include "cpir/dj/limbs.h"
#include "pirx/base/rng.h"
#include "pirx/cpir/qr/keys.h"

namespace pirx::cpir::qr {

class Residues {
 public:
  explicit Residues(const SecretKey& key);

  /// A uniform square modulo N, big-endian, if bit is 0; else N less one, a non-square of Jacobi symbol 1 (-1
  /// is no square modulo p and q). All but one in 2^(k/2 - 1) are units: for others than toys, all.
  void encrypt_bit(unsigned bit, Rng& rng, MutableByteSpan out) const;
  /// 1 if z, big-endian, is no square modulo p. Either where p divides z.
  unsigned decrypt_bit(ByteSpan z) const;

 private:
  dj::Limbs random_number(Rng& rng) const;
  std::size_t bits_;  // of N
  dj::Limbs n_, p_;
};

}  // namespace pirx::cpir::qr
