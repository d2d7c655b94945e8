// SPDX-License-Identifier: Apache-2.0
// The key column that pirx try guesses.
#include "tools/pirx/key_column.h"

#include <gtest/gtest.h>

#include <fstream>

#include "support/files.h"

namespace pirx::cli {
namespace {

TEST(KeyColumn, PrefersANameThatSaysKey) {
  const auto guess = guess_key({{"title", "a", true}, {"id", "7", true}});
  ASSERT_TRUE(guess);
  EXPECT_EQ(guess->column, "id");
  EXPECT_EQ(guess->example, "7");
}

TEST(KeyColumn, TakesTheFirstDistinctColumn) {
  const auto guess = guess_key({{"id", "7", false}, {"colour", "red", false}, {"title", "a", true}});
  ASSERT_TRUE(guess);
  EXPECT_EQ(guess->column, "title");
  EXPECT_FALSE(guess_key({{"id", "7", false}}));
  EXPECT_FALSE(guess_key({}));
}

TEST(KeyColumn, RepeatedEmptyAndLongValuesAreNoKeys) {
  const testing::TemporaryFolder folder;
  const std::string file = folder.path() / "data.csv";
  std::ofstream(file) << "code,same,gap,long,name\n"
                      << "1,x,a," << std::string(64, 'l') << ",ada\n"
                      << "2,x,," << std::string(65, 'l') << ",bob\n";
  BuildArguments build;
  build.input = file;
  build.format = "csv";
  const auto columns = sample_columns(build);
  ASSERT_TRUE(columns) << columns.error().to_string();
  ASSERT_EQ(columns->size(), 5U);
  const std::vector<bool> expected = {true, false, false, false, true};
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ((*columns)[i].distinct, expected[i]) << (*columns)[i].name;
  EXPECT_EQ(example_of(*columns, "name"), "ada");
  EXPECT_EQ(example_of(*columns, "nobody"), "");
}

TEST(KeyColumn, AFileThatIsNotThere) {
  BuildArguments build;
  build.input = "/no/such/file.csv";
  build.format = "csv";
  EXPECT_FALSE(sample_columns(build));
}

}  // namespace
}  // namespace pirx::cli
