// SPDX-License-Identifier: Apache-2.0
// The ceiling on memory: what is granted, a part of a whole, and that freed memory goes back to the system.
#include "service/http/byte_budget.h"

#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <vector>

#include "database/memory_limit.h"
#include "service/http/metrics.h"
#include "support/seed.h"

namespace pirx::http {
namespace {

TEST(ByteBudget, GrantsUpToItsLimit) {
  ByteBudget budget(100);
  ByteLease a(budget), b(budget);
  EXPECT_TRUE(a.resize(60));
  EXPECT_FALSE(b.resize(41));
  EXPECT_EQ(b.held(), 0u);
  EXPECT_TRUE(b.resize(40));
  EXPECT_TRUE(a.resize(10));
  EXPECT_EQ(budget.used(), 50u);
  a = std::move(b);
  EXPECT_EQ(budget.used(), 40u);
  a = {};
  EXPECT_EQ(budget.used(), 0u);
}

TEST(ByteBudget, APartTakesFromTheWhole) {
  ByteBudget whole(100), part(80, &whole);
  ByteLease connections(whole), requests(part);
  EXPECT_FALSE(requests.resize(81));
  EXPECT_TRUE(connections.resize(30));
  EXPECT_FALSE(requests.resize(71));
  EXPECT_EQ(part.used(), 0u) << "what the whole refuses is not taken";
  EXPECT_TRUE(requests.resize(70));
  EXPECT_FALSE(connections.resize(31));
  EXPECT_EQ(whole.used(), 100u);
  requests = {};
  EXPECT_EQ(part.used(), 0u);
  EXPECT_EQ(whole.used(), 30u);
}

TEST(ByteBudget, AClientGetsWhatIsStillFree) {
  ByteBudget whole(1000), part(900, &whole);
  ByteBudget greedy(ByteBudget::Client(), part), other(ByteBudget::Client(), part);
  // A first lease can have all, in steps, too.
  ByteLease first(greedy);
  EXPECT_TRUE(first.resize(500));
  EXPECT_TRUE(first.resize(900));
  EXPECT_FALSE(first.resize(901));
  EXPECT_TRUE(first.resize(400));
  ByteLease second(greedy), newcomer(other);
  EXPECT_FALSE(second.resize(101));
  EXPECT_TRUE(second.resize(100));
  EXPECT_EQ(greedy.used(), 500u);
  EXPECT_TRUE(newcomer.resize(400));
  EXPECT_EQ(part.used(), 900u);
  first = {};
  EXPECT_EQ(greedy.used(), 100u);
  EXPECT_TRUE(second.resize(500)) << "its own bytes count as free";
  second = {};
  newcomer = {};
  // What connections hold of the whole is not free.
  ByteLease connections(whole);
  EXPECT_TRUE(connections.resize(600));
  EXPECT_TRUE(first.resize(0));
  ByteLease third(greedy), fourth(greedy);
  EXPECT_TRUE(third.resize(200));
  EXPECT_FALSE(fourth.resize(1));
  EXPECT_EQ(whole.used(), 800u);
}

TEST(ByteBudget, WhatAClientHoldsBesideCounts) {
  ByteBudget whole(1000), part(900, &whole);
  ByteBudget memory(ByteBudget::Client(), whole), requests(ByteBudget::Client{&memory}, part);
  ByteLease connections(memory), request(requests);
  EXPECT_TRUE(connections.resize(300));
  EXPECT_FALSE(request.resize(401));
  EXPECT_TRUE(request.resize(400));
  EXPECT_EQ(whole.used(), 700u);
  request = {};
  // Whichever of the two comes first.
  ByteBudget both[2] = {{ByteBudget::Client{&both[1], 100}, whole}, {ByteBudget::Client{&both[0]}, part}};
  connections = {};
  ByteLease a(both[0]), b(both[1]);
  EXPECT_TRUE(b.resize(500));
  EXPECT_FALSE(a.resize(101));
  EXPECT_TRUE(a.resize(100)) << "spared";
  EXPECT_TRUE(a.resize(0));
  EXPECT_TRUE(b.resize(400));
  EXPECT_TRUE(a.resize(200));
  EXPECT_TRUE(a.resize(210)) << "it holds something";
  EXPECT_FALSE(b.resize(601)) << "211 would be free";
  EXPECT_TRUE(b.resize(500));
}

/// Or who has large leases takes what others' small ones need.
TEST(ByteBudget, FourClientsThatTakeAllTheyCanLeaveASmallLease) {
  constexpr std::size_t kLargest = 1000, kSmall = 100;
  auto engine = pirx::testing::seeded_engine(4);
  for (int round = 0; round < 300; ++round) {
    const std::size_t largest = round % 3 == 0 ? kSmall : kSmall + engine() % kLargest;
    ByteBudget whole(2 * largest + ByteBudget::kSmallOnes * kSmall);
    whole.keep_small(kSmall);
    std::deque<ByteBudget> clients;
    for (int i = 0; i < 5; ++i) clients.emplace_back(ByteBudget::Client(), whole);
    {
      ByteLease a(clients[0]), b(clients[1]);
      EXPECT_TRUE(a.resize(largest));
      EXPECT_TRUE(b.resize(largest)) << "two of the largest";
    }
    std::vector<ByteLease> leases;
    for (int tries = 0; tries < 1000; ++tries) {
      auto& client = clients[engine() % 4];
      const std::size_t size = engine() % 3 == 0 ? largest : engine() % 2 ? kSmall : 1 + engine() % largest;
      if (ByteLease lease(client); lease.resize(size)) leases.push_back(std::move(lease));
      if (!leases.empty() && engine() % 20 == 0) leases.erase(leases.begin() + engine() % leases.size());
    }
    for (auto& client : clients) {
      ByteLease lease(client);
      while (lease.resize(lease.held() + 1)) continue;
      if (&client != &clients.back()) leases.push_back(std::move(lease));
    }
    EXPECT_TRUE(ByteLease(clients.back()).resize(kSmall)) << largest << ": " << whole.used();
  }
}

TEST(ByteBudget, WhatIsFreedGoesBackToTheSystem) {
  if (!database::kCanLimitMemory) GTEST_SKIP() << "a sanitizer keeps what is freed";
  constexpr std::size_t kBytes = 64 << 20, kEach = 4000;
  ByteBudget budget(kBytes);
  const auto before = resident_bytes();
  ByteLease lease(budget);
  std::vector<std::unique_ptr<char[]>> crowd(kBytes / kEach);
  for (auto& one : crowd) {
    one.reset(new char[kEach]);
    one[0] = one[kEach - 1] = 'x';
  }
  ASSERT_TRUE(lease.resize(kBytes));
  const auto last = std::move(crowd.back());  // stays, so that the heap does not shrink by itself
  crowd.clear();
  EXPECT_GT(resident_bytes(), before + 0.75 * kBytes) << "this heap keeps nothing: the test is of no use";
  lease = {};
  EXPECT_LT(resident_bytes(), before + 0.25 * kBytes);
}

}  // namespace
}  // namespace pirx::http
