// SPDX-License-Identifier: Apache-2.0
// Says what a file is that was given in place of another kind.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace pirx::cli {

/// Lines about files on the command line that are not what their options want, each with a newline before it:
/// "packages.json is a deployment file ('pirx get' takes it), not a database". For the end of a message,
/// after the command that was parsed has failed. Empty: all files are what they should be, or nothing is
/// known.
std::string explain_wrong_files(const CLI::App& app);

}  // namespace pirx::cli
