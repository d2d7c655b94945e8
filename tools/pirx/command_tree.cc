// SPDX-License-Identifier: Apache-2.0
// Reads commands and options out of CLI11.
#include "command_tree.h"

#include "pirx/protocol.h"

namespace pirx::cli {
namespace {

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> words;
  for (std::size_t begin = 0; begin <= text.size();) {
    const auto end = std::min(text.find(',', begin), text.size());
    words.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

ShownOption show_option(const CLI::Option& option) {
  using Value = ShownOption::Value;
  ShownOption shown;
  shown.help = option.get_description();
  shown.preset = option.get_default_str();
  shown.group = option.get_group();
  shown.required = option.get_required();
  shown.repeatable = option.get_items_expected_max() > 1;
  if (option.nonpositional()) {
    for (const auto& name : option.get_snames()) shown.names.push_back("-" + name);
    for (const auto& name : option.get_lnames()) shown.names.push_back("--" + name);
  } else {
    shown.names.push_back(option.get_name(true));
  }
  if (option.get_items_expected_max() == 0) return shown;

  // "TEXT", "TEXT:{csv,tsv}" from a check of the words, "(number from 1)" from a table of options.
  std::string kind = option.get_type_name();
  const auto brace = kind.find('{');
  if (brace != std::string::npos) {
    shown.words = split(kind.substr(brace + 1, kind.find('}', brace) - brace - 1));
    kind = kind.substr(0, kind.find(':'));
  } else if (shown.names.back() == "--protocol") {
    for (const auto* protocol : protocols()) shown.words.emplace_back(protocol->name);
  }
  if (kind.starts_with('(') && kind.ends_with(')')) kind = kind.substr(1, kind.size() - 2);
  shown.kind = kind;
  shown.value = !shown.words.empty()                                         ? Value::kWord
                : kind == "TEXT" || kind == "file" || kind.find("FILE") == 0 ? Value::kFile
                                                                             : Value::kOther;
  return shown;
}

}  // namespace

ShownCommand show_commands(const CLI::App& app, const std::string& above) {
  ShownCommand shown;
  shown.name = app.get_name();
  shown.path = above.empty() ? shown.name : above + " " + shown.name;
  shown.help = app.get_description();
  shown.footer = app.get_footer();
  for (const auto* option : app.get_options()) {
    if (option->get_group().empty()) continue;
    (option->nonpositional() ? shown.options : shown.arguments).push_back(show_option(*option));
  }
  for (const auto* command :
       app.get_subcommands([](const CLI::App* sub) { return !sub->get_group().empty(); })) {
    shown.commands.push_back(show_commands(*command, shown.path));
  }
  return shown;
}

std::vector<const ShownCommand*> all_commands(const ShownCommand& command) {
  std::vector<const ShownCommand*> all{&command};
  for (const auto& inner : command.commands) {
    const auto below = all_commands(inner);
    all.insert(all.end(), below.begin(), below.end());
  }
  return all;
}

}  // namespace pirx::cli
