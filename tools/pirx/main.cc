// SPDX-License-Identifier: Apache-2.0
// pirx: the command-line program. Parses, runs the chosen subcommand, turns its Error into a message and an
// exit code.
#include <array>
#include <cstring>
#include <span>

#include "cli.h"
#include "did_you_mean.h"
#include "pirx/base/secret_memory.h"
#include "pirx/base/sha256.h"

namespace {

/// What calls have left on the stack below here, and in vector registers, which the dynamic linker may save
/// on the stack later: copies and digests of zeros take the same ones as those of records.
[[gnu::noinline]] void wipe_stack() noexcept {
  std::array<std::byte, std::size_t{256} << 10> below;
  pirx::secure_wipe(below.data(), below.size());
  pirx::Sha256 zeros;
  for (std::size_t size = 1; size < below.size() / 2; size *= 2) {
    std::memcpy(below.data() + below.size() / 2, below.data(), size);
    zeros.update(pirx::ByteSpan(below).first(4096));
  }
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app(
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
  pirx::cli::add_try_command(app);
  pirx::cli::add_get_command(app);
  pirx::cli::add_db_command(app);
  pirx::cli::add_serve_command(app);
  pirx::cli::add_deploy_command(app);
  pirx::cli::add_bench_command(app);
  pirx::cli::add_load_command(app);
  pirx::cli::add_plan_command(app);
  pirx::cli::group_commands(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const auto unknown =
        pirx::cli::explain_unknown(app, std::span(argv, static_cast<std::size_t>(argc)).subspan(1));
    if (error.get_exit_code() == 0 || unknown.empty()) {
      return app.exit(error) == 0 ? 0 : pirx::cli::kUsageExitCode;
    }
    std::fprintf(stderr, "%s %s\n", pirx::cli::in_red("pirx:").c_str(), unknown.c_str());
    return pirx::cli::kUsageExitCode;
  }
  // The list of processes shows the command line, and a core dump has it.
  const bool asks = app.got_subcommand("get") || app.got_subcommand("try");
  for (int i = 2; asks && i < argc; ++i) pirx::secure_wipe(argv[i], std::strlen(argv[i]));
  const auto done = pirx::cli::chosen_action()();
  wipe_stack();
  if (done) return 0;
  std::fprintf(stderr, "%s %s\n", pirx::cli::in_red("pirx:").c_str(), done.error().to_string().c_str());
  return pirx::cli::exit_code(done.error());
}
