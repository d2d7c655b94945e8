// SPDX-License-Identifier: Apache-2.0
// The log of `pirx serve` on standard error: lines of text for people, or of JSON for programs.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "pirx/http/http_server.h"

namespace pirx::cli {

using Log = std::function<void(const http::LogEvent&)>;

enum class LogFormat : std::uint8_t { kText, kJson };

/// Text on a terminal, else JSON.
LogFormat log_format_of_stderr() noexcept;

/// Writes log lines to standard error from a thread of its own, so that a reader that stalls cannot stall the
/// server. If more than kMaxLines lines wait, further lines are dropped and counted.
class LogWriter {
 public:
  explicit LogWriter(LogFormat format);
  /// Waits up to one second for a reader that stalls, and then ends the process with the code of end_with().
  ~LogWriter();
  LogWriter(const LogWriter&) = delete;
  LogWriter& operator=(const LogWriter&) = delete;
  /// A line that finds no memory is dropped and counted, too.
  void write(const http::LogEvent& event) noexcept;
  /// The process's exit code if nobody reads the log's last lines.
  void end_with(int exit_code) noexcept { exit_code_ = exit_code; }

 private:
  static constexpr std::size_t kMaxLines = 4096;

  std::string line_of(const http::LogEvent& event) const;
  void run();

  const LogFormat format_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::string> lines_;
  std::deque<std::string> written_;  ///< by the thread, which makes none: that takes memory
  std::size_t dropped_ = 0;
  bool done_ = false, finished_ = false;
  int exit_code_ = 1 + static_cast<int>(ErrorCode::kResourceExhausted);  ///< of an exception without memory
  std::thread thread_;  ///< last member: it starts when all others exist
};

/// Log lines about an answer that takes long, at most one in ten seconds.
class ProgressLog {
 public:
  explicit ProgressLog(Log log) : log_(std::move(log)) {}
  /// Takes the part that is done so far, 0 to 1. From any thread.
  void operator()(double part);

 private:
  using Clock = std::chrono::steady_clock;
  const Log log_;
  std::atomic<Clock::rep> next_{0};
  std::atomic<double> last_part_{0};
};

}  // namespace pirx::cli
