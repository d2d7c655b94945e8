// Small files, whole: read with a limit, replaced in one step.
#pragma once

#include <filesystem>
#include <string>

#include "pirx/base/bytes.h"

namespace pirx::ct {

/// Unavailable: cannot be read. DataLoss: longer than `limit` bytes.
Result<std::string> read_file(const std::filesystem::path& path, std::size_t limit);
/// Written beside the target, synced and renamed; `mode` as of open(2). Unavailable.
Result<void> replace_file(const std::filesystem::path& path, std::string_view text, unsigned mode = 0644);
/// RFC 4648 section 4, with padding. DataLoss for whatever encode_base64 does not make.
std::string encode_base64(ByteSpan bytes);
Result<Bytes> decode_base64(std::string_view text, const std::string& what);

}  // namespace pirx::ct
