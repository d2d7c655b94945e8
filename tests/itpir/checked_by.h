// SPDX-License-Identifier: Apache-2.0
// Decoding by a caller who knows the records.
#pragma once

#include "pirx/itpir/client_interface.h"

namespace pirx::itpir {

/// Takes nothing but what `check` is true of.
inline DecodeOptions checked_by(std::function<bool(std::span<const Bytes>)> check) {
  const auto read = [=](std::size_t, std::span<const Bytes> found) -> Result<Records> {
    if (!check(found)) return fail(ErrorCode::kDataLoss, "refused");
    return Records(found.begin(), found.end());
  };
  return {std::nullopt, read, true};
}

}  // namespace pirx::itpir
