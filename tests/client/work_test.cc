// SPDX-License-Identifier: Apache-2.0
// Plans that ask too much of a client.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <numeric>
#include <thread>

#include "pirx/client/fetch.h"
#include "pirx/cpir/dj/common.h"
#include "pirx/cpir/inspire/common.h"
#include "pirx/cpir/qr/common.h"
#include "pirx/cpir/spiral/common.h"
#include "src/protocol/message.h"
#include "support/files.h"
#include "support/source_file.h"

namespace pirx::client {
namespace {

using pirx::testing::expect_error;
using pirx::testing::good;

constexpr std::chrono::milliseconds kTenMinutes{600'000};

const http::Endpoint kNobody{.url = "http://127.0.0.1:1", .ca_file = {}};

database::Geometry geometry(std::uint64_t records, std::uint64_t bytes) {
  return *database::Geometry::create({.records = records, .record_bytes = bytes});
}

/// A parameters message of inspire, with digests that no masks have.
Bytes inspire_parameters(const database::Geometry& of) {
  auto spec = cpir::inspire::choose_params(of, {}, std::nullopt, cpir::inspire::Goal::kBytes)->spec();
  spec.masks.resize(cpir::inspire::Params::create(spec)->blocks());
  return cpir::inspire::Params::create(spec)->encode();
}

/// The deployment that a server's parameters message leads to.
Deployment deployment_of(ByteSpan parameters) {
  const auto& protocol = **find_protocol_of(parameters);
  const auto told = *protocol.tell(parameters);
  PlanSpec spec{*Options::create(protocol.members, told.members, ""), {}, told.version};
  if (!protocol.describes_database) spec.geometry = told.geometry;
  return {*protocol.plan(spec), {kNobody}};
}

TEST(Work, HostilePlansAreRefusedBeforeAnythingIsDone) {
  auto file = pirx::testing::source_file("tests/vectors/hostile_parameters.json");
  const auto plans = nlohmann::json::parse(file);
  EXPECT_EQ(plans.size(), 9u);
  for (const auto& one : plans) {
    const auto deployment = deployment_of(*from_hex(one.at("message").get<std::string>()));
    EXPECT_TRUE(good(deployment.plan->check({}))) << one;
    const auto option = one.at("refused").get<std::string>();
    expect_error(check_work(deployment.plan->work(), 1, {}, kTenMinutes), ErrorCode::kResourceExhausted,
                 option);
    auto fetcher = Fetcher::create(deployment);
    ASSERT_TRUE(good(fetcher));
    expect_error(fetcher->fetch(std::vector<std::uint64_t>{0}, {}), ErrorCode::kResourceExhausted, option);
    const WorkLimits all{~std::uint64_t{0}, ~std::uint64_t{0}, std::chrono::hours(100)};
    EXPECT_TRUE(good(check_work(deployment.plan->work(), 1, all, std::chrono::hours(100)))) << one;
  }
}

/// Goldberg's protocol with several servers.
std::shared_ptr<const Plan> shares_plan(const database::Geometry& of, unsigned servers, Texts members,
                                        std::uint64_t first = 1) {
  const auto& protocol = **find_protocol("goldberg");
  std::vector<std::uint64_t> coordinates(servers);
  std::iota(coordinates.begin(), coordinates.end(), first);
  return protocol.plan({*Options::create(protocol.members, members, ""), of, {}, coordinates}).value();
}

TEST(Work, SharesAndRepliesCountAsFieldElements) {
  const auto of = [](std::uint64_t records, std::uint64_t bytes) {
    return *database::Geometry::create({.records = records,
                                        .record_bytes = bytes,
                                        .records_per_row = 1,
                                        .variable_length = false,
                                        .digests = false});
  };
  // Elements of prime8 have 2 bytes in messages and 40 in memory: those of three shares, and of one server's
  // coins. A query of these 33 MB takes minutes to make for a hundred servers.
  const auto narrow = shares_plan(of(5'000'000, 1), 3, {{"field", "prime8"}, {"threshold", "1"}});
  EXPECT_GE(narrow->work().memory, 4 * 40 * 5e6);
  expect_error(check_work(narrow->work(), 1, {.memory = 64 << 20}, kTenMinutes),
               ErrorCode::kResourceExhausted, "--max-memory");
  const auto slow = shares_plan(of(80'000, 1), 200, {{"field", "prime8"}, {"threshold", "100"}});
  expect_error(check_work(slow->work(), 1, {}, kTenMinutes), ErrorCode::kResourceExhausted, "--max-work");
  // A batch code's query is never less than a full batch, and a ramp takes its square for each share.
  const auto batch =
      shares_plan(of(38'400, 1), 10, {{"field", "prime8"}, {"threshold", "9"}, {"code", "subset:12,11"}});
  expect_error(check_work(batch->work(), 1, {}, kTenMinutes), ErrorCode::kResourceExhausted, "--max-work");
  expect_error(check_work(batch->work(), 1, {.time = std::chrono::hours(24)}, std::chrono::seconds(10)),
               ErrorCode::kResourceExhausted, "--deadline");
  const auto steep =
      shares_plan(of(1000, 100), 1024, {{"field", "gf2_16"}, {"threshold", "1"}, {"ramp", "1000"}});
  EXPECT_GT(steep->work().seconds + steep->work().once_seconds, 30);
  // Rows that no vector can share take one each, whatever the ramp.
  const auto ramp = shares_plan(of(60'000, 100), 52,
                                {{"field", "gf2_8"},
                                 {"threshold", "1"},
                                 {"ramp", "50"},
                                 {"encoding.arity", "2"},
                                 {"encoding.independence", "0"},
                                 {"encoding.modulus", "200"}},
                                200);
  EXPECT_GT(ramp->work().row_bytes, 52 * 30'000.0);
}

TEST(Work, RoundsFitTheMemory) {
  const auto plan = shares_plan(*database::Geometry::create({.records = 1000, .record_bytes = 1 << 20}), 4,
                                {{"field", "gf2_8"}, {"threshold", "1"}});
  const auto rounds = [&](std::uint64_t memory, unsigned wanted) {
    return rounds_within(plan->work(), 1, {.memory = memory << 20}, wanted);
  };
  EXPECT_EQ(rounds(1 << 10, 4), 4u);
  EXPECT_EQ(rounds(1 << 10, 8), 8u);
  EXPECT_EQ(rounds(25, 8), 2u) << "replies of a round: 4 MiB, and as elements, with the row, 5";
  EXPECT_EQ(rounds(1, 8), 1u);
  EXPECT_EQ(rounds(1 << 10, 0), 0u) << "refused by the client";
}

TEST(Work, UsualPlansAreNot) {
  for (const auto& of : {geometry(63'666, 240), geometry(1 << 20, 256), geometry(1000, 1 << 14)}) {
    for (const auto& message : {cpir::dj::Params::create({.geometry = of, .version = {}})->encode(),
                                cpir::qr::Params::create({.geometry = of, .version = {}})->encode(),
                                cpir::spiral::choose_params(of, {})->encode(), inspire_parameters(of)}) {
      const auto plan = deployment_of(message).plan;
      EXPECT_TRUE(good(check_work(plan->work(), 3, {}, kTenMinutes))) << plan->summary() << of.records();
    }
  }
}

TEST(Work, MakingAQueryCountsAgainstItsDeadline) {
  const auto small = *database::Geometry::create(
      {.records = 4, .record_bytes = 1, .variable_length = false, .digests = false});
  const auto plan =
      *cpir::qr::Params::create({.geometry = small, .version = {}, .slots = 1, .modulus_bits = 2048});
  // The key alone takes longer than this. Nobody listens: what was sent would fail in another way.
  auto fetcher = Fetcher::create(deployment_of(plan.encode()));
  ASSERT_TRUE(good(fetcher));
  expect_error(fetcher->fetch(std::vector<std::uint64_t>{0}, {.deadline = std::chrono::milliseconds(2)}),
               ErrorCode::kUnavailable, "while the client's keys were made");
  const auto tree = *cpir::dj::Params::create({.geometry = geometry(1 << 20, 256), .version = {}});
  expect_error(check_work(deployment_of(tree.encode()).plan->work(), 1, {}, std::chrono::milliseconds(5)),
               ErrorCode::kResourceExhausted, "--deadline");
  // Shares are made by one core, however many there are.
  expect_error(check_work({.seconds = 2, .least_seconds = 2}, 1, {}, std::chrono::milliseconds(1900)),
               ErrorCode::kResourceExhausted, "--deadline");
}

TEST(Work, CountsWhatGrowsWithTheSquareOfTheRecords) {
  using namespace std::chrono_literals;
  const Work work{.pair_seconds = 1e-6};
  EXPECT_TRUE(good(check_work(work, 700, {}, 500ms)));
  expect_error(check_work(work, 1000, {}, 500ms), ErrorCode::kResourceExhausted, "--deadline");
  expect_error(check_work(work, 70'000, {.time = 50ms}, 2h), ErrorCode::kResourceExhausted, "--max-work");
  // Only for the buckets of an encoded database. 4095 rows of 25 kB took 37 s of one core.
  const auto of = geometry(4096, 25'000);
  EXPECT_EQ(shares_plan(of, 4, {{"field", "gf2_8"}, {"threshold", "1"}})->work().pair_seconds, 0);
  const Texts encoded{{"field", "gf2_8"},
                      {"threshold", "1"},
                      {"encoding.arity", "2"},
                      {"encoding.independence", "0"},
                      {"encoding.modulus", "128"}};
  const auto plan = shares_plan(of, 4, encoded, 200);
  EXPECT_TRUE(good(check_work(plan->work(), 1024, {}, 10s)));
  expect_error(check_work(plan->work(), 4095, {}, 10s), ErrorCode::kResourceExhausted, "so many records");
}

TEST(Work, AServerThatIsAlwaysJustInTimeEndsWithTheLookUp) {
  using namespace std::chrono_literals;
  using cpir::inspire::Params;
  // A record of 8 rows, all masks zero.
  Params::Spec spec{.geometry = *database::Geometry::create(
                        {.records = 1, .record_bytes = 8, .variable_length = false, .digests = false}),
                    .version = {},
                    .set = cpir::inspire::kS8,
                    .layout = {.per_row = 1, .rows_each = 8},
                    .t = cpir::inspire::kS8.most_t(),
                    .tr = cpir::inspire::kS8.w + 4};
  const auto unmasked = Params::create(spec);
  ASSERT_TRUE(good(unmasked));
  const Bytes mask(unmasked->masks_bytes());
  spec.masks = {cpir::inspire::mask_digest(spec.salt, 0, mask)};
  const auto params = *Params::create(spec);
  constexpr auto kDeadline = 3000ms;
  int queries = 0;
  bool in_time = true;
  const auto ask = [&](const std::vector<Bytes>& requests, const http::CallOptions& call,
                       const auto& on_settled) {
    std::this_thread::sleep_for(std::min(call.deadline, kDeadline * 7 / 10));
    in_time = in_time && call.deadline > kDeadline * 7 / 10;
    http::CallOutcome outcome{.reply = fail(ErrorCode::kUnavailable, "no reply in time")};
    if (in_time) {
      const bool masks = requests[0][6] == static_cast<std::byte>(MessageType::kMasksWanted);
      queries += masks ? 0 : 1;
      Writer writer;
      encode_header(writer, ProtocolId::kInspire, masks ? MessageType::kMasks : MessageType::kReply,
                    params.digest());
      if (masks) {
        writer.put(std::uint32_t{0});
        writer.put(std::uint32_t{1});
        writer.put_bytes(mask);
      }
      auto reply = std::move(writer).take();
      if (!masks) reply.resize(static_cast<std::size_t>(params.reply_bytes()));
      outcome.reply = std::move(reply);
    }
    on_settled(0, outcome);
    return std::vector<http::CallOutcome>{outcome};
  };
  auto fetcher = Fetcher::create(deployment_of(params.encode()), {}, ask);
  ASSERT_TRUE(good(fetcher));
  const auto begun = std::chrono::steady_clock::now();
  expect_error(fetcher->fetch(std::vector<std::uint64_t>{0}, {.deadline = kDeadline}),
               ErrorCode::kUnavailable, "");
  EXPECT_LT(std::chrono::steady_clock::now() - begun, 3 * kDeadline);
  EXPECT_GE(queries, 1);
  EXPECT_FALSE(in_time);
}

}  // namespace
}  // namespace pirx::client
