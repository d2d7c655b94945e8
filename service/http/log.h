// SPDX-License-Identifier: Apache-2.0
// Calls the owner's log sink safely.
#pragma once

#include <chrono>
#include <mutex>
#include <type_traits>

#include "pirx/http/http_server.h"

namespace pirx::http {

/// Hands `event` to `sink`, if there is one. A sink that throws loses its line and nothing else.
void write_log(const LogSink& sink, const LogEvent& event) noexcept;

/// The same for the event that `make` builds: where no memory for it is left, the line is lost and nothing
/// else.
template <class Make>
requires std::is_invocable_r_v<LogEvent, const Make&>
void write_log(const LogSink& sink, const Make& make) noexcept {
  if (!sink) return;
  try {
    sink(make());
  } catch (...) {
  }
}

/// Lines that anybody may cause: at most kMost a minute. Further ones are only counted, and the next line
/// that is written says in `left_out` how many they were.
class LimitedLog {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr unsigned kMost = 100;

  explicit LimitedLog(const LogSink& sink) : sink_(sink) {}

  void write(LogEvent event, Clock::time_point now = Clock::now()) noexcept;

 private:
  const LogSink& sink_;
  std::mutex mutex_;
  Clock::time_point minute_ = Clock::now();  ///< when this minute began
  unsigned written_ = 0;                     ///< since then
  double left_out_ = 0;
};

}  // namespace pirx::http
