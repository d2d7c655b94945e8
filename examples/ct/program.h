// SPDX-License-Identifier: Apache-2.0
// What the two programs share: actions of subcommands, times, and exit codes (those of docs/cli.md).
#pragma once

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <new>

#include "pirx/base/result.h"
#include "pirx/database/serving.h"
#include "pirx/protocol/option.h"

namespace pirx::ct {

inline constexpr int kUsageExitCode = 1;

/// Of an option that takes a whole number: no sign, no fraction, nothing beyond 64 bits.
inline CLI::Validator whole_number() {
  return CLI::Validator(
      [](std::string& text) -> std::string {
        const auto value = parse_whole_number(text, 0, ~std::uint64_t{0});
        if (value) text = std::to_string(*value);  // CLI11 takes 010 for eight
        return value ? "" : value.error().message();
      },
      "");
}

/// Throws if an option was given an empty text, such as that of a variable which is not set: a check would be
/// left out in silence.
inline void refuse_empty_options(const CLI::App& app) {
  for (const auto* option : app.get_options()) {
    const auto& texts = option->results();
    if (option->get_name().starts_with('-') && std::find(texts.begin(), texts.end(), "") != texts.end()) {
      throw CLI::ValidationError(option->get_name(), "is empty: give a value, or leave the option out");
    }
  }
  for (const auto* command : app.get_subcommands()) refuse_empty_options(*command);
}

/// Parses, runs `action`, prints its error. The action returns the exit code of what is no error. Files that
/// shrink or grow too long are errors of the action, not the end of the process; so is a lack of memory.
inline int run_program(CLI::App& app, int argc, char** argv, const std::function<Result<int>()>& action) try {
  try {
    app.parse(argc, argv);
    refuse_empty_options(app);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kUsageExitCode;
  }
  std::signal(SIGXFSZ, SIG_IGN);
  auto done = [&]() -> Result<int> {
    PIRX_TRY(database::survive_lost_pages());
    return action();
  }();
  if (done && database::pages_lost()) {
    done = fail(ErrorCode::kDataLoss,
                "a database was truncated while it was read, or its disk fails: do not use what came of it");
  }
  if (done && (std::fflush(stdout) != 0 || std::ferror(stdout) != 0)) {
    done = fail(ErrorCode::kUnavailable, "cannot write to standard output");
  }
  if (done) return *done;
  std::fprintf(stderr, "%s: %s\n", app.get_name().c_str(), done.error().to_string().c_str());
  return 1 + static_cast<int>(done.error().code());
} catch (const std::bad_alloc&) {
  std::fprintf(stderr, "%s: ResourceExhausted: out of memory; give this process more\n",
               app.get_name().c_str());
  return 1 + static_cast<int>(ErrorCode::kResourceExhausted);
}

inline std::uint64_t milliseconds_since_1970() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(now).count());
}

}  // namespace pirx::ct
