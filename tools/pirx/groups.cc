// SPDX-License-Identifier: Apache-2.0
// Puts commands and options into groups for --help, man pages and completions. What most people want stays in
// the first group of a command, "Options"; what is named here comes after it.
#include <algorithm>
#include <string_view>
#include <vector>

#include "cli.h"
#include "protocol_options.h"
#include "serve_config.h"

namespace pirx::cli {
namespace {

struct Group {
  const char* name;
  std::vector<std::string_view> members;
};

const Group kCommandGroups[] = {
    {"Start here", {"try", "get"}},   {"Databases", {"db"}},
    {"Servers", {"serve", "deploy"}}, {"Measure", {"bench", "load", "plan"}},
    {"This program", {"completion"}},
};

const Group kOptionGroups[] = {
    {"Connection and trust",
     {"ca", "allow-plaintext", "tls-1.2", "tls-cert", "tls-key", "tls-client-ca", "tokens", "token-file",
      "metrics-for-all"}},
    {"Link", {"down", "up", "rtt"}},
    {"Layout of the file", {"records-per-row", "epoch", "no-digests", "max-record-bytes"}},
    {"Checks of the servers", {"expect", "compare", "allow-rollback"}},
    {"Agreement of the run", {"slo-p50", "slo-p99", "slo-refused"}},
    {"Several processes", {"shards", "shards-split", "shards-timeout"}},
};

/// The name of the group of an option; null: the first one.
const char* group_of(std::string_view option) {
  for (const auto& group : kOptionGroups) {
    if (std::find(group.members.begin(), group.members.end(), option) != group.members.end())
      return group.name;
  }
  const auto is_named = [option](const Option& one) { return flag_of(one.name).substr(2) == option; };
  if (std::any_of(limit_options().begin(), limit_options().end(), is_named)) return "Limits";
  // Of the protocols' options these two are what every server of the first protocol is told.
  if (option == "coordinate" || option == "field") return nullptr;
  if (std::any_of(database_options().begin(), database_options().end(), is_named)) {
    return "Options of single protocols";
  }
  return nullptr;
}

void group_options(CLI::App& command) {
  for (auto* option : command.get_options()) {
    if (option->get_group().empty() || option->get_lnames().empty()) continue;  // hidden, or an argument
    if (const char* group = group_of(option->get_lnames().front())) option->group(group);
  }
}

}  // namespace

void group_commands(CLI::App& app) {
  for (auto* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    for (const auto& group : kCommandGroups) {
      const auto& members = group.members;
      const bool here = std::find(members.begin(), members.end(), command->get_name()) != members.end();
      if (here && app.get_parent() == nullptr) command->group(group.name);
    }
    group_options(*command);
    group_commands(*command);
  }
}

}  // namespace pirx::cli
