// SPDX-License-Identifier: Apache-2.0
// What an offer takes in all, and the search for the best one.
#include "src/protocol/offers.h"

#include <gtest/gtest.h>

#include <array>

namespace pirx {
namespace {

const Question kQuestion{
    .records = 1000, .record_bytes = 10, .link = {.up = 8, .down = 80, .round_trip = 0.5}};

TEST(Offers, EverythingThatTakesTimeCountsOnce) {
  Offer offer;
  EXPECT_DOUBLE_EQ(total_seconds(offer, kQuestion, kQuestion.link), 0.5);
  offer.bytes_up = 2;     // 2 s
  offer.bytes_down = 30;  // 3 s
  offer.server_seconds = 4;
  offer.client_seconds = 5;
  offer.ahead_seconds = 6;
  EXPECT_DOUBLE_EQ(total_seconds(offer, kQuestion, kQuestion.link), 20.5);
  auto ahead = kQuestion;
  ahead.ahead = true;
  EXPECT_DOUBLE_EQ(total_seconds(offer, ahead, ahead.link), 14.5);
  // What is needed once is shared by the queries of a version.
  offer.bytes_once = 70;    // 7 s
  offer.bytes_once_up = 8;  // 8 s
  offer.prepare_seconds = 5;
  EXPECT_DOUBLE_EQ(total_seconds(offer, kQuestion, kQuestion.link), 40.5);
  ahead.queries = 10;
  EXPECT_DOUBLE_EQ(total_seconds(offer, ahead, ahead.link), 16.5);
  offer.round_trips = 3;        // 1 s more
  offer.round_trips_once = 20;  // 10 s
  EXPECT_DOUBLE_EQ(total_seconds(offer, kQuestion, kQuestion.link), 51.5);
  EXPECT_DOUBLE_EQ(total_seconds(offer, ahead, ahead.link), 18.5);
}

TEST(Offers, RowsToTryStayWithinTheDatabase) {
  EXPECT_EQ(rows_to_try(kQuestion, 100, 2), (std::vector<std::uint64_t>{25, 50, 100, 200, 400}));
  EXPECT_EQ(rows_to_try(kQuestion, 2, 2), (std::vector<std::uint64_t>{1, 2, 4, 8}));  // once each
  EXPECT_EQ(rows_to_try(kQuestion, 800, 1), (std::vector<std::uint64_t>{400, 800, 1000}));
  auto huge = kQuestion;
  huge.records = ~std::uint64_t{0};  // no double is that
  for (const auto rows : rows_to_try(huge, std::uint64_t{1} << 63, 2))
    EXPECT_GE(rows, std::uint64_t{1} << 61);
  auto given = kQuestion;
  given.geometry = *geometry_of(kQuestion, 7);
  EXPECT_EQ(rows_to_try(given, 100, 2), (std::vector<std::uint64_t>{7}));
  EXPECT_EQ(geometry_of(given, 100)->spec().records_per_row, 7u);
  EXPECT_EQ(geometry_of(kQuestion, 5000)->spec().records_per_row, 1000u);
}

TEST(Offers, TheBestOfThoseThatCanBe) {
  constexpr std::array<std::uint64_t, 4> tries = {1, 2, 3, 4};
  const auto best = [&](auto seconds_or_error) {
    return best_of(tries, kQuestion, [&](std::uint64_t tried) -> Result<Offer> {
      PIRX_ASSIGN(const double seconds, seconds_or_error(tried));
      Offer offer;
      offer.records_per_row = tried;
      offer.server_seconds = seconds;
      return offer;
    });
  };
  // 1 cannot be, 4 takes as long as 3: the first of equals stays.
  const auto found = best([](std::uint64_t tried) -> Result<double> {
    if (tried == 1) return invalid("not so few");
    return tried == 2 ? 9.0 : 3.0;
  });
  ASSERT_TRUE(found);
  EXPECT_EQ(found->records_per_row, 3u);
  const auto none =
      best([](std::uint64_t tried) -> Result<double> { return invalid(std::to_string(tried)); });
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().message(), "4");
  int asked = 0;
  const auto failed = best([&](std::uint64_t tried) -> Result<double> {
    ++asked;
    if (tried == 2) return fail(ErrorCode::kUnavailable, "no rate");
    return 1.0;
  });
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code(), ErrorCode::kUnavailable);
  EXPECT_EQ(asked, 2);
}

}  // namespace
}  // namespace pirx
