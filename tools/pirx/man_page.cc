// SPDX-License-Identifier: Apache-2.0
// Manual pages, made from the commands and their options.
#include "command_tree.h"

namespace pirx::cli {
namespace {

/// Text of a paragraph as troff reads it. Dashes are those of the keyboard, so that they can be copied.
std::string roff(std::string_view text) {
  std::string out;
  bool line_begins = true;
  for (const char c : text) {
    if (line_begins && (c == '.' || c == '\'')) out += "\\&";
    line_begins = c == '\n';
    out += c == '\\' ? "\\e" : c == '-' ? "\\-" : std::string(1, c);
  }
  return out;
}

std::string bold(const std::string& text) { return "\\fB" + roff(text) + "\\fR"; }

std::string described(const ShownOption& option, bool is_argument) {
  std::string text = ".TP\n";
  for (const auto& name : option.names) text += (&name == &option.names[0] ? "" : ", ") + bold(name);
  if (!is_argument && !option.kind.empty()) text += " \\fI" + roff(option.kind) + "\\fR";
  text += "\n" + roff(option.help);
  if (!option.words.empty() && option.help.find(option.words[0]) == std::string::npos) {
    text += ".\nOne of";
    for (const auto& word : option.words) text += (&word == &option.words[0] ? " " : ", ") + bold(word);
  }
  if (!option.preset.empty() && option.help.find('[') == std::string::npos)
    text += " [" + roff(option.preset) + "]";
  return text + ".\n";
}

std::string verbatim(const std::string& text) {
  return ".nf\n" + roff(text) + (text.ends_with('\n') ? "" : "\n") + ".fi\n";
}

/// Notes, and the examples that begin where a line says "Example".
std::string footer_of(const ShownCommand& command) {
  const auto& footer = command.footer;
  if (footer.empty()) return {};
  const auto begin = footer.starts_with("Example") ? 0 : footer.find("\nExample");
  std::string text;
  if (begin != 0) text += ".SH NOTES\n" + verbatim(footer.substr(0, begin));
  if (begin != std::string::npos) {
    text += ".SH EXAMPLES\n" + verbatim(footer.substr(footer.find('\n', begin + 1) + 1));
  }
  return text;
}

}  // namespace

std::string page_name(const ShownCommand& command) {
  std::string name = command.path;
  std::replace(name.begin(), name.end(), ' ', '-');
  return name;
}

std::string man_page(const ShownCommand& command) {
  std::string title = page_name(command);
  std::transform(title.begin(), title.end(), title.begin(),
                 [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; });
  // Without a date, so that the same source always makes the same page.
  std::string text = ".\\\" Made from the program's options.\n.TH " + title +
                     " 1 \"\" \"pirx " PIRX_VERSION "\" \"User Commands\"\n.SH NAME\n" +
                     roff(page_name(command)) + " \\- ";
  const auto line = command.help.substr(0, command.help.find('\n'));
  const bool program = line.starts_with(command.path + ": ");
  text += roff(program ? line.substr(command.path.size() + 2) : line) + "\n.SH SYNOPSIS\n" +
          bold(command.path) + " [\\fIoptions\\fR]";
  for (const auto& argument : command.arguments) {
    const auto name = "\\fI" + roff(argument.names[0]) + "\\fR" + (argument.repeatable ? " ..." : "");
    text += argument.required ? " " + name : " [" + name + "]";
  }
  text += command.commands.empty() ? "\n" : " \\fIcommand\\fR ...\n";
  if (line.size() < command.help.size())
    text += ".SH DESCRIPTION\n" + roff(command.help.substr(line.size() + 1)) + "\n";
  if (!command.arguments.empty()) text += ".SH ARGUMENTS\n";
  for (const auto& argument : command.arguments) text += described(argument, true);
  if (!command.commands.empty()) text += ".SH COMMANDS\n";
  for (const auto& inner : command.commands) {
    text += ".TP\n.BR " + roff(page_name(inner)) + " (1)\n" + roff(inner.help) + ".\n";
  }
  std::vector<std::string> groups;
  for (const auto& option : command.options) {
    if (std::find(groups.begin(), groups.end(), option.group) == groups.end()) groups.push_back(option.group);
  }
  text += ".SH OPTIONS\n";
  for (const auto& group : groups) {
    if (groups.size() > 1) text += ".SS \"" + roff(group) + "\"\n";
    for (const auto& option : command.options) {
      if (option.group == group) text += described(option, false);
    }
  }
  text += footer_of(command);
  const auto up = page_name(command).rfind('-');
  if (up != std::string::npos)
    text += ".SH SEE ALSO\n.BR " + roff(page_name(command).substr(0, up)) + " (1)\n";
  return text;
}

}  // namespace pirx::cli
