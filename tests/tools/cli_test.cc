// Sizes, durations, exit codes.
#include "tools/pirx/cli.h"

#include <gtest/gtest.h>

namespace pirx::cli {
namespace {

using std::chrono::microseconds;

TEST(Cli, Durations) {
  EXPECT_EQ(*parse_duration("250us"), microseconds(250));
  EXPECT_EQ(*parse_duration("2ms"), microseconds(2000));
  EXPECT_EQ(*parse_duration("7"), microseconds(7000));
  EXPECT_EQ(*parse_duration("1.5s"), microseconds(1'500'000));
  EXPECT_EQ(*parse_duration("2m"), microseconds(120'000'000));
  EXPECT_EQ(*parse_duration("0"), microseconds(0));
  for (const char* bad : {"", "ms", "-1s", "1h", "1 s", "nan", "inf", "1e300", "1s1", "0x10"}) {
    EXPECT_EQ(parse_duration(bad).error().code(), ErrorCode::kInvalidArgument) << bad;
  }
}

TEST(Cli, Sizes) {
  EXPECT_EQ(*parse_size("4096"), 4096u);
  EXPECT_EQ(*parse_size("64KiB"), 65536u);
  EXPECT_EQ(*parse_size("1.5MiB"), 1572864u);
  EXPECT_EQ(*parse_size("2GB"), 2'000'000'000u);
  for (const char* bad : {"", "KiB", "-1", "1 KiB", "1kib", "1e200GiB"}) {
    EXPECT_EQ(parse_size(bad).error().code(), ErrorCode::kInvalidArgument) << bad;
  }
}

TEST(Cli, KeysSurviveALine) {
  for (const std::string key : {"", "plain", "a\nb", "a\\nb", "\\", "\r\n", "tab\t"}) {
    EXPECT_EQ(escape_key(key).find_first_of("\r\n"), std::string::npos);
    EXPECT_EQ(*unescape_key(escape_key(key)), key);
  }
  EXPECT_EQ(unescape_key("a\\x").error().code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(unescape_key("a\\").error().code(), ErrorCode::kInvalidArgument);
}

TEST(Cli, WholeNumbers) {
  auto check = whole_number(1, 100);
  for (std::string good : {"1", "100", "42"}) EXPECT_EQ(check(good), "");
  for (std::string bad : {"0", "101", "-1", "1.5", "", "x", "1x", "99999999999999999999"})
    EXPECT_NE(check(bad), "") << bad;
}

TEST(Cli, HumanBytes) {
  EXPECT_EQ(human_bytes(812), "812 B");
  EXPECT_EQ(human_bytes(1536), "1.5 KiB");
  EXPECT_EQ(human_bytes(std::uint64_t{3} << 30), "3.0 GiB");
}

TEST(Cli, ExitCodesAreThoseOfTheDocument) {
  EXPECT_EQ(exit_code(Error(ErrorCode::kInvalidArgument, "")), 2);
  EXPECT_EQ(exit_code(Error(ErrorCode::kDataLoss, "")), 4);
  EXPECT_EQ(exit_code(Error(ErrorCode::kUndecodable, "")), 9);
  EXPECT_EQ(exit_code(Error(ErrorCode::kInternal, "")), 10);
}

}  // namespace
}  // namespace pirx::cli
