// SPDX-License-Identifier: Apache-2.0
// The load tool's counts and times, on servers whose behaviour is known.
#include "tools/pirx/load.h"

#include <gtest/gtest.h>

#include <cmath>

#include "http/http_support.h"

namespace pirx::cli {
namespace {

using namespace pirx::http::testing;

LoadPlan plan_for(const RunningServer& server) {
  LoadPlan plan;
  plan.server.url = server.url();
  plan.connections = 4;
  plan.duration = 200ms;
  plan.max_reply_bytes = 1000;
  return plan;
}

TEST(Load, PercentilesAreOfTheValuesThemselves) {
  const std::vector<double> rising{1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
  EXPECT_EQ(LoadReport::percentile(rising, 0.5), 5);
  EXPECT_EQ(LoadReport::percentile(rising, 0.51), 6);
  EXPECT_EQ(LoadReport::percentile(rising, 0.99), 10);
  EXPECT_EQ(LoadReport::percentile(rising, 1), 10);
  EXPECT_EQ(LoadReport::percentile(rising, 0), 1);
  EXPECT_EQ(LoadReport::percentile({}, 0.5), 0);
}

TEST(Load, ClosedLoopAsksAsSoonAsItIsAnswered) {
  RunningServer server;
  const auto report = run_load(plan_for(server), {bytes_of("abc"), bytes_of("xyz")});
  ASSERT_TRUE(report) << report.error().to_string();
  EXPECT_GT(report->sent, 4u);
  EXPECT_EQ(report->answered.size(), report->sent);
  EXPECT_TRUE(std::is_sorted(report->answered.begin(), report->answered.end()));
  EXPECT_TRUE(report->refused.empty());
  EXPECT_TRUE(report->failed.empty());
  EXPECT_GE(report->seconds, 0.2);
  EXPECT_EQ(server.fake->seen().size(), report->sent);
  EXPECT_GT(report->bytes_up, 3 * report->sent);
}

// One connection, requests that take 20 ms, and far more of them than fit: each waits for those before it,
// and that is what its time says.
TEST(Load, OpenLoopCountsFromWhenARequestShouldHaveBegun) {
  RunningServer server;
  server.fake->delay = 20ms;
  auto plan = plan_for(server);
  plan.connections = 1;
  plan.rate = 200;
  const auto report = run_load(plan, {bytes_of("abc")});
  ASSERT_TRUE(report) << report.error().to_string();
  ASSERT_GT(report->sent, 10u);
  EXPECT_EQ(report->answered.size(), report->sent);
  const auto all = 20.0 * static_cast<double>(report->sent);
  EXPECT_GE(report->answered.back(), all - 200);
  EXPECT_GE(report->seconds * 1000, all);
}

TEST(Load, TheSameSeedIsTheSameLoad) {
  RunningServer server;
  auto plan = plan_for(server);
  plan.rate = 300;
  plan.seed = 7;
  const auto first = run_load(plan, {bytes_of("abc")});
  const auto second = run_load(plan, {bytes_of("abc")});
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->sent, second->sent);
}

TEST(Load, RefusalsAndFailuresAreCounted) {
  RunningServer server;
  const std::string exhausted = "e" + std::to_string(static_cast<int>(ErrorCode::kResourceExhausted));
  const auto report = run_load(plan_for(server), {bytes_of("abc"), bytes_of(exhausted), bytes_of("e1")});
  ASSERT_TRUE(report);
  EXPECT_FALSE(report->answered.empty());
  EXPECT_FALSE(report->refused.empty());
  EXPECT_EQ(report->failed.at("InvalidArgument"),
            report->sent - report->answered.size() - report->refused.size());
}

TEST(Load, ARepliesFaultIsAFailureByItsName) {
  RunningServer server;
  auto plan = plan_for(server);
  plan.fault = [](std::size_t body, ByteSpan reply) -> std::string {
    EXPECT_EQ(as_text(reply), body == 0 ? "cba" : "zyx");
    return body == 0 ? "" : "keys not held";
  };
  const auto report = run_load(plan, {bytes_of("abc"), bytes_of("xyz")});
  ASSERT_TRUE(report) << report.error().to_string();
  EXPECT_FALSE(report->answered.empty());
  EXPECT_EQ(report->failed.at("keys not held"), report->sent - report->answered.size());
}

TEST(Load, RefusesWhatIsNoLoad) {
  RunningServer server;
  const auto refused = [&](auto change, std::vector<Bytes> bodies = {bytes_of("abc")}) {
    auto plan = plan_for(server);
    change(plan);
    const auto report = run_load(plan, bodies);
    return !report && report.error().code() == ErrorCode::kInvalidArgument;
  };
  EXPECT_TRUE(refused([](auto&) {}, {}));
  EXPECT_TRUE(refused([](auto& plan) { plan.connections = 0; }));
  EXPECT_TRUE(refused([](auto& plan) { plan.duration = 0ms; }));
  EXPECT_TRUE(refused([](auto& plan) { plan.deadline = -1ms; }));
  EXPECT_TRUE(refused([](auto& plan) { plan.rate = -1; }));
  EXPECT_TRUE(refused([](auto& plan) { plan.rate = std::nan(""); }));
  EXPECT_TRUE(refused([](auto& plan) { plan.rate = 1e12; }));
  EXPECT_TRUE(refused([](auto& plan) { plan.server.url = "no url"; }));
}

}  // namespace
}  // namespace pirx::cli
