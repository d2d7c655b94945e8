// SPDX-License-Identifier: Apache-2.0
// Legendre's symbol in constant time against GMP's, and the squares and non-squares of queries: which they
// are, and that each is as likely as any other.
#include <gtest/gtest.h>

#include <map>

#include "cpir/qr/legendre.h"
#include "cpir/qr/residues.h"
#include "qr_support.h"
#include "support/seed.h"

namespace pirx::cpir::qr {
namespace {

using testing::random_below;

dj::Limbs limbs(const mpz_class& a, std::size_t count) {
  dj::Limbs out(count);
  dj::number_to_words(a, out.expose());
  return out;
}

unsigned nonresidue(const mpz_class& a, const mpz_class& p) {
  const auto count = mpz_size(p.get_mpz_t());
  return legendre_nonresidue(limbs(a, count).expose(), limbs(p, count).expose());
}

TEST(Legendre, SmallPrimesExhaustively) {
  for (unsigned p = 3; p < 400; ++p) {
    if (mpz_probab_prime_p(mpz_class(p).get_mpz_t(), 20) == 0) continue;
    for (unsigned a = 1; a < p; ++a) {
      const int expected = mpz_jacobi(mpz_class(a).get_mpz_t(), mpz_class(p).get_mpz_t());
      ASSERT_EQ(nonresidue(a, p), expected == -1 ? 1u : 0u) << a << " modulo " << p;
    }
  }
}

TEST(Legendre, LargePrimesAgreeWithGmp) {
  auto engine = pirx::testing::seeded_engine();
  for (const unsigned bits :
       {31u, 32u, 33u, 61u, 63u, 64u, 65u, 66u, 95u, 127u, 128u, 129u, 192u, 512u, 1024u, 1536u}) {
    for (int round = 0; round < 4; ++round) {
      mpz_class p = random_below(mpz_class(1) << (bits - 1), engine) + (mpz_class(1) << (bits - 1));
      if (round == 0) p = mpz_class(1) << (bits - 1);
      mpz_nextprime(p.get_mpz_t(), p.get_mpz_t());
      for (int i = 0; i < (bits < 512 ? 400 : 30); ++i) {
        mpz_class a = random_below(p - 1, engine) + 1;
        if (i == 0) a = 1;
        if (i == 1) a = p - 1;
        if (i == 2) a = 2;
        if (i == 3) a = p / 2;
        // Numbers that agree with p in their highest bits, where approximations misjudge.
        if (i > 3 && i % 4 == 0) a = p - 1 - random_below(mpz_class(1) << (bits * 2 / 3), engine) % (p - 1);
        if (i > 3 && i % 4 == 1) a = random_below(mpz_class(1) << (bits / 2), engine) % (p - 1) + 1;
        ASSERT_EQ(nonresidue(a, p), mpz_jacobi(a.get_mpz_t(), p.get_mpz_t()) == -1 ? 1u : 0u)
            << a << " modulo " << p;
      }
    }
  }
}

TEST(Legendre, EqualsEulersCriterion) {
  auto engine = pirx::testing::seeded_engine(1);
  mpz_class p = random_below(mpz_class(1) << 768, engine), power;
  mpz_nextprime(p.get_mpz_t(), p.get_mpz_t());
  for (int i = 0; i < 20; ++i) {
    const mpz_class a = random_below(p - 1, engine) + 1, half = (p - 1) / 2;
    mpz_powm(power.get_mpz_t(), a.get_mpz_t(), half.get_mpz_t(), p.get_mpz_t());
    ASSERT_EQ(nonresidue(a, p), power == 1 ? 0u : 1u);
  }
}

/// Over all squares of a toy modulus: what is drawn has Jacobi symbol 1, is of the kind asked for, and
/// uniform among those, but for the numbers that p or q divides.
TEST(Residues, AreUniformOverTheirClass) {
  const unsigned p = 19, q = 23;
  const Residues residues(testing::toy_key(p, q));
  auto rng = Rng::from_os().value();
  const mpz_class n = p * q;
  for (const unsigned bit : {0u, 1u}) {
    std::map<mpz_class, int> counts;
    constexpr int kDraws = 99 * 200;
    for (int units = 0; units < kDraws;) {
      Bytes y(2);
      residues.encrypt_bit(bit, rng, y);
      const mpz_class number = dj::number_from_bytes(y);
      ASSERT_LE(number, n);
      if (gcd(number, n) != 1) continue;
      ++units;
      ASSERT_EQ(mpz_jacobi(number.get_mpz_t(), n.get_mpz_t()), 1);
      ASSERT_EQ(mpz_jacobi(number.get_mpz_t(), mpz_class(p).get_mpz_t()), bit == 0 ? 1 : -1);
      ASSERT_EQ(residues.decrypt_bit(y), bit);
      ++counts[number];
    }
    EXPECT_EQ(counts.size(), 99u);  // (p - 1) (q - 1) / 4
    double chi_squared = 0;
    for (const auto& [number, count] : counts) chi_squared += (count - 200.0) * (count - 200.0) / 200;
    EXPECT_LT(chi_squared, 98 + 7 * 14);  // 98 degrees of freedom: deviation 14
  }
}

TEST(Residues, SumsOfBitsAreProductsOfNumbers) {
  const auto& key = testing::paper_key();
  const Residues residues(key);
  auto rng = Rng::from_os().value();
  const mpz_class n = dj::number_from_bytes(key.public_key().modulus());
  for (unsigned bits = 0; bits < 8; ++bits) {
    mpz_class product = 1;
    for (unsigned i = 0; i < 3; ++i) {
      Bytes y(128);
      residues.encrypt_bit(bits >> i & 1, rng, y);
      product = product * dj::number_from_bytes(y) % n;
    }
    Bytes z(128);
    dj::number_to_bytes(product, z);
    EXPECT_EQ(residues.decrypt_bit(z), (bits ^ bits >> 1 ^ bits >> 2) & 1);
  }
}

}  // namespace
}  // namespace pirx::cpir::qr
