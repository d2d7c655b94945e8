// SPDX-License-Identifier: Apache-2.0
// GF(2), all of it.
#include "pirx/gf2e/gf2.h"

#include "gf2e/field_checks.h"

namespace pirx::gf2e {
namespace {

TEST(Gf2Test, Arithmetic) {
  const Gf2 f;
  EXPECT_EQ(f.tag(), kTagGf2);
  for (const Gf2::Elem a : {0, 1}) {
    for (const Gf2::Elem b : {0, 1}) {
      EXPECT_EQ(f.add(a, b), (a + b) % 2);
      EXPECT_EQ(f.sub(a, b), (a + b) % 2);
      EXPECT_EQ(f.mul(a, b), a * b);
      EXPECT_EQ(f.equal(a, b), a == b);
    }
    EXPECT_EQ(f.inv(a), a);
  }
}

TEST(Gf2Test, ASumIsEightColumns) {
  const Gf2 f;
  for (unsigned s = 0; s < 256; ++s) {
    for (unsigned t = 0; t < 256; ++t) {
      ASSERT_EQ(f.sum_add(static_cast<Gf2::Sum>(s), static_cast<Gf2::Sum>(t)), s ^ t);
      ASSERT_EQ(f.sum_sub(static_cast<Gf2::Sum>(s), static_cast<Gf2::Sum>(t)), s ^ t);
    }
  }
}

TEST(Gf2Test, LabelsWordsAndRandomness) {
  const Gf2 f;
  pirx::testing::check_labels_and_wire(f);
  pirx::testing::check_words(f);
  pirx::testing::check_random(f, 4096);
}

TEST(Gf2Test, TheDecoderRefusesOtherScalars) {
  const Gf2 f;
  for (unsigned value = 2; value < 256; ++value) {
    const auto wire = static_cast<std::byte>(value);
    Gf2::Elem a = 0;
    EXPECT_FALSE(f.decode_elem(&wire, a)) << value;
  }
}

}  // namespace
}  // namespace pirx::gf2e
