// SPDX-License-Identifier: Apache-2.0
// Puts commands and options into groups for --help, man pages and completions. What most people want stays in
// the first group of a command, "Options"; what is named here comes after it.
#include <algorithm>
#include <map>
#include <string>
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
    {"Start here", {"try", "get"}},
    {"Databases", {"db"}},
    {"Servers", {"serve", "deploy", "manifest"}},
    {"Measure", {"bench", "load", "plan"}},
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

using GroupNames = std::map<std::string, const char*, std::less<>>;

/// The groups of options by their long names. What has none stays in the first group. Limits and options of
/// protocols are those of `serve`; elsewhere the same name may be another option.
GroupNames option_groups(bool serves) {
  GroupNames groups;
  for (const auto& group : kOptionGroups) {
    for (const auto member : group.members) groups.emplace(member, group.name);
  }
  if (!serves) return groups;
  for (const auto& limit : limit_options()) groups.emplace(flag_of(limit.name).substr(2), "Limits");
  for (const auto& option : database_options()) {
    // These two every server of the first protocol is told.
    if (option.name == "coordinate" || option.name == "field") continue;
    groups.emplace(flag_of(option.name).substr(2), "Options of single protocols");
  }
  return groups;
}

void group_options(CLI::App& command) {
  static const GroupNames of_serve = option_groups(true), of_others = option_groups(false);
  const auto& groups = command.get_name() == "serve" ? of_serve : of_others;
  for (auto* option : command.get_options()) {
    if (option->get_group().empty() || option->get_lnames().empty()) continue;  // hidden, or an argument
    const auto group = groups.find(option->get_lnames().front());
    if (group != groups.end()) option->group(group->second);
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
