// SPDX-License-Identifier: Apache-2.0
// Numbers of fixed length, and powers in base p, against GMP's ordinary ones.
#include <gmpxx.h>
#include <gtest/gtest.h>

#include "cpir/dj/digit_ring.h"
#include "cpir/dj/limbs.h"
#include "cpir/dj/polynomial.h"
#include "support/seed.h"

namespace pirx::cpir::dj {
namespace {

mpz_class to_number(LimbSpan limbs) {
  mpz_class value;
  mpz_import(value.get_mpz_t(), limbs.size(), -1, sizeof(mp_limb_t), 0, 0, limbs.data());
  return value;
}

Limbs to_limbs(const mpz_class& value, std::size_t limbs) {
  Limbs out(limbs);
  const auto to = out.expose();
  std::size_t count = 0;
  mpz_export(to.data(), &count, -1, sizeof(mp_limb_t), 0, 0, value.get_mpz_t());
  EXPECT_LE(count, limbs);
  return out;
}

class Numbers : public ::testing::Test {
 protected:
  mpz_class below(const mpz_class& limit) { return random_.get_z_range(limit); }
  mpz_class bits(unsigned count) { return random_.get_z_bits(count); }
  void SetUp() override { random_.seed(pirx::testing::seeded_engine()()); }
  gmp_randclass random_{gmp_randinit_mt};
};

LimbSpan view(const Limbs& limbs) { return std::as_const(limbs).expose(); }

TEST_F(Numbers, BytesThereAndBack) {
  for (const std::size_t size : {1u, 7u, 8u, 9u, 100u}) {
    Bytes bytes(size), back(size);
    for (auto& byte : bytes) byte = static_cast<std::byte>(bits(8).get_ui());
    const auto limbs = limbs_from_bytes(bytes, limbs_of_bits(8 * size));
    mpz_class expected;
    mpz_import(expected.get_mpz_t(), size, 1, 1, 0, 0, bytes.data());
    EXPECT_EQ(to_number(view(limbs)), expected);
    limbs_to_bytes(view(limbs), back);
    EXPECT_EQ(back, bytes);
  }
}

TEST_F(Numbers, ArithmeticIsThatOfGmp) {
  for (int i = 0; i < 50; ++i) {
    const auto a_limbs = 1 + i % 9u, m_limbs = 1 + i % 5u;
    const auto a = bits(64 * a_limbs), b = bits(64 * m_limbs);
    mpz_class m = bits(64 * m_limbs);
    mpz_setbit(m.get_mpz_t(), 64 * m_limbs - 1);
    mpz_setbit(m.get_mpz_t(), 0);
    const auto A = to_limbs(a, a_limbs), B = to_limbs(b, m_limbs), M = to_limbs(m, m_limbs);
    EXPECT_EQ(to_number(view(multiply(view(A), view(B)))), mpz_class(a * b));
    EXPECT_EQ(to_number(view(reduce(view(A), view(M)))), mpz_class(a % m));
    EXPECT_EQ(to_number(view(divide(view(A), view(M)))), mpz_class(a / m));
    mpz_class difference;
    mpz_fdiv_r(difference.get_mpz_t(), mpz_class(a - b).get_mpz_t(), m.get_mpz_t());
    EXPECT_EQ(to_number(view(subtract_mod(view(A), view(B), view(M)))), difference);
    const mpz_class base = 1 + below(m - 1);
    mpz_class inverse;
    if (mpz_invert(inverse.get_mpz_t(), base.get_mpz_t(), m.get_mpz_t()) != 0) {
      EXPECT_EQ(to_number(view(invert_mod(view(to_limbs(base, m_limbs)), view(M)))), inverse);
    }
  }
}

TEST_F(Numbers, ZeroIsAllOnes) {
  EXPECT_EQ(zero_mask(view(to_limbs(0, 3))), ~mp_limb_t{0});
  for (const unsigned bit : {0u, 63u, 64u, 191u})
    EXPECT_EQ(zero_mask(view(to_limbs(mpz_class(1) << bit, 3))), 0u);
  EXPECT_EQ(view(trimmed(view(to_limbs(5, 4)))).size(), 1u);
  EXPECT_EQ(view(resized(view(to_limbs(5, 1)), 4)).size(), 4u);
}

// Powers modulo p^(s+1), digit by digit: edges of the base and exponent, too.
TEST_F(Numbers, PowersInBasePAreThoseOfGmp) {
  for (const unsigned size : {64u, 128u, 190u}) {
    mpz_class p = bits(size);
    mpz_setbit(p.get_mpz_t(), size - 1);
    mpz_nextprime(p.get_mpz_t(), p.get_mpz_t());
    if (mpz_sizeinbase(p.get_mpz_t(), 2) != size) continue;
    for (unsigned s = 1; s <= 4; ++s) {
      mpz_class modulus;
      mpz_pow_ui(modulus.get_mpz_t(), p.get_mpz_t(), s + 1);
      const auto words = limbs_of_bits(mpz_sizeinbase(modulus.get_mpz_t(), 2));
      const DigitRing ring(view(to_limbs(p, limbs_of_bits(size))), s);
      for (const mpz_class& base : {mpz_class(1), mpz_class(modulus - 1), mpz_class(p + 1), below(modulus)}) {
        for (const mpz_class& exponent : {mpz_class(0), mpz_class(1), bits(200)}) {
          mpz_class expected;
          mpz_powm(expected.get_mpz_t(), base.get_mpz_t(), exponent.get_mpz_t(), modulus.get_mpz_t());
          const auto power = ring.power(view(to_limbs(base, words)), view(to_limbs(exponent, 4)), 200);
          EXPECT_EQ(to_number(view(power)), expected) << size << " bits, s = " << s;
        }
      }
    }
  }
}

// In the exponents of a generator, what a product of ciphertexts encrypts is the sum: the digit's child
// gets 1.
TEST_F(Numbers, MonomialsBecomeOneHot) {
  const mpz_class modulus = 1000003 * mpz_class(1000033), g = 2;
  for (const std::uint32_t arity : {2u, 4u, 8u}) {
    const auto sets = monomials(arity);
    ASSERT_EQ(sets.size(), arity - 1);
    for (std::uint32_t digit = 0; digit < arity; ++digit) {
      std::vector<mpz_class> selectors;
      for (const auto bits_of_set : sets)
        selectors.push_back((digit & bits_of_set) == bits_of_set ? g : mpz_class(1));
      const auto children = one_hot_from_polynomial(selectors, modulus);
      ASSERT_EQ(children.size(), arity - 1);
      for (std::uint32_t child = 1; child < arity; ++child) {
        EXPECT_EQ(children[child - 1], child == digit ? g : mpz_class(1)) << arity << ", digit " << digit;
      }
    }
  }
}

}  // namespace
}  // namespace pirx::cpir::dj
