// Log lines are one JSON object each, whatever the fields hold.
#include "src/net/log.h"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <regex>
#include <stdexcept>

namespace pirx::net {
namespace {

TEST(Log, LineHasTimeEventAndFields) {
  const auto line = to_json({"batch", {{"code", "StaleEpoch"}}, {{"requests", 3}, {"queue_ms", 1.5}}});
  const std::regex expected(
      R"(\{"time":"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z","event":"batch","code":"StaleEpoch","requests":3,"queue_ms":1.5\})");
  EXPECT_TRUE(std::regex_match(line, expected)) << line;
}

TEST(Log, HostileTextIsEscaped) {
  const std::string text("a\"b\\c\n\x01\xff\0d", 10);
  const auto line = to_json({"x", {{"text", text}, {"event", "forged"}}, {}});
  EXPECT_EQ(line.find('\n'), std::string::npos);
  const auto json = nlohmann::json::parse(line);
  EXPECT_EQ(json["event"], "x");
  EXPECT_EQ(json["text"], std::string("a\"b\\c\n\x01\xEF\xBF\xBD\0d", 12));
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

}  // namespace
}  // namespace pirx::net
