// SPDX-License-Identifier: Apache-2.0
// What to say of a command line that cannot be parsed: the nearest command or option that there is.
#pragma once

#include <CLI/CLI.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace pirx::cli {

/// The candidate that `word` is most likely a slip of: at most a third of its letters are wrong, missing, too
/// many or swapped with their neighbours, or it is the beginning of the candidate. Empty: there is none.
std::string nearest(std::string_view word, const std::vector<std::string>& candidates);

/// Names the first word that is no command or no option, with the nearest one, as "no command 'gte': did you
/// mean 'get'?". `words` are those after the program's name. Empty: all of them are known.
std::string explain_unknown(const CLI::App& app, std::span<const char* const> words);

}  // namespace pirx::cli
