// Tuning files: the engine's table of thresholds as JSON, for the machine that it was measured on
// (docs/cli.md).
#pragma once

#include <filesystem>

#include "pirx/strassen/tuning.h"

namespace pirx::cli {

/// Unavailable: no such file. DataLoss: not JSON, a missing or foreign member, an unknown version, field or
/// way. InvalidArgument: what Tuning::create refuses.
Result<strassen::Tuning> load_tuning(const std::filesystem::path& path);
Result<strassen::Tuning> parse_tuning(std::string_view text);
std::string format_tuning(const strassen::Tuning& tuning, const std::string& cpu);

/// The file that `pirx serve` reads without --tuning, if it is there: $XDG_CONFIG_HOME/pirx/tuning.json, else
/// ~/.config/pirx/tuning.json. Empty without a home.
std::filesystem::path default_tuning_path();

/// Makes the file's table the process's: `path`, or the default one if that is there and `path` is empty.
/// Returns the file that was read; empty: none.
Result<std::filesystem::path> use_tuning(const std::filesystem::path& path);

}  // namespace pirx::cli
