// SPDX-License-Identifier: Apache-2.0
// Result, the macros that pass errors on, and broken contracts.
#include "pirx/base/result.h"

#include <gtest/gtest.h>

#include <memory>

namespace pirx {
namespace {

Result<int> half(int value) {
  if (value % 2 != 0) return fail(ErrorCode::kInvalidArgument, "odd");
  return value / 2;
}

Result<int> quarter(int value) {
  PIRX_ASSIGN(const int once, half(value));
  PIRX_ASSIGN(const int twice, half(once));
  return twice;
}

Result<void> must_be_even(int value) {
  PIRX_TRY(half(value));
  return {};
}

Result<std::unique_ptr<int>> boxed(int value) {
  PIRX_ASSIGN(const int h, half(value));
  return std::make_unique<int>(h);
}

TEST(Result, PassesValuesAndErrorsOn) {
  EXPECT_EQ(*quarter(12), 3);
  EXPECT_EQ(quarter(6).error().code(), ErrorCode::kInvalidArgument);
  EXPECT_TRUE(must_be_even(2));
  EXPECT_EQ(must_be_even(3).error().to_string(), "InvalidArgument: odd");
  EXPECT_EQ(**boxed(8), 4);
}

TEST(Result, EveryCodeHasItsName) {
  const std::pair<ErrorCode, const char*> names[] = {{ErrorCode::kInvalidArgument, "InvalidArgument"},
                                                     {ErrorCode::kOutOfRange, "OutOfRange"},
                                                     {ErrorCode::kDataLoss, "DataLoss"},
                                                     {ErrorCode::kUnavailable, "Unavailable"},
                                                     {ErrorCode::kResourceExhausted, "ResourceExhausted"},
                                                     {ErrorCode::kUnauthenticated, "Unauthenticated"},
                                                     {ErrorCode::kStaleEpoch, "StaleEpoch"},
                                                     {ErrorCode::kUndecodable, "Undecodable"},
                                                     {ErrorCode::kInternal, "Internal"}};
  for (const auto& [code, name] : names) EXPECT_EQ(error_code_name(code), name);
}

TEST(ResultDeathTest, BrokenContractAbortsWithItsPlace) {
  EXPECT_DEATH(PIRX_CHECK(1 + 1 == 3), "broken contract: 1 \\+ 1 == 3 .*result_test.cc");
  PIRX_CHECK(true);
}

}  // namespace
}  // namespace pirx
