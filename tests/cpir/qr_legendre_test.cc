// SPDX-License-Identifier: Apache-2.0
// Legendre's symbol against GMP's, for every residue of small primes and random ones of large primes.
#include <gtest/gtest.h>

#include "cpir/qr/legendre.h"
#include "qr_support.h"
#include "support/seed.h"

namespace pirx::cpir::qr {
namespace {

void expect_symbol(const mpz_class& a, const mpz_class& p) {
  const auto limbs = dj::limbs_of_bits(mpz_sizeinbase(p.get_mpz_t(), 2));
  const auto to_limbs = [&](const mpz_class& value) {
    Bytes big_endian(8 * limbs);
    dj::number_to_bytes(value, big_endian);
    return dj::limbs_from_bytes(big_endian, limbs);
  };
  const auto A = to_limbs(a), P = to_limbs(p);
  EXPECT_EQ(legendre_nonresidue(A.expose(), P.expose()),
            mpz_legendre(a.get_mpz_t(), p.get_mpz_t()) == -1 ? 1u : 0u)
      << a << " modulo " << p;
}

TEST(Legendre, EveryResidueOfSmallPrimes) {
  for (const unsigned p : {3u, 5u, 7u, 11u, 13u, 17u, 19u, 23u, 97u, 257u, 1009u}) {
    for (unsigned a = 1; a < p; ++a) expect_symbol(a, p);
  }
}

TEST(Legendre, RandomResiduesOfLargePrimes) {
  auto engine = pirx::testing::seeded_engine();
  for (const unsigned bits : {31u, 63u, 64u, 65u, 128u, 191u, 512u, 1024u}) {
    mpz_class p = (mpz_class(1) << (bits - 1)) + testing::random_below(mpz_class(1) << (bits - 2), engine);
    mpz_nextprime(p.get_mpz_t(), p.get_mpz_t());
    expect_symbol(1, p);
    expect_symbol(p - 1, p);
    expect_symbol(2, p);
    for (int i = 0; i < 50; ++i) expect_symbol(1 + testing::random_below(p - 1, engine), p);
  }
}

}  // namespace
}  // namespace pirx::cpir::qr
