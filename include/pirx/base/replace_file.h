// A small file, replaced in one step.
#pragma once

#include <filesystem>
#include <string_view>

#include "pirx/base/result.h"

namespace pirx {

/// Written beside the target, synced and renamed over it, so that it is whole or unchanged; `mode` as of
/// open(2). ResourceExhausted when the disk is full, else Unavailable.
Result<void> replace_file(const std::filesystem::path& path, std::string_view text, unsigned mode = 0644);

}  // namespace pirx
