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
