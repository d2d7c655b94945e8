// The rates of this machine.
#include <gtest/gtest.h>

#include "pirx/planner/rates.h"
#include "support/files.h"

namespace pirx::planner {
namespace {

using pirx::testing::good;

// This machine's clocks and protocols, where it is quick: at 1024 bits and one level.
TEST(MachineTest, RatesAreMeasured) {
  Machine machine;
  for (const RateId id : {RateId{Quantity::kDjSquare, {1024, 1}}, RateId{Quantity::kDjProduct, {1024, 1, 7}},
                          RateId{Quantity::kDjEntry, {1024, 1, 7}}, RateId{Quantity::kDjRow, {1024, 1}},
                          RateId{Quantity::kDjZero, {1024, 1}}, RateId{Quantity::kDjOpen, {1024, 1}},
                          RateId{Quantity::kQrProduct, {1024, 6}}, RateId{Quantity::kQrTell, {1024}},
                          RateId{Quantity::kScan, {8, 12, 1}}, RateId{Quantity::kScan, {1, 12, 1}},
                          RateId{Quantity::kPrepare, {160, 12, 1}}, RateId{Quantity::kShare, {8, 3, 1, 6}},
                          RateId{Quantity::kSeeds, {1, 2, 1, 6}}, RateId{Quantity::kGather, {160, 3, 1, 6}},
                          RateId{Quantity::kGather, {1, 2, 1, 6}}, RateId{Quantity::kHash, {6}}}) {
    const auto seconds = machine.seconds(id);
    ASSERT_TRUE(good(seconds)) << id.name();
    EXPECT_GT(*seconds, 0) << id.name();
    EXPECT_EQ(*machine.seconds(id), *seconds) << "measured twice";
  }
}

}  // namespace
}  // namespace pirx::planner
