// SPDX-License-Identifier: Apache-2.0
// The largest case of privacy_test.cc, apart for its 4 * 7^8 queries.
#include "privacy_case.h"

namespace pirx::itpir::goldberg {
namespace {

TEST(PrivacyLargest, FieldOf7FourServersTwoColludingFourRows) {
  EXPECT_TRUE((testing::Case<pirx::testing::TinyPrime<7>>{4, 2, 4}.private_against(2)));
}

}  // namespace
}  // namespace pirx::itpir::goldberg
