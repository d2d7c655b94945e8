// SPDX-License-Identifier: Apache-2.0
// Run by the build, not installed: writes the man pages and the completions of shells into a folder.
#include <filesystem>
#include <fstream>

#include "command_tree.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: pirx_write_pages FOLDER\n");
    return 1;
  }
  const std::filesystem::path folder = argv[1];
  CLI::App app;
  pirx::cli::add_commands(app);
  const auto program = pirx::cli::show_commands(app);
  CLI::App ranks_app;
  // Only its options are wanted.
  pirx::cli::add_ranks_commands(ranks_app, [](const auto&, const auto&) { return pirx::Result<void>(); });
  const auto ranks = pirx::cli::show_commands(ranks_app);
  std::filesystem::create_directories(folder / "ranks");
  bool good = true;
  const auto write = [&](const std::string& name, const std::string& text) {
    std::ofstream file(folder / name, std::ios::binary);
    file << text;
    good = good && file.flush().good();
  };
  for (const auto* command : pirx::cli::all_commands(program)) {
    write(pirx::cli::page_name(*command) + ".1", pirx::cli::man_page(*command));
  }
  for (const auto* command : pirx::cli::all_commands(ranks)) {
    write("ranks/" + pirx::cli::page_name(*command) + ".1", pirx::cli::man_page(*command));
  }
  for (const auto& [shell, name] : {std::pair{"bash", "pirx"}, {"zsh", "_pirx"}, {"fish", "pirx.fish"}}) {
    write(name, *pirx::cli::completion(program, shell));
  }
  if (!good) std::fprintf(stderr, "pirx_write_pages: cannot write to %s\n", argv[1]);
  return good ? 0 : 1;
}
