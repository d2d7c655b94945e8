// SPDX-License-Identifier: Apache-2.0
// A pass that is stopped, in every protocol: the server notices, and its next answer is right.
#include "src/base/time_limit.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "simulation/world.h"

namespace pirx::simulation {
namespace {

using namespace std::chrono_literals;

/// Whether the server noticed that its time was over.
bool stops(const AnyServer& server, ByteSpan request, std::chrono::nanoseconds time) {
  TimeLimit limit(TimeLimit::Clock::now() + time);
  static_cast<void>(server.answer({&request, 1}));
  EXPECT_EQ(TimeLimit::current(), &limit);
  return limit.reached();
}

class Stopped : public ::testing::TestWithParam<Setting> {};

TEST_P(Stopped, TheNextAnswerIsRight) {
  const World world(GetParam());
  const auto client = world.join(kOld).value();
  const std::vector<std::uint64_t> wanted{3, 5};
  auto retrieval = world.begin(*client, wanted, {}).value();
  bool noticed = false;
  for (auto wave = retrieval->outgoing().value(); !wave.empty(); wave = retrieval->outgoing().value()) {
    for (const auto& message : wave) {
      const auto& server = world.server(message.server, kOld);
      const ByteSpan request = message.bytes;
      noticed |= stops(server, request, 0ns);
      for (auto time = 1us; time < 100ms && stops(server, request, time); time *= 3) {
      }
      EXPECT_FALSE(stops(server, request, 1h));
      const auto replies = server.answer({&request, 1});
      ASSERT_TRUE(replies.front()) << replies.front().error().to_string();
      if (retrieval->waiting()) static_cast<void>(retrieval->receive(message.id, *replies.front()));
    }
  }
  // A download is copied.
  EXPECT_EQ(noticed, world.setting().protocol->name != "download");
  const auto answer = std::move(*retrieval).finish().value();
  ASSERT_EQ(answer.records.size(), wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    EXPECT_EQ(answer.records[i], world.record(kOld, wanted[i]));
  }
}

INSTANTIATE_TEST_SUITE_P(Protocols, Stopped, ::testing::ValuesIn(settings()), [](const auto& tested) {
  std::string name = tested.param.name();
  std::replace_if(
      name.begin(), name.end(), [](char c) { return std::isalnum(c) == 0; }, '_');
  return name;
});

}  // namespace
}  // namespace pirx::simulation
