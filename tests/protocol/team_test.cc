// SPDX-License-Identifier: Apache-2.0
#include "src/protocol/team.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <iterator>
#include <thread>

#include "src/base/threads.h"
#include "support/forks.h"

namespace pirx {
namespace {

std::ptrdiff_t threads_of_this_process() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/task"), {});
}

/// Threads of a team that has gone end a little later.
std::ptrdiff_t threads_when_down_to(std::ptrdiff_t least) {
  for (int i = 0; i < 20'000 && threads_of_this_process() > least; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return threads_of_this_process();
}

TEST(Team, ItsThreadsAreThereBeforeALoopNeedsThem) {
  for (const int asked : {0, 1, 5}) {
    const int threads = thread_count(asked);
    EXPECT_EQ(threads_when_down_to(1), 1);
    std::thread([asked, threads] {
      start_team(asked);
      EXPECT_EQ(threads_of_this_process(), 1 + threads);
      parallel_for(threads, static_cast<std::size_t>(threads), [](std::size_t, std::size_t) {});
      EXPECT_EQ(threads_of_this_process(), 1 + threads);
    }).join();
  }
}

TEST(Team, AChildOfForkDoesNotWaitForThreadsOfItsParent) {
  start_team(3);
  const auto works = [] {
    alarm(60);
    std::atomic<int> done = 0;
    parallel_for(3, 8, [&done](std::size_t, std::size_t) { ++done; });
    return done == 8 && thread_count(3) == 1;
  };
  EXPECT_EQ(testing::status_of_child(works), 0);
  EXPECT_EQ(thread_count(3), 3);
}

}  // namespace
}  // namespace pirx
