// SPDX-License-Identifier: Apache-2.0
// pirx: the command-line program. Parses, runs the chosen subcommand, leaves nothing of what was asked for in
// memory.
#include <array>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <new>
#include <string_view>
#include <system_error>

#include "cli.h"
#include "pirx/base/secret_memory.h"
#include "pirx/base/sha256.h"
#include "pirx/database/serving.h"

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

int run(int argc, char** argv) {
  wipe_stack();  // so that the stack has that size, which it may not get any more when memory is short
  CLI::App app;
  pirx::cli::add_commands(app);
  if (const auto code = pirx::cli::parse(app, argc, argv)) return *code;
  // The list of processes shows the command line, and a core dump has it.
  const bool asks = app.got_subcommand("get") || app.got_subcommand("try");
  for (int i = 2; asks && i < argc; ++i) pirx::secure_wipe(argv[i], std::strlen(argv[i]));
  auto done = pirx::database::survive_lost_pages();
  if (done) done = pirx::cli::chosen_action()();
  // A server says so itself, and of which database.
  if (done && pirx::database::pages_lost() && !app.got_subcommand("serve")) {
    done = pirx::fail(
        pirx::ErrorCode::kDataLoss,
        "a database was truncated while it was read, or its disk fails: do not use what came of it");
  }
  if (done && (!std::cout.flush() || std::fflush(stdout) != 0 || std::ferror(stdout) != 0)) {
    done = pirx::fail(pirx::ErrorCode::kUnavailable,
                      "cannot write to standard output; files that the command makes are written");
  }
  wipe_stack();
  return pirx::cli::report(app, done);
}

}  // namespace

int main(int argc, char** argv) {
  pirx::cli::fill_standard_descriptors();
  std::signal(SIGXFSZ, SIG_IGN);  // so that a write beyond the limit on file sizes fails with an error
  if (argc > 1 && std::string_view(argv[1]) == "serve") {
    // A SIGHUP that comes while the server starts waits, and does not end it.
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  }
  try {
    return run(argc, argv);
  } catch (const std::bad_alloc&) {  // outside of the library, such as while the command line was read
    std::fputs("pirx: ResourceExhausted: out of memory; give this process more\n", stderr);
    return 6;
  } catch (const std::system_error& error) {  // of a thread
    std::fprintf(stderr, "pirx: ResourceExhausted: cannot start a thread: %s\n", error.what());
    return 6;
  }
}
