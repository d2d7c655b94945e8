// SPDX-License-Identifier: Apache-2.0
// Log lines are one JSON object each, whatever the fields hold.
#include "service/http/log.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace pirx::http {
namespace {

TEST(Log, LineHasTimeEventAndFields) {
  auto line = to_json({"batch", {{"code", "StaleEpoch"}}, {{"requests", 3}, {"queue_ms", 1.5}}});
  const auto time_end = line.find("Z\"");
  ASSERT_NE(time_end, std::string::npos);
  std::replace_if(
      line.begin(), line.begin() + static_cast<std::ptrdiff_t>(time_end),
      [](char c) { return c >= '0' && c <= '9'; }, 'd');
  EXPECT_EQ(
      line,
      R"({"time":"dddd-dd-ddTdd:dd:dd.dddZ","event":"batch","code":"StaleEpoch","requests":3,"queue_ms":1.5})");
}

TEST(Log, HostileTextIsEscaped) {
  const std::string text("a\"b\\c\n\x01\xff\0d", 10);
  const auto line = to_json({"x", {{"text", text}, {"event", "forged"}}, {}});
  EXPECT_EQ(line.find('\n'), std::string::npos);
  const auto json = nlohmann::json::parse(line);
  EXPECT_EQ(json["event"], "x");
  EXPECT_EQ(json["text"], std::string("a\"b\\c\n\x01\xEF\xBF\xBD\0d", 12));
}

TEST(Log, TextIsForPeople) {
  auto line = to_text(
      {"batch", {{"code", "StaleEpoch"}, {"database", "my data"}}, {{"requests", 3}, {"queue_ms", 1.5}}});
  ASSERT_GT(line.size(), 9u);
  EXPECT_EQ(line[2], ':');
  EXPECT_EQ(line[5], ':');
  EXPECT_EQ(line.substr(8), R"( batch code=StaleEpoch database="my data" requests=3 queue_ms=1.5)");
}

TEST(Log, HostileTextDoesNotSteerTheTerminal) {
  std::string all;
  for (int c = 0; c < 256; ++c) all += static_cast<char>(c);
  const auto line = to_text({"x y", {{"a=b", all}, {"empty", ""}, {"c1", "\xc2\x9b"}}, {}});
  for (const char c : line) EXPECT_TRUE(c >= ' ' && c <= '~') << static_cast<int>(c);
  EXPECT_EQ(line.substr(8, 13), " \"x y\" \"a=b\"=");
  for (const char* part :
       {"\\x00", "\\x1b", "\\x7f", "\\xff", "!\\\"#", "[\\\\]", "empty=\"\"", "c1=\"\\xc2\\x9b\""}) {
    EXPECT_NE(line.find(part), std::string::npos) << part << " in " << line;
  }
}

TEST(Log, OddNumbersAreStillJson) {
  const auto line = to_json({"x",
                             {},
                             {{"nan", std::numeric_limits<double>::quiet_NaN()},
                              {"inf", std::numeric_limits<double>::infinity()},
                              {"big", 1e300},
                              {"negative", -7}}});
  const auto json = nlohmann::json::parse(line);
  EXPECT_TRUE(json["nan"].is_null());
  EXPECT_TRUE(json["inf"].is_null());
  EXPECT_EQ(json["big"], 1e300);
  EXPECT_EQ(json["negative"], -7);
}

TEST(Log, AnEventThatCannotBeBuiltIsLostAlone) {
  int calls = 0;
  const LogSink sink = [&](const LogEvent&) { ++calls; };
  write_log(sink, []() -> LogEvent { throw std::bad_alloc(); });
  EXPECT_EQ(calls, 0);
  write_log(sink, [] { return LogEvent{"x", {}, {}}; });
  EXPECT_EQ(calls, 1);
}

TEST(Log, ASinkMayBeMissingOrThrow) {
  write_log({}, {"x", {}, {}});
  int calls = 0;
  write_log(
      [&](const LogEvent&) {
        ++calls;
        throw std::runtime_error("disk full");
      },
      {"x", {}, {}});
  EXPECT_EQ(calls, 1);
}

TEST(Log, LinesThatAnybodyMayCauseAreCountedFromTheHundredthOn) {
  std::vector<LogEvent> lines;
  const LogSink sink = [&](const LogEvent& event) { lines.push_back(event); };
  LimitedLog log(sink);
  const auto start = LimitedLog::Clock::now();
  for (unsigned i = 0; i < 3 * LimitedLog::kMost; ++i) log.write({"refused", {}, {}}, start);
  ASSERT_EQ(lines.size(), LimitedLog::kMost);
  EXPECT_TRUE(lines.back().numbers.empty());
  log.write({"timeout", {}, {}}, start + std::chrono::minutes(2));
  log.write({"refused", {}, {}}, start + std::chrono::minutes(2));
  ASSERT_EQ(lines.size(), LimitedLog::kMost + 2);
  EXPECT_NE(to_json(lines[LimitedLog::kMost]).find("\"left_out\":200"), std::string::npos);
  EXPECT_TRUE(lines.back().numbers.empty());
}

}  // namespace
}  // namespace pirx::http
