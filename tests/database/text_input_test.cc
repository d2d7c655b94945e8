// SPDX-License-Identifier: Apache-2.0
// Lines across buffer borders, limits, and the choice of a column.
#include "src/database/text_input.h"

#include "database_fixture.h"

namespace pirx::database {
namespace {

TEST(TextInput, LinesComeBackWhole) {
  const TemporaryFolder folder;
  auto engine = testing::seeded_engine(15);
  std::string text;
  std::vector<std::string> lines;
  for (int i = 0; i < 200; ++i) {
    lines.push_back(std::string(engine() % 10000, static_cast<char>('a' + i % 26)) +
                    (engine() % 2 == 0 ? "\r\n" : "\n"));
    text += lines.back();
  }
  lines.push_back("no newline");
  text += lines.back();
  write_file(folder / "f", as_bytes(text));
  auto input = TextInput::open(folder / "f", 20000);
  ASSERT_TRUE(good(input));
  for (std::size_t i = 0; i < lines.size(); ++i) {
    std::string line = "before ";
    const auto more = input->append_line(line);
    ASSERT_TRUE(good(more));
    ASSERT_TRUE(*more);
    ASSERT_EQ(line, "before " + lines[i]);
    ASSERT_EQ(input->line(), i + 1);
  }
  std::string rest;
  EXPECT_FALSE(*input->append_line(rest));
  EXPECT_TRUE(rest.empty());
}

TEST(TextInput, LimitIsExact) {
  const TemporaryFolder folder;
  write_file(folder / "f", to_bytes("1234\n12345\n"));
  auto input = TextInput::open(folder / "f", 5);
  ASSERT_TRUE(good(input));
  std::string line;
  EXPECT_TRUE(good(input->append_line(line)));
  line.clear();
  expect_error(input->append_line(line), ErrorCode::kResourceExhausted,
               "f, line 2: a line or row is longer than the limit of 5");
}

TEST(TextInput, NewlinesAndColumns) {
  EXPECT_EQ(without_newline("a\r\n"), "a");
  EXPECT_EQ(without_newline("a\r"), "a\r");
  EXPECT_EQ(without_newline("\n"), "");
  EXPECT_EQ(without_newline(""), "");
  const std::vector<std::string> names = {"x", "3", "y"};
  EXPECT_EQ(*find_column(names, "y"), 2u);
  EXPECT_EQ(*find_column(names, "3"), 1u);
  EXPECT_EQ(*find_column(names, "1"), 0u);
  for (const char* wrong : {"", "0", "4", "-1", "1 ", "99999999999999999999999"}) {
    expect_error(find_column(names, wrong), ErrorCode::kInvalidArgument, "among the 3 columns: x, 3, y");
  }
  EXPECT_NE(listed(std::vector<std::string>(100, "c")).find("and 70 more"), std::string::npos);
}

}  // namespace
}  // namespace pirx::database
