// SPDX-License-Identifier: Apache-2.0
// Options: values of every kind, and what is wrong with texts that have none.
#include "pirx/protocol/option.h"

#include <gtest/gtest.h>

namespace pirx {
namespace {

using Kind = Option::Kind;

constexpr Option kKnown[] = {
    {"name", Kind::kText, 0, 0, "a text"},
    {"file", Kind::kPath, 0, 0, "a path"},
    {"count", Kind::kNumber, 1, 9, "a number"},
    {"room", Kind::kSize, 1024, 1 << 20, "a size"},
    {"wait", Kind::kTime, 1'000, 2'000'000, "a time"},
    {"loud", Kind::kSwitch, 0, 0, "a switch"},
};

TEST(Options, HoldWhatWasGiven) {
  const auto options =
      Options::create(
          kKnown,
          {{"name", "x"}, {"file", "/y"}, {"count", "9"}, {"room", "2KiB"}, {"wait", "1.5s"}, {"loud", "on"}},
          "test")
          .value();
  EXPECT_EQ(options.text("name"), "x");
  EXPECT_EQ(options.text("file"), "/y");
  EXPECT_EQ(options.number("count"), 9u);
  EXPECT_EQ(options.number("room"), 2048u);
  EXPECT_EQ(options.number("wait"), 1'500'000u);
  EXPECT_TRUE(options.on("loud"));
  const auto none = Options::create(kKnown, {}, "test").value();
  EXPECT_EQ(none.text("name"), "");
  EXPECT_EQ(none.number("count"), std::nullopt);
  EXPECT_FALSE(none.on("loud"));
}

TEST(Options, NameWhatIsWrong) {
  const auto message = [](const Texts& texts) {
    const auto options = Options::create(kKnown, texts, "test");
    if (options) return std::string();
    EXPECT_EQ(options.error().code(), ErrorCode::kInvalidArgument);
    return options.error().message();
  };
  EXPECT_EQ(message({{"colour", "red"}}),
            "test has no option 'colour': its options are name, file, count, room, wait, loud");
  EXPECT_EQ(message({{"name", ""}}), "--name: a text is missing");
  EXPECT_EQ(message({{"count", "10"}}), "--count: '10' is no whole number from 1 to 9");
  EXPECT_EQ(message({{"count", "-1"}}), "--count: '-1' is no whole number from 1 to 9");
  EXPECT_EQ(message({{"room", "2MiB"}}), "--room: '2MiB' is not within 1KiB to 1MiB");
  EXPECT_EQ(message({{"wait", "3s"}}), "--wait: '3s' is not within 1ms to 2s");
  EXPECT_EQ(message({{"loud", "off"}}), "--loud: it is given or not, it has no value");
  EXPECT_EQ(message({{"room", "many"}}), "--room: 'many' is not a value like 4096, 64KiB, 2MiB or 1GB");
}

}  // namespace
}  // namespace pirx
