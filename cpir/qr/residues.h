// SPDX-License-Identifier: Apache-2.0
// Residues modulo N for the holder of the key: makes squares and non-squares, which only the holder can tell
// apart, and tells them apart. Constant time in the key, the random coins and the bits.
#pragma once

#include "cpir/dj/limbs.h"
#include "pirx/base/rng.h"
#include "pirx/cpir/qr/keys.h"

namespace pirx::cpir::qr {

class Residues {
 public:
  explicit Residues(const SecretKey& key);

  /// Writes, big-endian, a uniform square modulo N if bit is 0; otherwise N minus a uniform square, which is
  /// a non-square with Jacobi symbol 1, since -1 is not a square modulo p and q. All but one in 2^(k/2 - 1)
  /// are units, which means all except for toys.
  void encrypt_bit(unsigned bit, Rng& rng, MutableByteSpan out) const;
  /// 1 if z, big-endian, is not a square modulo p. 0 or 1 if p divides z.
  unsigned decrypt_bit(ByteSpan z) const;

 private:
  dj::Limbs n_, p_;
};

}  // namespace pirx::cpir::qr
