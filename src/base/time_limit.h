// SPDX-License-Identifier: Apache-2.0
// How long a thread's work may take. A server sets a limit around a pass over its database, so that nobody
// waits for one without end; the loops of a pass ask between two pieces of work whether it is over.
#pragma once

#include <atomic>
#include <chrono>
#include <utility>

namespace pirx {

/// The limit of this thread while it lives. When it is over, loops leave out what is left, so whoever set it
/// throws the result away if reached().
class TimeLimit {
 public:
  using Clock = std::chrono::steady_clock;

  explicit TimeLimit(Clock::time_point end) noexcept : end_(end), outer_(std::exchange(current_, this)) {}
  TimeLimit(const TimeLimit&) = delete;
  TimeLimit& operator=(const TimeLimit&) = delete;
  ~TimeLimit() { current_ = outer_; }

  /// That of the calling thread, or null. A parallel loop asks before its threads begin: they have none.
  static TimeLimit* current() noexcept { return current_; }

  Clock::time_point end() const noexcept { return end_; }

  /// Whether the time is up. Once it was, it always is. Thread-safe.
  bool over() noexcept {
    if (reached()) return true;
    if (Clock::now() < end_) return false;
    reached_.store(true, std::memory_order_relaxed);
    return true;
  }

  /// Whether over() was ever true. Thread-safe.
  bool reached() const noexcept { return reached_.load(std::memory_order_relaxed); }

 private:
  static inline thread_local TimeLimit* current_ = nullptr;

  const Clock::time_point end_;
  TimeLimit* const outer_;
  std::atomic<bool> reached_{false};
};

/// limit->over(), or false without a limit.
inline bool over(TimeLimit* limit) noexcept { return limit != nullptr && limit->over(); }

}  // namespace pirx
