// SPDX-License-Identifier: Apache-2.0
// Writes log events as JSON lines.
#include "log.h"

#include <cmath>
#include <ctime>

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

}  // namespace

std::string to_json(const LogEvent& event) {
  // OutJson writes the first value of a name, so that no field can pass for the time or the event.
  OutJson::Members line = {{"time", utc_now()}, {"event", event.event}};
  for (const auto& [name, value] : event.text) line.emplace_back(name, value);
  for (const auto& [name, value] : event.numbers) {
    constexpr double kExact = 9007199254740992.0;  // 2^53
    if (std::abs(value) < kExact && value == std::floor(value)) {
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

}  // namespace pirx::http
