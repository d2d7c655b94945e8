// SPDX-License-Identifier: Apache-2.0
// The options of all protocols as one list of flags.
#include "protocol_options.h"

#include <deque>

namespace pirx::cli {

std::vector<Option> options_of_all(std::span<const Option> Protocol::*kind) {
  static std::deque<std::string> helps;  // their addresses stay
  const auto takers_of = [kind](std::string_view name) {
    std::string names;
    bool all_of_several = true, only_several = true;
    for (const auto* protocol : protocols()) {
      if (find_option(protocol->*kind, name) != nullptr) {
        names += (names.empty() ? "" : ", ") + std::string(protocol->name);
        only_several = only_several && protocol->several;
      } else if (protocol->several) {
        all_of_several = false;
      }
    }
    return all_of_several && only_several ? std::string() : names;
  };
  std::vector<Option> options;
  for (const auto* protocol : protocols()) {
    for (Option option : protocol->*kind) {
      if (find_option(options, option.name) != nullptr) continue;
      if (const auto takers = takers_of(option.name); !takers.empty()) {
        option.help = helps.emplace_back(takers + ": " + std::string(option.help));
      }
      options.push_back(option);
    }
  }
  return options;
}

std::string values_of(const Option& option) {
  using Kind = Option::Kind;
  const auto show = [&](std::uint64_t value) {
    return option.kind == Kind::kSize   ? show_size(value)
           : option.kind == Kind::kTime ? show_duration(value)
                                        : std::to_string(value);
  };
  // Bounds beyond 2^48 bound nothing that anybody writes.
  constexpr std::uint64_t kMost = std::uint64_t{1} << 48;
  std::string range = option.least > 0 ? " from " + show(option.least) : "";
  if (option.most < kMost) range += " to " + show(option.most);
  switch (option.kind) {
    case Kind::kText:
      return "text";
    case Kind::kPath:
      return "file";
    case Kind::kNumber:
      return "number" + range;
    case Kind::kNumbers:
      return "numbers" + range + ", as 32,16";
    case Kind::kSize:
      return "size" + range + ", as 64MiB";
    case Kind::kTime:
      return "time" + range + ", as 10s";
    case Kind::kSwitch:
      break;
  }
  return "";
}

void add_text_option(CLI::App& command, const Option& option, const std::string& help, Texts& texts,
                     std::string flag) {
  const auto keep = [&texts, name = std::string(option.name)](const std::string& text) {
    texts[name] = text;
  };
  if (flag.empty()) flag = flag_of(option.name);
  if (option.kind == Option::Kind::kSwitch) {
    command.add_flag_callback(
        flag, [keep] { keep("on"); }, help);
    return;
  }
  const auto check = [option](const std::string& text) {
    const auto value = option.value(text);
    return value ? std::string() : value.error().message();
  };
  command.add_option_function<std::string>(flag, keep, help)
      ->check(CLI::Validator(check, ""))
      ->type_name("(" + values_of(option) + ")");
}

std::string protocol_help() {
  std::string help;
  for (const auto* protocol : protocols()) {
    help += (help.empty() ? "" : "; ") + std::string(protocol->name) + " (" + std::string(protocol->summary) +
            ")";
  }
  return help;
}

}  // namespace pirx::cli
