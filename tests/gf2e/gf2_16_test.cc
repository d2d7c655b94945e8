// SPDX-License-Identifier: Apache-2.0
// GF(2^16): the polynomial, its generator, every inverse, and products against NTL.
#include "pirx/gf2e/gf2_16.h"

#include "gf2e/field_checks.h"
#include "gf2e/ntl_oracle.h"

namespace pirx::gf2e {
namespace {

using Elem16 = Gf2_16::Elem;

static_assert(Gf2_16::mul(0x8000, 2) == 0x50D7);
static_assert(Gf2_16::inv(0) == 0 && Gf2_16::inv(1) == 1);

TEST(Gf2_16Test, ThePolynomialIsIrreducible) {
  EXPECT_EQ(Gf2_16::tag(), kTagGf2_16);
  EXPECT_EQ(pirx::testing::ntl_bits(pirx::testing::ntl_modulus(Gf2_16::tag())), 0x150D7u);
  EXPECT_TRUE(NTL::IterIrredTest(pirx::testing::ntl_modulus(Gf2_16::tag())));
}

TEST(Gf2_16Test, ThePowersOfXAreAllTheElementsButZero) {
  const Gf2_16 f;
  std::vector<bool> seen(65536);
  Elem16 power = f.one();
  for (unsigned i = 0; i < 65535; ++i) {
    ASSERT_FALSE(seen[power]) << i;
    seen[power] = true;
    power = f.mul(power, 2);
  }
  EXPECT_EQ(power, f.one());
  EXPECT_FALSE(seen[0]);
}

TEST(Gf2_16Test, EveryInverse) {
  const Gf2_16 f;
  NTL::GF2EPush modulus(pirx::testing::ntl_modulus(f.tag()));
  for (unsigned a = 1; a < 65536; ++a) {
    const Elem16 inverse = f.inv(static_cast<Elem16>(a));
    ASSERT_EQ(f.mul(static_cast<Elem16>(a), inverse), f.one()) << a;
    if (a % 16 == 0) {
      ASSERT_EQ(inverse, pirx::testing::ntl_inv(a)) << a;
    }
  }
}

TEST(Gf2_16Test, ProductsAgreeWithNtl) {
  const Gf2_16 f;
  NTL::GF2EPush modulus(pirx::testing::ntl_modulus(f.tag()));
  auto rng = pirx::testing::seeded_engine();
  for (int i = 0; i < 50000; ++i) {
    const auto a = static_cast<Elem16>(rng()), b = static_cast<Elem16>(rng());
    ASSERT_EQ(f.mul(a, b), pirx::testing::ntl_mul(a, b)) << a << " " << b;
    ASSERT_EQ(f.sum_scale(a, b), f.mul(a, b));
    ASSERT_EQ(f.mul(a, b), f.mul(b, a));
    ASSERT_EQ(f.add(a, b), a ^ b);
    ASSERT_EQ(f.sub(a, b), a ^ b);
  }
  // Bilinear in the bits: all pairs of powers of x settle every product.
  for (unsigned i = 0; i < 16; ++i) {
    for (unsigned j = 0; j < 16; ++j) {
      ASSERT_EQ(f.mul(static_cast<Elem16>(1u << i), static_cast<Elem16>(1u << j)),
                pirx::testing::ntl_mul(1u << i, 1u << j));
    }
  }
}

TEST(Gf2_16Test, LabelsWordsAndRandomness) {
  const Gf2_16 f;
  EXPECT_EQ(f.size_limit(), 65536u);
  pirx::testing::check_labels_and_wire(f);
  pirx::testing::check_words(f);
  pirx::testing::check_random(f, 1 << 20);
}

}  // namespace
}  // namespace pirx::gf2e
