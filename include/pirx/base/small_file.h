// Small files, whole: read with a limit, replaced in one step.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "pirx/base/result.h"

namespace pirx {

/// All of a file. `what` is for messages ("deployment file"). Unavailable: it cannot be opened or read.
/// DataLoss: longer than `limit` bytes.
Result<std::string> read_file(const std::filesystem::path& path, std::size_t limit,
                              std::string_view what = "file");

/// Written beside the target, synced and renamed over it, so that it is whole or unchanged; `mode` as of
/// open(2). ResourceExhausted when the disk is full, else Unavailable.
Result<void> replace_file(const std::filesystem::path& path, std::string_view text, unsigned mode = 0644);

}  // namespace pirx
