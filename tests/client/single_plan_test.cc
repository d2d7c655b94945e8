// Plans of single servers that ask too much of a client.
#include "pirx/client/single_plan.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "pirx/client/deployment.h"
#include "pirx/client/fetch_single.h"
#include "support/files.h"

namespace pirx::client {
namespace {

using pirx::testing::expect_error;
using pirx::testing::good;

constexpr std::chrono::milliseconds kTenMinutes{600'000};

const http::Endpoint kNobody{.url = "http://127.0.0.1:1", .ca_file = {}};

database::Geometry geometry(std::uint64_t records, std::uint64_t bytes) {
  return *database::Geometry::create({.records = records, .record_bytes = bytes});
}

TEST(SinglePlan, HostilePlansAreRefusedBeforeAnythingIsDone) {
  std::ifstream file(PIRX_SOURCE_DIR "/tests/vectors/hostile_parameters.json");
  const auto plans = nlohmann::json::parse(file);
  EXPECT_EQ(plans.size(), 7u);
  for (const auto& one : plans) {
    const auto plan = decode_plan(*from_hex(one.at("message").get<std::string>()));
    ASSERT_TRUE(good(plan)) << one;
    ASSERT_TRUE(*plan) << one;
    const SingleDeployment deployment{**plan, kNobody};
    EXPECT_TRUE(good(check_keys(deployment, false))) << one;
    const auto option = one.at("refused").get<std::string>();
    expect_error(check_work(deployment.plan, 1, {}, kTenMinutes), ErrorCode::kResourceExhausted, option);
    expect_error(fetch_records(deployment, std::vector<std::uint64_t>{0}, {}), ErrorCode::kResourceExhausted,
                 option);
    const WorkLimits all{~std::uint64_t{0}, ~std::uint64_t{0}, std::chrono::hours(100)};
    EXPECT_TRUE(good(check_work(deployment.plan, 1, all, std::chrono::hours(100)))) << one;
  }
}

TEST(SinglePlan, UsualPlansAreNot) {
  for (const auto& of : {geometry(63'666, 240), geometry(1 << 20, 256), geometry(1000, 1 << 14)}) {
    const SinglePlan plans[] = {*cpir::dj::Params::create({.geometry = of, .version = {}}),
                                *cpir::qr::Params::create({.geometry = of, .version = {}}),
                                *cpir::spiral::choose_params(of, {})};
    for (const auto& plan : plans) {
      EXPECT_TRUE(good(check_work(plan, 3, {}, kTenMinutes))) << single_protocol_name(plan) << of.records();
    }
  }
}

TEST(SinglePlan, MakingAQueryCountsAgainstItsDeadline) {
  const auto small = *database::Geometry::create(
      {.records = 4, .record_bytes = 1, .variable_length = false, .digests = false});
  const auto plan =
      *cpir::qr::Params::create({.geometry = small, .version = {}, .slots = 1, .modulus_bits = 2048});
  // The key alone takes longer than this. Nobody listens: what was sent would fail in another way.
  SingleOptions options;
  options.deadline = std::chrono::milliseconds(2);
  expect_error(fetch_records({plan, kNobody}, std::vector<std::uint64_t>{0}, options),
               ErrorCode::kUnavailable, "not made in time");
  const auto tree = *cpir::dj::Params::create({.geometry = geometry(1 << 20, 256), .version = {}});
  expect_error(check_work(tree, 1, {}, std::chrono::milliseconds(5)), ErrorCode::kResourceExhausted,
               "--deadline");
}

}  // namespace
}  // namespace pirx::client
