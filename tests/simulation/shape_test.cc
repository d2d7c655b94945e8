// SPDX-License-Identifier: Apache-2.0
// One shape of traffic: for every protocol, by position and by key, the sequence of (server, direction,
// length) over a transport that records it is the same for all wishes of one number.
#include <gtest/gtest.h>

#include <algorithm>

#include "world.h"

namespace pirx::simulation {
namespace {

struct Event {
  std::size_t server;
  bool up;
  std::size_t bytes;
  friend bool operator==(const Event&, const Event&) = default;
};
using Traffic = std::vector<Event>;
using Wishes = std::vector<std::uint64_t>;

/// Everything that a new client of honest servers sends and gets for these wishes.
Traffic traffic_of(const World& world, const Wishes& wishes) {
  Traffic traffic;
  const auto client = world.join(kOld);
  require(client.has_value(), "no client");
  auto retrieval = world.begin(**client, wishes, {});
  require(retrieval.has_value(), "no retrieval");
  for (auto wave = (*retrieval)->outgoing();; wave = (*retrieval)->outgoing()) {
    require(wave.has_value(), "no wave");
    if (wave->empty()) break;
    for (const auto& message : *wave) traffic.push_back({message.server, true, message.bytes.size()});
    for (const auto& message : *wave) {
      if (!(*retrieval)->waiting()) break;
      const ByteSpan request = message.bytes;
      const auto reply = world.server(message.server, kOld).answer({&request, 1});
      require(reply.front().has_value(), "an honest server refuses");
      EXPECT_LE(reply.front()->size(), message.reply_bytes);
      traffic.push_back({message.server, false, reply.front()->size()});
      require((*retrieval)->receive(message.id, *reply.front()).has_value(), "an honest reply is refused");
    }
  }
  static_cast<void>(std::move(**retrieval).finish());  // an error if a position is beyond the end
  return traffic;
}

/// The same from a client that asks once for what is wanted twice: the planted bug.
Traffic frugal_traffic_of(const World& world, Wishes wishes) {
  std::sort(wishes.begin(), wishes.end());
  wishes.erase(std::unique(wishes.begin(), wishes.end()), wishes.end());
  return traffic_of(world, wishes);
}

TEST(Shape, TrafficDoesNotDependOnWhatIsWanted) {
  for (const auto& setting : settings()) {
    SCOPED_TRACE(setting.name());
    const World world(setting);
    const std::uint64_t n = world.records();
    // Queries of protocols with one server take a while each.
    const std::vector<std::size_t> sizes =
        setting.protocol->several ? std::vector<std::size_t>{1, 2, 5} : std::vector<std::size_t>{1, 2};
    for (const auto size : sizes) {
      SCOPED_TRACE(std::to_string(size) + " wishes");
      Wishes first(size), last(size), same(size, n / 2), beyond(size, n + 7), mixed(size);
      for (std::size_t i = 0; i < size; ++i) {
        first[i] = i;
        last[i] = n - 1 - i;
        mixed[i] = i % 2 == 0 ? n + 100 + i : 3 * i;  // not there, and there
      }
      const auto expected = traffic_of(world, first);
      EXPECT_FALSE(expected.empty());
      for (const auto& wishes : {last, same, beyond, mixed}) EXPECT_EQ(traffic_of(world, wishes), expected);
      // A code asks all buckets whatever is wanted.
      if (setting.protocol->id != ProtocolId::kDownload && setting.code.empty() && size > 1) {
        EXPECT_NE(frugal_traffic_of(world, same), expected) << "the planted bug was not found";
      }
    }
  }
}

/// Every position of a database, where that is quick.
TEST(Shape, OfEveryPosition) {
  for (const auto& setting : settings()) {
    if (!setting.protocol->several || setting.keyed || setting.servers > 4) continue;
    SCOPED_TRACE(setting.name());
    const World world(setting);
    const auto expected = traffic_of(world, {0});
    for (std::uint64_t position = 1; position < world.records(); position += 7) {
      ASSERT_EQ(traffic_of(world, {position}), expected) << position;
    }
  }
}

}  // namespace
}  // namespace pirx::simulation
