// SPDX-License-Identifier: Apache-2.0
// Places for connections: whose share is how large, what they are charged for, and what is said of refusals.
#include "service/http/connections.h"

#include <gtest/gtest.h>

#include "http/http_support.h"

namespace pirx::http {
namespace {

using namespace testing;

struct Shares {
  explicit Shares(std::size_t connections, std::size_t per_client = 1, std::size_t bytes = 1 << 20)
      : budget(bytes), all(options(connections, per_client), budget, budget, log.sink()) {}
  static HttpServerOptions options(std::size_t connections, std::size_t per_client) {
    HttpServerOptions options;
    options.max_connections = connections;
    options.connections_per_client = per_client;
    return options;
  }
  /// As many connections of this client as it gets.
  std::vector<Connections::Place> fill(const std::string& client) {
    std::vector<Connections::Place> places;
    while (auto place = all.admit(client, 1)) places.push_back(std::move(*place));
    return places;
  }
  LogKeeper log;
  ByteBudget budget;
  Connections all;
};

TEST(Connections, AShareShrinksAsTheTotalFills) {
  Shares rig(1000);
  std::vector<std::vector<Connections::Place>> clients;
  // Half of all, half of what is then left ... and never the last one.
  for (const std::size_t expected : {500u, 250u, 125u, 63u, 31u}) {
    clients.push_back(rig.fill("client " + std::to_string(clients.size())));
    EXPECT_EQ(clients.back().size(), expected);
  }
  EXPECT_EQ(rig.all.open(), 969u);
  EXPECT_TRUE(rig.fill("client 0").empty());
  clients[0].clear();
  EXPECT_EQ(rig.fill("newcomer").size(), 266u);  // it has as many as are free then
  clients.clear();
  EXPECT_EQ(rig.all.open(), 0u);
  EXPECT_EQ(rig.budget.used(), 0u);
}

TEST(Connections, GreedyClientsTogetherLeaveAPlace) {
  Shares rig(100);
  std::vector<Connections::Place> places;
  for (bool more = true; more;) {  // nine clients, each takes what it can get
    more = false;
    for (int i = 0; i < 9; ++i) {
      if (auto place = rig.all.admit(std::to_string(i), 1)) {
        places.push_back(std::move(*place));
        more = true;
      }
    }
  }
  EXPECT_EQ(places.size(), 90u);
  EXPECT_TRUE(rig.all.admit("newcomer", 1));
}

TEST(Connections, AProxyGetsWhatItIsAllowed) {
  Shares rig(100, 80);
  const auto proxy = rig.fill("proxy");
  EXPECT_EQ(proxy.size(), 80u);
  EXPECT_EQ(rig.fill("other").size(), 20u);
  EXPECT_EQ(rig.all.refused(0), 1u);  // the server is full
  EXPECT_EQ(rig.all.refused(1), 1u);  // the proxy was
}

TEST(Connections, WhoIsProvenLeavesItsAddress) {
  Shares rig(8);
  auto of_address = rig.fill("address");
  ASSERT_EQ(of_address.size(), 4u);
  for (auto& place : of_address) EXPECT_TRUE(place.move_to("alice"));
  for (auto& place : of_address) EXPECT_TRUE(place.move_to("alice"));
  EXPECT_EQ(rig.fill("address").size(), 2u);
  // Alice has as many as are free, wherever she comes from.
  auto another = rig.all.admit("elsewhere", 1);
  ASSERT_TRUE(another);
  EXPECT_FALSE(another->move_to("alice"));
  EXPECT_TRUE(another->move_to("bob"));
  EXPECT_EQ(rig.all.open(), 5u);
}

TEST(Connections, TheirMemoryIsCharged) {
  Shares rig(100, 100, 1000);
  auto first = rig.all.admit("a", 400);
  ASSERT_TRUE(first);
  EXPECT_FALSE(rig.all.admit("b", 601));
  EXPECT_EQ(rig.all.refused(2), 1u);
  EXPECT_EQ(rig.all.open(), 1u);
  EXPECT_FALSE(first->resize(1001));
  EXPECT_TRUE(first->resize(1000));
  EXPECT_EQ(rig.all.bytes(), 1000u);
  EXPECT_EQ(rig.budget.used(), 1000u);
  EXPECT_TRUE(first->resize(10));
  EXPECT_TRUE(rig.all.admit("b", 601));
  first.reset();
  EXPECT_EQ(rig.all.bytes(), 0u);
  EXPECT_EQ(rig.budget.used(), 0u);
}

TEST(Connections, TheMemoryOfOneClientLeavesSomeForOthers) {
  Shares rig(1000, 1000, 1000);
  std::vector<Connections::Place> places;
  while (auto place = rig.all.admit("greedy", 100)) places.push_back(std::move(*place));
  EXPECT_EQ(places.size(), 5u);
  auto other = rig.all.admit("other", 200);
  ASSERT_TRUE(other);
  EXPECT_FALSE(other->move_to("greedy")) << "it has more than is free";
  EXPECT_EQ(rig.budget.used(), 700u);
  // Requests are counted together with the client's connections, whatever the connection is called.
  auto one = places[0].lease(), another = places[1].lease(), third = other->lease();
  EXPECT_FALSE(one.resize(1)) << "its connections have more than is free";
  EXPECT_TRUE(third.resize(100));
  while (places.size() > 2) places.pop_back();
  EXPECT_EQ(rig.budget.used(), 500u);
  EXPECT_TRUE(one.resize(300));
  EXPECT_FALSE(another.resize(1));
  EXPECT_FALSE(third.resize(101)) << "200 of its connection, and no more than 300 are free without this";
  places.clear();
  EXPECT_EQ(rig.budget.used(), 600u);
  EXPECT_TRUE(other->move_to("greedy"));
  other.reset();
  EXPECT_EQ(rig.all.bytes(), 0u);
  one = {};
  third = {};
  EXPECT_EQ(rig.budget.used(), 0u);
}

TEST(Connections, TheMemoryOfAClientsRequestsCountsToo) {
  Shares rig(1000, 1000, 1000);
  auto place = rig.all.admit("greedy", 10);
  ASSERT_TRUE(place);
  auto request = place->lease();
  EXPECT_TRUE(request.resize(600));
  EXPECT_TRUE(place->resize(20)) << "it reads what comes after its request";
  EXPECT_FALSE(rig.all.admit("greedy", 10)) << "620 are its own, and 380 free";
  place.reset();
  EXPECT_TRUE(rig.all.admit("greedy", 15)) << "a few may always be there";
  EXPECT_TRUE(rig.all.admit("other", 10));
}

TEST(Connections, RefusalsAreLoggedOnceAMinute) {
  Shares rig(2);
  const auto held = rig.all.admit("a", 1);
  auto now = Connections::Clock::now();
  const auto refuse = [&](int times) {
    for (int i = 0; i < times; ++i) EXPECT_FALSE(rig.all.admit("a", 1, now));
  };
  const auto counts = [&] {
    std::vector<double> found;
    for (const auto& line : rig.log.of("connections_refused")) found.push_back(line.numbers.at(1).second);
    return found;
  };
  refuse(1000);
  now += 59s;
  refuse(1000);
  EXPECT_EQ(counts(), (std::vector<double>{1}));
  now += 1s;
  refuse(1000);
  EXPECT_EQ(counts(), (std::vector<double>{1, 2000}));
  rig.all.log_refused();
  rig.all.log_refused();
  EXPECT_EQ(counts(), (std::vector<double>{1, 2000, 999}));
  EXPECT_EQ(rig.all.refused(1), 3000u);
  EXPECT_FALSE(has(rig.log.all(), "\"a\""));  // whose they were is nobody's business
}

}  // namespace
}  // namespace pirx::http
