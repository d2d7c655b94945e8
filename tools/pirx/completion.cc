// SPDX-License-Identifier: Apache-2.0
// `pirx completion`: scripts that let bash, zsh and fish complete commands, options and their words. They are
// made from the options themselves.
#include "command_tree.h"

namespace pirx::cli {
namespace {

using Value = ShownOption::Value;

std::string joined_words(const std::vector<std::string>& words, std::string_view between = " ") {
  std::string text;
  for (const auto& word : words) text += (text.empty() ? std::string() : std::string(between)) + word;
  return text;
}

/// In single quotes, as all three shells read it. fish knows \' in them, the others end and begin again.
std::string in_quotes(std::string_view text, bool fish = false) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'') {
      out += fish ? "\\'" : "'\\''";
    } else if (c == '\\' && fish) {
      out += "\\\\";
    } else {
      out += c == '\n' ? ' ' : c;
    }
  }
  return out + "'";
}

/// The first sentence of a help text.
std::string brief_help(const std::string& help) {
  const auto end =
      std::min({help.find("; "), help.find(". "), help.find(" ("), help.find('\n'), help.size()});
  return help.substr(0, end);
}

std::vector<std::string> names_of(const std::vector<ShownCommand>& commands) {
  std::vector<std::string> names;
  for (const auto& command : commands) names.push_back(command.name);
  return names;
}

std::string bash_completion(const ShownCommand& program) {
  std::string paths, values, options, commands;
  for (const auto* command : all_commands(program)) {
    if (command != &program) paths += (paths.empty() ? "" : " | ") + in_quotes(command->path);
    std::vector<std::string> names;
    for (const auto& option : command->options) {
      names.insert(names.end(), option.names.begin(), option.names.end());
      if (option.value == Value::kNone) continue;
      for (const auto& name : option.names) {
        values += "    " + in_quotes(command->path + " " + name) + ") " +
                  (option.value == Value::kWord   ? "words=" + in_quotes(joined_words(option.words)) + " ;;\n"
                   : option.value == Value::kFile ? "return ;;\n"
                                                  : "compopt +o default +o bashdefault; return ;;\n");
      }
    }
    options += "      " + in_quotes(command->path) + ") words=" + in_quotes(joined_words(names)) + " ;;\n";
    auto next = names_of(command->commands);
    for (const auto& argument : command->arguments) {
      next.insert(next.end(), argument.words.begin(), argument.words.end());
    }
    if (!next.empty()) {
      commands += "      " + in_quotes(command->path) + ") words=" + in_quotes(joined_words(next)) + " ;;\n";
    }
  }
  return R"(# bash completion of pirx; `pirx completion bash` prints this. What completes to nothing here is a file's name.
_pirx() {
  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} at=pirx words='' i
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$at ${COMP_WORDS[i]}" in
      )" +
         paths + R"() at="$at ${COMP_WORDS[i]}" ;;
    esac
  done
  if [ "$cur" = '=' ]; then
    cur=''
  elif [ "$prev" = '=' ] && [ "$COMP_CWORD" -gt 2 ]; then
    prev=${COMP_WORDS[COMP_CWORD - 2]}
  fi
  case "$at $prev" in
)" + values +
         R"(  esac
  if [ -n "$words" ]; then
    :
  elif [[ $cur == -* ]]; then
    case $at in
)" + options +
         R"(    esac
  else
    case $at in
)" + commands +
         R"(    esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
}
complete -o bashdefault -o default -F _pirx pirx
)";
}

/// A text inside an argument of _arguments or _describe.
std::string zsh_text(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == ':' || c == '[' || c == ']' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

/// ":what:action" of an option's value or an argument.
std::string zsh_value(const ShownOption& option) {
  const std::string what = ":" + zsh_text(option.kind.empty() ? option.names.back() : option.kind) + ":";
  if (option.value == Value::kWord) return what + "(" + joined_words(option.words) + ")";
  return what + (option.value == Value::kFile ? "_files" : " ");
}

std::string zsh_function(const ShownCommand& command) {
  std::string name = "_" + command.path;
  std::replace(name.begin(), name.end(), ' ', '_');
  std::string text =
      name + "() {\n  local context state state_descr line\n  typeset -A opt_args\n  _arguments -C -S";
  for (const auto& option : command.options) {
    for (const auto& flag : option.names) {
      const bool one = !option.repeatable && option.names.size() == 1;
      const bool equals = option.value != Value::kNone && flag.starts_with("--");
      const std::string others = option.repeatable ? "" : "(" + joined_words(option.names) + ")";
      text += " \\\n    " + in_quotes((one                 ? ""
                                       : option.repeatable ? "*"
                                                           : others) +
                                      flag + (equals ? "=" : "") + "[" + zsh_text(brief_help(option.help)) +
                                      "]" + (option.value == Value::kNone ? "" : zsh_value(option)));
    }
  }
  if (command.commands.empty()) {
    for (const auto& argument : command.arguments) {
      auto shown = argument;
      shown.kind = argument.names.back();
      text += " \\\n    " + in_quotes((argument.repeatable ? "*"
                                       : argument.required ? ""
                                                           : ":") +
                                      zsh_value(shown));
    }
    return text + "\n}\n";
  }
  text +=
      " \\\n    '1:command:->command' '*::argument:->argument'\n  case $state in\n    command)\n      local "
      "-a "
      "commands=(";
  std::string cases;
  for (const auto& inner : command.commands) {
    text += "\n        " + in_quotes(zsh_text(inner.name) + ":" + zsh_text(brief_help(inner.help)));
    cases += "        " + inner.name + ") " + name + "_" + inner.name + " ;;\n";
  }
  return text +
         "\n      )\n      _describe command commands\n      ;;\n    argument)\n      case $words[1] in\n" +
         cases + "      esac\n      ;;\n  esac\n}\n";
}

std::string zsh_completion(const ShownCommand& program) {
  std::string text = "#compdef pirx\n# zsh completion of pirx; `pirx completion zsh` prints this.\n";
  const auto commands = all_commands(program);
  for (auto command = commands.rbegin(); command != commands.rend(); ++command)
    text += zsh_function(**command);
  return text + "if [ \"$funcstack[1]\" = _pirx ]; then\n  _pirx \"$@\"\nelse\n  compdef _pirx pirx\nfi\n";
}

std::string fish_completion(const ShownCommand& program) {
  std::string paths, lines;
  for (const auto* command : all_commands(program)) {
    if (command != &program) paths += " " + in_quotes(command->path, true);
    const std::string at =
        "complete -c pirx -n " + in_quotes("__pirx_at " + in_quotes(command->path, true), true);
    const bool files = std::any_of(command->arguments.begin(), command->arguments.end(),
                                   [](const auto& argument) { return argument.value == Value::kFile; });
    if (!files) lines += at + " -f\n";
    for (const auto& inner : command->commands) {
      lines += at + " -a " + inner.name + " -d " + in_quotes(brief_help(inner.help), true) + "\n";
    }
    for (const auto& argument : command->arguments) {
      if (argument.value == Value::kWord)
        lines += at + " -a " + in_quotes(joined_words(argument.words), true) + "\n";
    }
    for (const auto& option : command->options) {
      lines += at;
      for (const auto& name : option.names) {
        lines += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      }
      lines += option.value == Value::kNone   ? ""
               : option.value == Value::kFile ? " -r -F"
               : option.value == Value::kWord ? " -x -a " + in_quotes(joined_words(option.words), true)
                                              : " -x";
      lines += " -d " + in_quotes(brief_help(option.help), true) + "\n";
    }
  }
  return "# fish completion of pirx; `pirx completion fish` prints this.\n"
         "function __pirx_at --description 'Whether the words before the cursor name this command'\n"
         "    set -l at pirx\n"
         "    for word in (commandline -opc)[2..-1]\n"
         "        if contains -- \"$at $word\"" +
         paths +
         "\n            set at \"$at $word\"\n        end\n    end\n    test \"$at\" = \"$argv[1]\"\nend\n" +
         lines;
}

}  // namespace

Result<std::string> completion(const ShownCommand& program, const std::string& shell) {
  if (shell == "bash") return bash_completion(program);
  if (shell == "zsh") return zsh_completion(program);
  if (shell == "fish") return fish_completion(program);
  return invalid("there are completions for bash, zsh and fish, none for '" + shell + "'");
}

void add_completion_command(CLI::App& app) {
  auto& command =
      *app.add_subcommand("completion", "Print a script that lets a shell complete commands and options");
  auto shell = std::make_shared<std::string>();
  command.add_option("shell", *shell, "Whose script")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  command.footer(
      "Debian's package installs the scripts. Otherwise put a line into the file that your shell reads when "
      "it starts.\n"
      "Examples:\n"
      "  bash, ~/.bashrc:                  eval \"$(pirx completion bash)\"\n"
      "  zsh, ~/.zshrc, after compinit:    eval \"$(pirx completion zsh)\"\n"
      "  fish, ~/.config/fish/config.fish: pirx completion fish | source");
  set_action(command, [&app, shell]() -> Result<void> {
    PIRX_ASSIGN(const auto script, completion(show_commands(app), *shell));
    std::fputs(script.c_str(), stdout);
    return {};
  });
}

}  // namespace pirx::cli
