// SPDX-License-Identifier: Apache-2.0
// Distances between words, and a walk along the command line.
#include "did_you_mean.h"

#include <algorithm>
#include <cctype>

#include "cli.h"

namespace pirx::cli {
namespace {

constexpr std::size_t kMaxWord = 64;  ///< longer words are no slips

/// The fewest letters to change, add, leave out or swap with the next one (optimal string alignment).
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        d[i][j] = i + j;
        continue;
      }
      d[i][j] =
          std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  }
  return d[a.size()][b.size()];
}

std::string advice(const std::string& nearest, const std::string& otherwise) {
  return nearest.empty() ? ": " + otherwise : ": did you mean '" + nearest + "'?";
}

/// All names of the options, with their dashes.
std::vector<std::string> option_names(const CLI::App& command) {
  std::vector<std::string> names;
  for (const auto* option : command.get_options()) {
    for (const auto& name : option->get_lnames()) names.push_back("--" + name);
    for (const auto& name : option->get_snames()) names.push_back("-" + name);
  }
  return names;
}

std::string explain_option(const CLI::App& command, const std::string& path, std::string_view word) {
  const bool is_long = word.starts_with("--");
  // "-t1" and "-qx" are known by their first letter. "-5" is a value.
  if (!is_long && std::isalpha(static_cast<unsigned char>(word[1])) == 0) return {};
  const std::string name(is_long ? word.substr(0, word.find('=')) : word.substr(0, 2));
  const auto names = option_names(command);
  if (std::find(names.begin(), names.end(), name) != names.end()) return {};
  const auto near = is_long ? nearest(name, names) : std::string();
  return "no option '" + escape_key(name) + "' of '" + path + "'" + advice(near, "see " + path + " --help");
}

}  // namespace

std::string nearest(std::string_view word, const std::vector<std::string>& candidates) {
  const auto letters = word.substr(std::min(word.find_first_not_of('-'), word.size()));
  if (letters.empty() || letters.size() > kMaxWord) return {};
  std::string best;
  std::size_t least = std::max<std::size_t>(1, letters.size() / 3) + 1;
  for (const auto& candidate : candidates) {
    const auto other = std::string_view(candidate).substr(candidate.find_first_not_of('-'));
    if (other.size() == 1 && letters.size() > 1) continue;
    const bool beginning = letters.size() > 2 && other.starts_with(letters);
    const auto wrong = beginning ? 1 : distance(letters, other);
    if (wrong >= least) continue;
    least = wrong;
    best = candidate;
  }
  return best;
}

std::string explain_unknown(const CLI::App& app, std::span<const char* const> words) {
  const CLI::App* command = &app;
  std::string path = app.get_name();
  for (const std::string_view word : words) {
    if (word == "--") return {};
    if (word.size() > 1 && word.starts_with('-')) {
      if (auto text = explain_option(*command, path, word); !text.empty()) return text;
      continue;
    }
    std::vector<std::string> names;
    const CLI::App* next = nullptr;
    for (const auto* sub : command->get_subcommands([](const CLI::App*) { return true; })) {
      names.push_back(sub->get_name());
      if (sub->get_name() == word) next = sub;
    }
    if (names.empty()) continue;  // an argument or the value of an option
    if (next == nullptr) {
      std::string all;
      for (const auto& name : names) all += (all.empty() ? "" : ", ") + name;
      return "no command '" + escape_key(word) + "'" + (command == &app ? "" : " of '" + path + "'") +
             advice(nearest(word, names), "there are " + all);
    }
    command = next;
    path += " " + next->get_name();
  }
  return {};
}

}  // namespace pirx::cli
