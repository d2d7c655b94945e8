// SPDX-License-Identifier: Apache-2.0
// Who comes when, where clients take turns.
#include "service/http/turns.h"

#include <gtest/gtest.h>

namespace pirx::http {
namespace {

/// A thread's queue, by hand.
struct Loop {
  std::deque<Turns::Work> posted;
  std::string done;

  bool ask(Turns& turns, const std::string& client, char piece) {
    return turns.ask(
        client, [this](Turns::Work work) { posted.push_back(std::move(work)); },
        [this, piece] { done += piece; });
  }
  void run() {
    for (; !posted.empty(); posted.pop_front()) posted.front()();
  }
};

TEST(Turns, WhoAsksForMuchWaitsBehindOthers) {
  Loop loop;
  Turns turns(1, 100);
  for (const char piece : {'a', 'b', 'c', 'd'}) loop.ask(turns, "greedy", piece);
  EXPECT_EQ(loop.posted.size(), 1u) << "one at a time";
  loop.ask(turns, "modest", '1');
  loop.ask(turns, "other", '2');
  loop.ask(turns, "modest", '3');
  loop.run();
  EXPECT_EQ(loop.done, "ab12c3d");
  // Nobody is remembered.
  loop.ask(turns, "other", 'x');
  loop.ask(turns, "modest", 'y');
  loop.run();
  EXPECT_EQ(loop.done, "ab12c3dxy");
}

TEST(Turns, AsManyAtATimeAsThereAreThreads) {
  Loop loop;
  Turns turns(2, 100);
  for (const char piece : {'a', 'b', 'c'}) loop.ask(turns, "client", piece);
  EXPECT_EQ(loop.posted.size(), 2u);
  loop.run();
  EXPECT_EQ(loop.done, "abc");
}

TEST(Turns, WhatCannotBePostedIsLostAlone) {
  Loop loop;
  Turns turns(1, 100);
  turns.ask(
      "client", [](Turns::Work) { throw std::bad_alloc(); }, [&loop] { loop.done += '!'; });
  loop.ask(turns, "client", 'a');
  loop.run();
  EXPECT_EQ(loop.done, "a");
}

TEST(Turns, NobodyHasMoreThanTheMostWaiting) {
  Loop loop;
  Turns turns(1, 2);
  EXPECT_TRUE(loop.ask(turns, "greedy", 'a'));  // posted at once
  EXPECT_TRUE(loop.ask(turns, "greedy", 'b'));
  EXPECT_TRUE(loop.ask(turns, "greedy", 'c'));
  EXPECT_FALSE(loop.ask(turns, "greedy", 'd'));
  EXPECT_TRUE(loop.ask(turns, "modest", '1'));
  loop.run();
  EXPECT_EQ(loop.done, "ab1c");
}

}  // namespace
}  // namespace pirx::http
