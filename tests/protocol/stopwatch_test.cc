// SPDX-License-Identifier: Apache-2.0
// The two clocks, and loops on one thread.
#include "src/protocol/stopwatch.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#ifdef _OPENMP
#include <omp.h>
#endif

namespace pirx {
namespace {

TEST(Stopwatch, ProcessorTimeLeavesWaitingOut) {
  int calls = 0;
  const auto wait = [&] {
    ++calls;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  };
  EXPECT_GE(wall_seconds(wait, 0.001), 0.02);
  EXPECT_GE(calls, 2);  // the first one warms up
  EXPECT_LT(cpu_seconds(wait, 0.001), 0.02);
}

TEST(Stopwatch, ShortWorkIsTimedSeveralAtATime) {
  std::uint64_t calls = 0;
  const double seconds = wall_seconds([&] { ++calls; }, 0.001);
  EXPECT_GT(seconds, 0);
  EXPECT_LT(seconds, 1e-3);
  EXPECT_GT(calls, 16u);
}

#ifdef _OPENMP
TEST(Stopwatch, LoopsThatSayNothingUseOneThread) {
  const int before = omp_get_max_threads();
  omp_set_num_threads(3);
  {
    const OneThread one;
    EXPECT_EQ(omp_get_max_threads(), 1);
  }
  EXPECT_EQ(omp_get_max_threads(), 3);
  omp_set_num_threads(before);
}
#endif

}  // namespace
}  // namespace pirx
