// SPDX-License-Identifier: Apache-2.0
// The rates of this machine.
#include <gtest/gtest.h>

#include "pirx/planner/planner.h"
#include "support/files.h"

namespace pirx::planner {
namespace {

using pirx::testing::good;

// This machine's clocks and protocols, where it is quick: at 1024 bits and one level.
TEST(MachineTest, RatesAreMeasured) {
  Machine machine;
  for (const RateId& id :
       {RateId{"dj_square", {1024, 1}}, RateId{"dj_product", {1024, 1, 7}}, RateId{"dj_entry", {1024, 1, 7}},
        RateId{"dj_row", {1024, 1}}, RateId{"dj_zero", {1024, 1}}, RateId{"dj_open", {1024, 1}},
        RateId{"qr_product", {1024, 6}}, RateId{"qr_tell", {1024}}, RateId{"scan", {8, 12, 1}},
        RateId{"scan", {1, 12, 1}}, RateId{"prepare", {160, 12, 1}}, RateId{"share", {8, 3, 1, 6}},
        RateId{"chor_seeds", {2, 6}}, RateId{"gather", {160, 3, 1, 6}}, RateId{"chor_gather", {2, 6}},
        RateId{"hash", {6}}}) {
    const auto seconds = machine.seconds(id);
    ASSERT_TRUE(good(seconds)) << id.name();
    EXPECT_GT(*seconds, 0) << id.name();
    EXPECT_EQ(*machine.seconds(id), *seconds) << "measured twice";
  }
}

}  // namespace
}  // namespace pirx::planner
