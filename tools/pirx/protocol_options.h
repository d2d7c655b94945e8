// SPDX-License-Identifier: Apache-2.0
// The options of the rows of the table of protocols, as flags.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "pirx/protocol.h"

namespace pirx::cli {

/// The options of this kind (Protocol::options, ::chosen, ::client_options) of all protocols, each once. The
/// help names the protocols that take an option, unless all with several servers take it.
std::vector<Option> options_of_all(std::span<const Option> Protocol::*kind);

/// The values that an option takes, for people: "number from 1 to 256". Empty for a switch.
std::string values_of(const Option& option);

/// A flag whose text is checked at once and kept in `texts`. `flag` in place of flag_of(option.name), if
/// given.
void add_text_option(CLI::App& command, const Option& option, const std::string& help, Texts& texts,
                     std::string flag = {});

/// The table of protocols as help.
std::string protocol_help();

}  // namespace pirx::cli
