// SPDX-License-Identifier: Apache-2.0
// GF(2^8), all of it, against schoolbook multiplication and against NTL.
#include "pirx/gf2e/gf2_8.h"

#include "gf2e/field_checks.h"
#include "gf2e/ntl_oracle.h"

namespace pirx::gf2e {
namespace {

using Elem8 = Gf2_8::Elem;

/// The product of polynomials, then long division by 0x11B.
unsigned mul_ref(unsigned a, unsigned b) {
  unsigned product = 0;
  for (unsigned i = 0; i < 8; ++i) {
    if ((b >> i) & 1) product ^= a << i;
  }
  for (unsigned i = 14; i >= 8; --i) {
    if ((product >> i) & 1) product ^= 0x11Bu << (i - 8);
  }
  return product;
}

// From FIPS 197, section 4.2.
static_assert(Gf2_8::mul(0x57, 0x83) == 0xC1 && Gf2_8::mul(0x57, 0x13) == 0xFE);
static_assert(Gf2_8::inv(0) == 0 && Gf2_8::inv(1) == 1);

TEST(Gf2_8Test, EveryProductAndInverse) {
  const Gf2_8 f;
  NTL::GF2EPush modulus(pirx::testing::ntl_modulus(f.tag()));
  EXPECT_TRUE(NTL::IterIrredTest(NTL::GF2E::modulus()));
  for (unsigned a = 0; a < 256; ++a) {
    const auto x = static_cast<Elem8>(a);
    for (unsigned b = 0; b < 256; ++b) {
      const auto y = static_cast<Elem8>(b);
      ASSERT_EQ(f.mul(x, y), mul_ref(a, b)) << a << " " << b;
      ASSERT_EQ(f.mul(x, y), pirx::testing::ntl_mul(a, b)) << a << " " << b;
      ASSERT_EQ(f.sum_scale(x, y), mul_ref(a, b));
      ASSERT_EQ(f.add(x, y), a ^ b);
      ASSERT_EQ(f.sub(x, y), a ^ b);
      ASSERT_EQ(f.equal(x, y), a == b);
    }
    if (a != 0) {
      ASSERT_EQ(f.inv(x), pirx::testing::ntl_inv(a)) << a;
      ASSERT_EQ(f.mul(x, f.inv(x)), f.one()) << a;
    }
  }
}

TEST(Gf2_8Test, LabelsWordsAndRandomness) {
  const Gf2_8 f;
  EXPECT_EQ(f.tag(), kTagGf2_8);
  EXPECT_EQ(f.size_limit(), 256u);
  pirx::testing::check_labels_and_wire(f);
  pirx::testing::check_words(f);
  pirx::testing::check_random(f, 1 << 16);
}

}  // namespace
}  // namespace pirx::gf2e
