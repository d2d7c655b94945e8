// SPDX-License-Identifier: Apache-2.0
// Sizes, durations, exit codes.
#include "tools/pirx/cli.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

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

/// Every command of the program, by its path.
void collect(const CLI::App& app, const std::string& path, std::map<std::string, const CLI::App*>& into) {
  into[path] = &app;
  for (const auto* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    collect(*command, path + " " + command->get_name(), into);
  }
}

struct WholeProgram : ::testing::Test {
  WholeProgram() {
    add_commands(app);
    collect(app, "pirx", commands);
  }
  CLI::App app;
  std::map<std::string, const CLI::App*> commands;
};

TEST_F(WholeProgram, AnOptionIsTheSameInEveryCommand) {
  // Names that mean what the command is about, with or without a value.
  const std::set<std::string> kOwn = {"web"};
  std::map<std::string, std::pair<std::string, std::string>> long_of_short;  // and the command
  std::map<std::string, std::pair<std::string, std::string>> short_of_long;
  std::map<std::string, std::pair<bool, std::string>> has_value;
  for (const auto& [path, command] : commands) {
    for (const auto* option : command->get_options()) {
      if (option->get_lnames().empty()) continue;  // an argument
      const std::string name = option->get_lnames().front();
      const std::string letter = option->get_snames().empty() ? "" : option->get_snames().front();
      if (!letter.empty()) {
        const auto [at, added] = long_of_short.try_emplace(letter, name, path);
        EXPECT_EQ(at->second.first, name)
            << "-" << letter << " of " << path << " and of " << at->second.second;
      }
      const auto [at, added] = short_of_long.try_emplace(name, letter, path);
      EXPECT_EQ(at->second.first, letter)
          << "--" << name << " of " << path << " and of " << at->second.second;
      if (kOwn.count(name) > 0) continue;
      const bool value = option->get_expected_max() > 0 && option->get_type_size() > 0;
      const auto [kind, is_new] = has_value.try_emplace(name, value, path);
      EXPECT_EQ(kind->second.first, value)
          << "--" << name << " of " << path << " and of " << kind->second.second;
    }
  }
  EXPECT_EQ(long_of_short.at("q").first, "quiet");
  for (const char* path :
       {"pirx try", "pirx get", "pirx serve", "pirx db build", "pirx db encode", "pirx db verify"}) {
    EXPECT_NE(commands.at(path)->get_option_no_throw("-q"), nullptr) << path << " reports";
  }
  EXPECT_GT(has_value.size(), 80u);
}

TEST_F(WholeProgram, EverySubcommandsHelpHasExamples) {
  for (const auto& [path, command] : commands) {
    if (path == "pirx") continue;
    const auto help = command->help();
    const auto at = help.find("\nExample");
    ASSERT_NE(at, std::string::npos) << path;
    EXPECT_NE(help.find(path + " ", at), std::string::npos) << path;
  }
}

TEST_F(WholeProgram, WhatTakesTrustAnchorsCallsThemTheSame) {
  for (const auto& [path, command] : commands) {
    const auto* old_name = command->get_option_no_throw("--ca-file");
    EXPECT_EQ(old_name != nullptr, command->get_option_no_throw("--ca") != nullptr) << path;
    if (old_name == nullptr) continue;
    EXPECT_EQ(old_name->get_group(), "") << path << ": hidden";
  }
  for (const char* path : {"pirx deploy", "pirx plan", "pirx load"}) {
    EXPECT_NE(commands.at(path)->get_option_no_throw("--ca"), nullptr) << path;
  }
}

TEST_F(WholeProgram, HelpIsInGroupsWithTheCommonOneFirst) {
  const auto help = app.help();
  std::size_t last = 0;
  for (const char* group : {"\nStart here:", "\nDatabases:", "\nServers:", "\nMeasure:"}) {
    const auto at = help.find(group);
    ASSERT_NE(at, std::string::npos) << group;
    EXPECT_GT(at, last);
    last = at;
  }
  EXPECT_EQ(help.find("Subcommands:"), std::string::npos) << "a command is in no group";
  for (const auto& [path, command] : commands) {
    const auto groups = command->get_groups();
    ASSERT_FALSE(groups.empty()) << path;
    EXPECT_EQ(groups.front(), "Options") << path;
  }
  EXPECT_GE(commands.at("pirx serve")->get_groups().size(), 4u);
  EXPECT_EQ(commands.at("pirx serve")->get_option("--max-connections")->get_group(), "Limits");
  EXPECT_EQ(commands.at("pirx serve")->get_option("--coordinate")->get_group(), "Options");
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
  std::vector<std::string> keys = {"",
                                   "plain",
                                   "a\nb",
                                   "a\\nb",
                                   "\\",
                                   "\r\n",
                                   "tab\t",
                                   "\xc2\x9b"
                                   "2J",
                                   "\xc2",
                                   "\\x41"};
  for (int c = 0; c < 256; ++c) keys.push_back(std::string("a") + static_cast<char>(c) + "b");
  for (const std::string& key : keys) {
    const std::string line = escape_key(key);
    for (const char c : line) EXPECT_FALSE((c >= 0 && c < 0x20) || c == 0x7f) << line;
    EXPECT_EQ(line.find("\xc2\x9b"), std::string::npos);
    EXPECT_EQ(*unescape_key(line), key);
  }
  // What a terminal would act on, and what it shows.
  EXPECT_EQ(escape_key("\x1b]0;evil\x07\x7f"), "\\x1b]0;evil\\x07\\x7f");
  EXPECT_EQ(escape_key("\xc3\xa9\xc3\x9b\xe2\x82\xac"), "\xc3\xa9\xc3\x9b\xe2\x82\xac");
  for (const char* bad : {"a\\x", "a\\x1", "a\\xg0", "a\\y"}) {
    EXPECT_EQ(unescape_key(bad).error().code(), ErrorCode::kInvalidArgument) << bad;
  }
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
