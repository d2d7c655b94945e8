// SPDX-License-Identifier: Apache-2.0
#include "src/protocol/team.h"

#include <gtest/gtest.h>

#include <atomic>
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

TEST(Team, ItsThreadsAreThereBeforeALoopNeedsThem) {
  for (const int asked : {0, 1, 5}) {
    const int threads = thread_count(asked);
    std::thread([asked, threads] {
      const auto before = threads_of_this_process();
      start_team(asked);
      const auto with = threads_of_this_process();
      EXPECT_EQ(with, before + threads - 1);
      parallel_for(threads, static_cast<std::size_t>(threads), [](std::size_t, std::size_t) {});
      EXPECT_EQ(threads_of_this_process(), with);
    }).join();
  }
}

TEST(Team, AChildOfForkDoesNotWaitForThreadsOfItsParent) {
  start_team(3);
  const auto works = [] {
    alarm(60);
    std::atomic<int> done = 0;
    parallel_for(thread_count(3), 8, [&done](std::size_t, std::size_t) { ++done; });
    return done == 8;
  };
  EXPECT_EQ(testing::status_of_child(works), 0);
  EXPECT_EQ(thread_count(3), 3);
}

}  // namespace
}  // namespace pirx
