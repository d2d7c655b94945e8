// SPDX-License-Identifier: Apache-2.0
// Writes log events as lines of JSON or of text.
#include "log.h"

#include <cmath>
#include <cstdio>
#include <ctime>

#include "pirx/base/bytes.h"
#include "pirx/base/json.h"

namespace pirx::http {
namespace {

std::string utc_now() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
  const auto seconds = static_cast<std::time_t>(milliseconds / 1000);
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  char text[32];
  const auto length = std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);
  const auto fraction = std::to_string(1000 + milliseconds % 1000);
  return std::string(text, length) + "." + fraction.substr(1) + "Z";
}

/// A whole number where that is exact.
bool is_whole(double value) {
  constexpr double kExact = 9007199254740992.0;  // 2^53
  return std::abs(value) < kExact && value == std::floor(value);
}

/// In quotes unless it is a plain word.
std::string word_of(std::string_view text) {
  std::string word;
  bool plain = !text.empty();
  for (const char c : text) {
    if (c == '"' || c == '\\') word += '\\';
    if (c >= ' ' && c <= '~') {
      word += c;
    } else {
      word += "\\x" + to_hex(std::as_bytes(std::span(&c, 1)));
    }
    plain = plain && c > ' ' && c <= '~' && c != '"' && c != '\\' && c != '=';
  }
  return plain ? word : '"' + word + '"';
}

}  // namespace

std::string to_text(const LogEvent& event) {
  std::string line = utc_now().substr(11, 8) + " " + word_of(event.event);
  for (const auto& [name, value] : event.text) line += " " + word_of(name) + "=" + word_of(value);
  for (const auto& [name, value] : event.numbers) {
    char number[32];
    std::snprintf(number, sizeof number, is_whole(value) ? "%.0f" : "%.6g", value);
    line += " " + word_of(name) + "=" + number;
  }
  return line;
}

std::string to_json(const LogEvent& event) {
  // OutJson writes the first value of a name, so that no field can pass for the time or the event.
  OutJson::Members line = {{"time", utc_now()}, {"event", event.event}};
  for (const auto& [name, value] : event.text) line.emplace_back(name, value);
  for (const auto& [name, value] : event.numbers) {
    if (is_whole(value)) {
      line.emplace_back(name, static_cast<std::int64_t>(value));
    } else {
      line.emplace_back(name, value);
    }
  }
  return OutJson(std::move(line)).dump();
}

void write_log(const LogSink& sink, const LogEvent& event) noexcept {
  if (!sink) return;
  try {
    sink(event);
  } catch (...) {  // a full disk behind the log must not stop the service
  }
}

void LimitedLog::write(LogEvent event, Clock::time_point now) noexcept {
  double left_out = 0;
  {
    const std::lock_guard lock(mutex_);
    if (now - minute_ >= std::chrono::minutes(1)) {
      minute_ = now;
      written_ = 0;
      left_out = std::exchange(left_out_, 0);
    }
    if (written_ == kMost) {
      ++left_out_;
      return;
    }
    ++written_;
  }
  write_log(sink_, [&] {
    if (left_out > 0) event.numbers.emplace_back("left_out", left_out);
    return std::move(event);
  });
}

}  // namespace pirx::http
