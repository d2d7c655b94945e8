// SPDX-License-Identifier: Apache-2.0
// What the subcommands share: how they are registered, how they print, and how an Error becomes an exit code.
#pragma once

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <functional>
#include <optional>
#include <string>

#include "pirx/base/bytes.h"
#include "pirx/base/result.h"
#include "pirx/database/geometry.h"
#include "pirx/http/credentials.h"
#include "pirx/protocol/option.h"
#include "rank.h"

namespace pirx::client {}

namespace pirx::cli {

using namespace client;  // the commands are made of it
using http::Credentials;

/// Exit codes: 0, or 1 + the numeric ErrorCode (docs/cli.md). 1 is for a wrong command line.
int exit_code(const Error& error) noexcept;
inline constexpr int kUsageExitCode = 1;

/// A subcommand's work; runs after the command line has been parsed.
using Action = std::function<Result<void>()>;

/// Makes `action` the one that main() runs when `command` was given.
void set_action(CLI::App& command, Action action);
/// The action of the subcommand that was given; empty when none was.
Action& chosen_action();

/// Fills the places of standard descriptors that are closed, so that no file or connection gets their numbers
/// and what is for standard error. Reading and writing fail there as before. Before anything is opened.
void fill_standard_descriptors() noexcept;

/// Reads the command line; after --help, --version and a wrong one the exit code, with what is to be said
/// printed.
std::optional<int> parse(CLI::App& app, int argc, char** argv);
/// The exit code of what an action has done; an error is printed.
int report(const CLI::App& app, const Result<void>& done);

/// Makes `app` the program pirx, with all its commands; or pirx-ranks.
void add_commands(CLI::App& app);
void add_ranks_commands(CLI::App& app, WithRanks with_ranks);
void add_completion_command(CLI::App& app);
void add_db_command(CLI::App& app);
void add_db_encode(CLI::App& db);
void add_db_update(CLI::App& db);
void add_serve_command(CLI::App& app, WithRanks with_ranks = nullptr);
void add_deploy_command(CLI::App& app);
void add_manifest_command(CLI::App& app);
void add_get_command(CLI::App& app);
void add_bench_command(CLI::App& app);
void add_load_command(CLI::App& app);
void add_plan_command(CLI::App& app);
void add_try_command(CLI::App& app);
/// Puts the commands and their options into groups, once they are all there.
void group_commands(CLI::App& app);

/// An option whose words are parsed by parse_duration or parse_size; a bad word is a usage error.
CLI::Option* add_duration(CLI::App& app, const std::string& name, std::chrono::microseconds& value,
                          const std::string& help);
CLI::Option* add_size(CLI::App& app, const std::string& name, std::uint64_t& value, const std::string& help);
/// Bits a second: "800k", "10M", "1.5Gbit/s" or a bare number.
CLI::Option* add_bandwidth(CLI::App& app, const std::string& name, double& value, const std::string& help);

/// --ca, and its old name --ca-file.
CLI::Option* add_ca(CLI::App& app, std::string& file, const std::string& help);

/// --token-file, --tls-cert and --tls-key of a client.
void add_credentials(CLI::App& app, Credentials& credentials);

/// For options that take whole numbers: refuses signs, fractions and what is not within the bounds.
CLI::Validator whole_number(std::uint64_t low, std::uint64_t high);

/// A key on one line that no terminal acts on: backslash, newline and carriage return become \\, \n and \r,
/// other control characters (U+0000 to U+001F, U+007F to U+009F) \xHH, byte by byte.
std::string escape_key(std::string_view key);
/// Takes away what some editors put around lines: a byte order mark before the first, a carriage return
/// behind each. escape_key() leaves none there.
void trim_line(std::string& line, bool first);

/// Reads lines that hold a key each. Unlike std::getline() it tells an error from the end.
class KeyLines {
 public:
  /// `name` is the file's, for messages.
  KeyLines(std::istream& in, std::string name);
  /// False: the file ended. Unavailable: it cannot be read. InvalidArgument: the line is longer than any key.
  Result<bool> next(std::string& line, char end = '\n');

 private:
  std::istream& in_;
  std::string name_;
  std::vector<char> buffer_;
};
/// The first line of a list of positions begins so, and says of which version of a database it is.
inline constexpr std::string_view kPositionList = "# positions of pirx database ";
std::string position_list_header(const database::Version& version);
/// The last one: the digest of all before it, each with a newline.
inline constexpr std::string_view kPositionListEnd = "# sha256 ";
std::string position_list_end(const Digest& digest);
/// Back again. InvalidArgument for another escape.
Result<std::string> unescape_key(std::string_view text);
/// Writes a record and a newline to standard output. A record is foreign text: on a terminal its control
/// characters, but newline and tab, are shown as \xHH.
void print_record(ByteSpan record);

/// `text` for standard error: in red on a terminal, unless NO_COLOR is set or TERM is "dumb".
std::string in_red(const std::string& text);

/// A line on standard error that overwrites itself: percent, rate and time left. Silent when that is no
/// terminal.
class ProgressLine {
 public:
  explicit ProgressLine(std::string what);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  void update(std::uint64_t done, std::uint64_t total);
  /// Takes the line away, before something else is printed.
  void clear();

 private:
  std::string what_;
  bool terminal_;
  bool shown_ = false;
  std::uint64_t last_done_ = 0;
  std::chrono::steady_clock::time_point start_, last_;
};

}  // namespace pirx::cli
