// Every scheme carried out at toy sizes: records come back, messages have the predicted lengths. Times are
// not judged.
#include "bench/planner/validate.h"

#include <gtest/gtest.h>

#include <set>

#include "planner/rates_support.h"
#include "support/files.h"

namespace pirx::planner {
namespace {

using pirx::testing::expect_error;
using pirx::testing::good;

TEST(ValidateTest, MessagesHaveThePredictedLengths) {
  const pirx::testing::TemporaryFolder folder(pirx::testing::TemporaryFolder::kMemory);
  pirx::testing::MadeUpRates rates;
  ValidateOptions options;
  options.record_bytes = 40;
  options.one_server_bytes = 1000;
  options.several_servers_bytes = 50000;
  options.modulus_bits = 1024;
  options.reproduction = true;
  options.runs = 1;
  const auto measured = validate(options, folder.path(), rates);
  ASSERT_TRUE(good(measured));
  std::set<std::string> schemes;
  for (const auto& one : *measured) {
    schemes.insert(one.offer.scheme + (one.offer.seeded ? " seeded" : ""));
    EXPECT_EQ(one.bytes_up, one.offer.bytes_up) << one.offer.scheme;
    EXPECT_EQ(one.bytes_down, one.offer.bytes_down) << one.offer.scheme;
    EXPECT_GT(one.server_seconds, 0) << one.offer.scheme;
    EXPECT_GT(one.client_seconds, 0) << one.offer.scheme;
  }
  EXPECT_EQ(schemes, (std::set<std::string>{"chor", "chor seeded", "dj-tree", "goldberg", "goldberg seeded",
                                            "qr", "spiral"}));
  EXPECT_EQ(measured->size(), 8u);
  EXPECT_TRUE(folder.files().empty());
}

TEST(ValidateTest, NonsenseIsRefused) {
  pirx::testing::MadeUpRates rates;
  ValidateOptions options;
  options.record_bytes = 0;
  expect_error(validate(options, "/", rates), ErrorCode::kInvalidArgument, "a byte or more");
  options.record_bytes = 10;
  options.runs = 0;
  expect_error(validate(options, "/", rates), ErrorCode::kInvalidArgument, "a run or more");
}

// This machine's clocks and protocols, where it is quick: at 1024 bits and one level.
TEST(ValidateTest, ThisMachineIsMeasured) {
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
