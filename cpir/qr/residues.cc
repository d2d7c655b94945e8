// SPDX-License-Identifier: Apache-2.0
// Makes and recognises squares with GMP's constant-time functions.
#include "residues.h"

#include "legendre.h"

namespace pirx::cpir::qr {
namespace {

dj::Limbs import(ByteSpan big_endian) {
  return dj::trimmed(dj::limbs_from_bytes(big_endian, (big_endian.size() + 7) / 8).expose());
}

}  // namespace

Residues::Residues(const SecretKey& key)
    : n_(import(key.public_key().modulus())), p_(import(key.expose_p())) {}

void Residues::encrypt_bit(unsigned bit, Rng& rng, MutableByteSpan out) const {
  const auto n = n_.expose();
  const auto size = static_cast<mp_size_t>(n.size());
  const auto r = dj::random_below(n, rng);
  auto square = dj::multiply_mod(r.expose(), r.expose(), n);
  dj::Limbs opposite(n.size());
  mpn_sub_n(opposite.expose().data(), n.data(), square.expose().data(), size);
  mpn_cnd_swap(bit, square.expose().data(), opposite.expose().data(), size);
  dj::limbs_to_bytes(square.expose(), out);
}

unsigned Residues::decrypt_bit(ByteSpan z) const {
  const auto limbs = dj::limbs_from_bytes(z, (z.size() + 7) / 8);
  return legendre_nonresidue(dj::reduce(limbs.expose(), p_.expose()).expose(), p_.expose());
}

}  // namespace pirx::cpir::qr
