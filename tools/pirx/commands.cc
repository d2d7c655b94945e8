// SPDX-License-Identifier: Apache-2.0
// The commands of the program pirx, as main(), man pages and the completions of shells see them.
#include <iostream>

#include "cli.h"
#include "did_you_mean.h"
#include "pirx/base/printable.h"
#include "wrong_files.h"

namespace pirx::cli {

void add_commands(CLI::App& app) {
  app.description(
      "pirx: private information retrieval. Clients fetch records; servers do not learn which.\n"
      "Start with: pirx try data.csv, or pirx db build --help, pirx serve --help, pirx deploy --help, pirx "
      "get --help");
  app.name("pirx");
  app.set_version_flag("--version", PIRX_VERSION);
  app.require_subcommand(1);
  app.footer(
      "Exit codes: 0 success, 1 wrong command line, 2 InvalidArgument, 3 OutOfRange, 4 DataLoss, 5 "
      "Unavailable,\n"
      "6 ResourceExhausted, 7 Unauthenticated, 8 StaleEpoch, 9 Undecodable, 10 Internal.");
  add_try_command(app);
  add_get_command(app);
  add_db_command(app);
  add_serve_command(app);
  add_deploy_command(app);
  add_manifest_command(app);
  add_bench_command(app);
  add_load_command(app);
  add_plan_command(app);
  add_completion_command(app);
  group_commands(app);
}

void add_ranks_commands(CLI::App& app, WithRanks with_ranks) {
  app.description(
      "pirx-ranks: one private information retrieval server out of several processes.\n"
      "Start it by mpirun -n N, as docs/beyond_one_machine.md says.");
  app.name("pirx-ranks");
  app.set_version_flag("--version", PIRX_VERSION);
  app.require_subcommand(1);
  app.footer("Example:\n  mpirun -n 8 pirx-ranks serve big.pirx --coordinate 1 --listen 127.0.0.1:8101");
  add_serve_command(app, with_ranks);
}

/// Throws if an option was given an empty text, such as that of a variable which is not set: the command
/// would run as if it had not been given. Keys may be empty, and names of columns of values.
static void refuse_empty_options(const CLI::App& app) {
  for (const auto* option : app.get_options()) {
    const auto name = option->get_name();
    const bool is_key = (name == "--key" && app.get_name() != "build") || name == "--remove";
    if (!name.starts_with('-') || is_key || name == "--value") continue;
    for (const auto& text : option->results()) {
      if (text.empty()) throw CLI::ValidationError(name, "is empty: give a value, or leave the option out");
    }
  }
  for (const auto* command : app.get_subcommands()) refuse_empty_options(*command);
}

/// CLI11 takes 010 for eight.
static void read_numbers_as_decimal(CLI::App& app) {
  for (auto* option : app.get_options()) {
    if (option->get_type_name().find("INT") == std::string::npos) continue;
    option->transform(CLI::Validator(
        [](std::string& text) -> std::string {
          const auto digit = text.find_first_not_of('0');
          if (text.find_first_not_of("0123456789") == std::string::npos && digit != 0) {
            text.erase(0, std::min(digit, text.size() - 1));
          }
          return "";
        },
        ""));
  }
  for (auto* command : app.get_subcommands({})) read_numbers_as_decimal(*command);
}

std::optional<int> parse(CLI::App& app, int argc, char** argv) {
  read_numbers_as_decimal(app);
  try {
    app.parse(argc, argv);
    refuse_empty_options(app);
  } catch (const CLI::ParseError& error) {
    const auto unknown = explain_unknown(app, std::span(argv, static_cast<std::size_t>(argc)).subspan(1));
    if (error.get_exit_code() == 0) {
      app.exit(error);
      if (std::cout.flush()) return 0;
      return report(app, fail(ErrorCode::kUnavailable, "cannot write to standard output"));
    }
    if (unknown.empty()) {
      std::fprintf(stderr, "%s %s\nRun with --help for more information.\n",
                   in_red(app.get_name() + ":").c_str(), without_controls(error.what(), "\n\t").c_str());
      return kUsageExitCode;
    }
    std::fprintf(stderr, "%s %s\n", in_red(app.get_name() + ":").c_str(), unknown.c_str());
    return kUsageExitCode;
  }
  return std::nullopt;
}

int report(const CLI::App& app, const Result<void>& done) {
  if (done) return 0;
  std::fprintf(stderr, "%s %s\n", in_red(app.get_name() + ":").c_str(),
               without_controls(done.error().to_string() + explain_wrong_files(app), "\n\t").c_str());
  return exit_code(done.error());
}

}  // namespace pirx::cli
