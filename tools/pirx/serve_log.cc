// SPDX-License-Identifier: Apache-2.0
// The queue of the log's writer, and the rate of log lines about progress.
#include "serve_log.h"

#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <new>

namespace pirx::cli {

LogFormat log_format_of_stderr() noexcept {
  return isatty(STDERR_FILENO) != 0 ? LogFormat::kText : LogFormat::kJson;
}

LogWriter::LogWriter(LogFormat format) : format_(format), thread_([this] { run(); }) {}

std::string LogWriter::line_of(const http::LogEvent& event) const {
  return (format_ == LogFormat::kText ? http::to_text(event) : http::to_json(event)) + "\n";
}

LogWriter::~LogWriter() {
  std::unique_lock lock(mutex_);
  done_ = true;
  changed_.notify_all();
  const bool idle = changed_.wait_for(lock, std::chrono::seconds(1), [this] { return finished_; });
  lock.unlock();
  if (idle) {
    thread_.join();
  } else {
    std::_Exit(exit_code_);  // the writer is stuck in a write that nobody reads; everything else has ended
  }
}

void LogWriter::write(const http::LogEvent& event) noexcept try {
  auto line = line_of(event);
  const std::lock_guard lock(mutex_);
  if (lines_.size() >= kMaxLines) {
    ++dropped_;
    return;
  }
  lines_.push_back(std::move(line));
  changed_.notify_all();
} catch (...) {  // no memory
  const std::lock_guard lock(mutex_);
  ++dropped_;
}

void LogWriter::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return done_ || !lines_.empty(); });
    if (lines_.empty()) break;
    written_.clear();
    written_.swap(lines_);
    try {
      if (dropped_ > 0) {
        written_.push_back(line_of({.event = "log_lines_dropped",
                                    .text = {},
                                    .numbers = {{"lines", static_cast<double>(dropped_)}}}));
        dropped_ = 0;
      }
    } catch (const std::bad_alloc&) {  // then after the next lines
    }
    lock.unlock();
    for (const auto& line : written_) std::fputs(line.c_str(), stderr);
    lock.lock();
  }
  finished_ = true;
  changed_.notify_all();
}

void ProgressLog::operator()(double part) {
  constexpr auto kPause = std::chrono::duration_cast<Clock::duration>(std::chrono::seconds(10)).count();
  const auto now = Clock::now().time_since_epoch().count();
  auto next = next_.load(std::memory_order_relaxed);
  const auto last_part = last_part_.exchange(part, std::memory_order_relaxed);
  // Threads overtake each other by a block; what falls back further is another answer.
  if (part < last_part - 0.25 || next == 0) {
    next_.store(now + kPause, std::memory_order_relaxed);
    return;
  }
  if (now < next || !next_.compare_exchange_strong(next, now + kPause)) return;
  log_({.event = "progress", .text = {}, .numbers = {{"percent", std::floor(100 * part)}}});
}

}  // namespace pirx::cli
