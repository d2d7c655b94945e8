// SPDX-License-Identifier: Apache-2.0
// The commands of a program and their options, as its man pages and completions show them.
#pragma once

#include <string>
#include <vector>

#include "cli.h"

namespace pirx::cli {

struct ShownOption {
  enum class Value { kNone, kWord, kFile, kOther };
  std::vector<std::string> names;  ///< "-o", "--output"; of an argument its name
  Value value = Value::kNone;
  std::string kind;                ///< "TEXT", "number from 1 to 256"; empty for a switch
  std::vector<std::string> words;  ///< the words that a kWord may be
  std::string help, preset, group;
  bool required = false, repeatable = false;
};

struct ShownCommand {
  std::string path;  ///< "pirx db build"
  std::string name;  ///< "build"
  std::string help, footer;
  std::vector<ShownOption> options, arguments;
  std::vector<ShownCommand> commands;
};

/// The command and those in it, but none that is hidden (of an empty group).
ShownCommand show_commands(const CLI::App& app, const std::string& above = {});

/// The command and all in it, each before those in it.
std::vector<const ShownCommand*> all_commands(const ShownCommand& command);

/// What `pirx completion SHELL` prints. InvalidArgument: a shell that is not known.
Result<std::string> completion(const ShownCommand& program, const std::string& shell);
/// A page of section 1 of the manual, in troff's man macros.
std::string man_page(const ShownCommand& command);
/// The name of a command's page: "pirx-db-build".
std::string page_name(const ShownCommand& command);

}  // namespace pirx::cli
