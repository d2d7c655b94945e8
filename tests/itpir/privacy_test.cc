// SPDX-License-Identifier: Apache-2.0
// Privacy as a unit test: the view of any t servers has the very same distribution for every index, for every
// field of 3 to 7 elements. Planted bugs show that the test can fail.
#include <cstdlib>

#include "privacy_case.h"

namespace pirx::itpir::goldberg {
namespace {

using pirx::testing::TinyGf4;
using pirx::testing::TinyPrime;
using testing::Case;

template <class F>
void check_field() {
  const auto size = static_cast<unsigned>(F().size_limit());
  const bool largest = std::getenv("PIRX_TEST_LARGEST") != nullptr;
  unsigned cases = 0;
  for (unsigned l = 2; l <= 4 && l < size; ++l) {
    for (unsigned t = 1; t <= 2 && t < l; ++t) {
      for (unsigned rows = 1; rows <= 4; ++rows) {
        SCOPED_TRACE("|F|=" + std::to_string(size) + " l=" + std::to_string(l) + " t=" + std::to_string(t) +
                     " r=" + std::to_string(rows));
        const Case<F> shape{l, t, rows};
        // 7^8 coins for every index take minutes: every night.
        if (size == 7 && t == 2 && rows == 4 && !largest) continue;
        EXPECT_TRUE(shape.private_against(t));
        if (rows > 1) {
          EXPECT_FALSE(shape.private_against(t + 1))
              << "t + 1 servers can decode, so their views must differ";
        }
        ++cases;
      }
    }
  }
  EXPECT_EQ(cases, size == 3 ? 4u : size == 4 ? 12u : size == 5 || largest ? 20u : 18u);
}

TEST(Privacy, FieldOf3) { check_field<TinyPrime<3>>(); }
TEST(Privacy, FieldOf4) { check_field<TinyGf4>(); }
TEST(Privacy, FieldOf5) { check_field<TinyPrime<5>>(); }
TEST(Privacy, FieldOf7) { check_field<TinyPrime<7>>(); }

/// t = 1 or 2, two indices in one round: the joint view of both query vectors.
TEST(Privacy, ListsOfIndices) {
  EXPECT_TRUE((Case<TinyPrime<3>>{2, 1, 3, 2}.private_against(1)));
  EXPECT_TRUE((Case<TinyPrime<5>>{3, 2, 2, 2}.private_against(2)));
  EXPECT_FALSE((Case<TinyPrime<3>>{2, 1, 3, 2}.private_against(2)));
}

/// Blinded shares: |F| - 1 scalars for every server and query on top.
TEST(Privacy, OfBlindedShares) {
  const auto on = Blinding::kOn;
  EXPECT_TRUE((Case<TinyPrime<3>>{2, 1, 3, 1, 0, on}.private_against(1)));
  EXPECT_TRUE((Case<TinyGf4>{3, 2, 2, 1, 0, on}.private_against(2)));
  EXPECT_TRUE((Case<TinyPrime<5>>{3, 1, 3, 1, 0, on}.private_against(1)));
  EXPECT_TRUE((Case<TinyPrime<5>>{3, 2, 2, 1, 0, on}.private_against(2)));
  EXPECT_TRUE((Case<TinyPrime<5>>{4, 1, 2, 1, 0, on}.private_against(1)));
  EXPECT_TRUE((Case<TinyPrime<7>>{3, 1, 2, 1, 0, on}.private_against(1)));
  EXPECT_TRUE((Case<TinyPrime<3>>{2, 1, 2, 2, 0, on}.private_against(1)));  // two indices at once
  // Blinding hides nothing from t + 1, and a blinding scalar that is also a coin of the shares would be seen.
  EXPECT_FALSE((Case<TinyPrime<5>>{3, 1, 3, 1, 0, on}.private_against(2)));
  EXPECT_FALSE((Case<TinyPrime<5>>{2, 1, 3, 1, 3, on}.private_against(1)));
}

TEST(Privacy, CatchesThatTheSecondCoefficientRepeatsTheFirst) {
  // G_2 = G_1: two servers can then solve for more than they should.
  EXPECT_FALSE((Case<TinyPrime<5>>{3, 2, 2, 1, 2}.private_against(2)));
  EXPECT_FALSE((Case<TinyPrime<7>>{4, 2, 3, 1, 3}.private_against(2)));
}

TEST(Privacy, CatchesThatTwoQueriesShareTheirCoins) {
  // Each query alone is private; the difference of the two is not.
  EXPECT_FALSE((Case<TinyPrime<5>>{3, 1, 3, 2, 3}.private_against(1)));
}

TEST(Privacy, CatchesASingleCoinReused) {
  EXPECT_FALSE((Case<TinyPrime<3>>{2, 1, 3, 1, 2}.private_against(1)));
}

}  // namespace
}  // namespace pirx::itpir::goldberg
