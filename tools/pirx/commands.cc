// SPDX-License-Identifier: Apache-2.0
// The commands of the program pirx, as main(), the man pages and the completions of shells see them.
#include "cli.h"

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
  add_db_command(app);
  add_serve_command(app);
  add_deploy_command(app);
  add_get_command(app);
  add_bench_command(app);
  add_load_command(app);
  add_plan_command(app);
  add_try_command(app);
  add_completion_command(app);
}

}  // namespace pirx::cli
