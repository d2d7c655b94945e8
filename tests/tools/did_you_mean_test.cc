// SPDX-License-Identifier: Apache-2.0
// Slips of the command line.
#include "tools/pirx/did_you_mean.h"

#include <gtest/gtest.h>

namespace pirx::cli {
namespace {

TEST(DidYouMean, NamesTheNearestWord) {
  const std::vector<std::string> commands = {"get", "deploy", "serve", "load", "plan"};
  EXPECT_EQ(nearest("gte", commands), "get");
  EXPECT_EQ(nearest("depoly", commands), "deploy");
  EXPECT_EQ(nearest("servee", commands), "serve");
  EXPECT_EQ(nearest("srve", commands), "serve");
  EXPECT_EQ(nearest("dep", commands), "deploy");
}

TEST(DidYouMean, NamesNoneThatIsFar) {
  EXPECT_EQ(nearest("frobnicate", {"get", "deploy"}), "");
  EXPECT_EQ(nearest("get", {}), "");
}

TEST(DidYouMean, ExplainsTheFirstUnknownWord) {
  CLI::App app;
  auto* get = app.add_subcommand("get");
  std::string key;
  get->add_option("--key", key);
  const char* const command[] = {"gte"};
  const char* const option[] = {"get", "--kye", "bash"};
  const char* const known[] = {"get", "--key", "bash"};
  EXPECT_NE(explain_unknown(app, command).find("did you mean 'get'?"), std::string::npos);
  EXPECT_NE(explain_unknown(app, option).find("--key"), std::string::npos);
  EXPECT_EQ(explain_unknown(app, known), "");
}

}  // namespace
}  // namespace pirx::cli
