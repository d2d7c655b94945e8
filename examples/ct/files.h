// SPDX-License-Identifier: Apache-2.0
// Base64, and small files by pirx/base/small_file.h.
#pragma once

#include <string>

#include "pirx/base/bytes.h"
#include "pirx/base/small_file.h"

namespace pirx::ct {

/// RFC 4648 section 4, with padding. DataLoss for whatever encode_base64 does not make.
std::string encode_base64(ByteSpan bytes);
Result<Bytes> decode_base64(std::string_view text, const std::string& what);

}  // namespace pirx::ct
