// Small files, read whole with a limit; base64.
#pragma once

#include <filesystem>
#include <string>

#include "pirx/base/bytes.h"
#include "pirx/base/replace_file.h"

namespace pirx::ct {

/// Unavailable: cannot be read. DataLoss: longer than `limit` bytes.
Result<std::string> read_file(const std::filesystem::path& path, std::size_t limit);
/// RFC 4648 section 4, with padding. DataLoss for whatever encode_base64 does not make.
std::string encode_base64(ByteSpan bytes);
Result<Bytes> decode_base64(std::string_view text, const std::string& what);

}  // namespace pirx::ct
