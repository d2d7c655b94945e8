// SPDX-License-Identifier: Apache-2.0
// What the two programs share: actions of subcommands, times, and exit codes (those of docs/cli.md).
#pragma once

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>

#include "pirx/base/result.h"

namespace pirx::ct {

inline constexpr int kUsageExitCode = 1;

/// Parses, runs `action`, prints its error. The action returns the exit code of what is no error.
inline int run_program(CLI::App& app, int argc, char** argv, const std::function<Result<int>()>& action) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kUsageExitCode;
  }
  auto done = action();
  if (done && (std::fflush(stdout) != 0 || std::ferror(stdout) != 0)) {
    done = fail(ErrorCode::kUnavailable, "cannot write to standard output");
  }
  if (done) return *done;
  std::fprintf(stderr, "%s: %s\n", app.get_name().c_str(), done.error().to_string().c_str());
  return 1 + static_cast<int>(done.error().code());
}

inline std::uint64_t milliseconds_since_1970() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(now).count());
}

}  // namespace pirx::ct
