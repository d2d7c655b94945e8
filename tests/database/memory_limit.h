// SPDX-License-Identifier: Apache-2.0
// Runs code in a child process that may take only so much memory.
#pragma once

#include <gtest/gtest.h>
#include <sys/resource.h>

#include "support/forks.h"
#include "support/memory.h"

namespace pirx::database {

/// Sanitizers reserve terabytes of addresses: there no limit holds.
inline constexpr bool kCanLimitMemory = !testing::kSanitized;

/// Expects `work()`, which returns a bool, to be true in a child whose address space ends at `bytes`; where
/// no limit holds, here. A crash fails the test and not the process.
template <class Work>
void expect_true_within(std::uint64_t bytes, const Work& work) {
  if (!kCanLimitMemory) {
    EXPECT_TRUE(work());
    return;
  }
  const int status = testing::status_of_child([&] {
    const rlimit limit{bytes, bytes};
    return ::setrlimit(RLIMIT_AS, &limit) == 0 && work();
  });
  EXPECT_EQ(status, 0);
}

}  // namespace pirx::database
