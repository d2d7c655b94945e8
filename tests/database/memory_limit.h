// SPDX-License-Identifier: Apache-2.0
// Runs code in a child process that may take only so much memory.
#pragma once

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define PIRX_TEST_SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define PIRX_TEST_SANITIZED 1
#endif

namespace pirx::database {

/// Sanitizers reserve terabytes of addresses: there no limit holds.
#if defined(PIRX_TEST_SANITIZED)
inline constexpr bool kCanLimitMemory = false;
#else
inline constexpr bool kCanLimitMemory = true;
#endif

/// Expects `work()`, which returns a bool, to be true in a child whose address space ends at `bytes`; where
/// no limit holds, here. A crash fails the test and not the process.
template <class Work>
void expect_true_within(std::uint64_t bytes, const Work& work) {
  if (!kCanLimitMemory) {
    EXPECT_TRUE(work());
    return;
  }
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const rlimit limit{bytes, bytes};
    const bool limited = ::setrlimit(RLIMIT_AS, &limit) == 0;
    ::_exit(limited && work() ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status)) << "ended by signal " << WTERMSIG(status);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

}  // namespace pirx::database
