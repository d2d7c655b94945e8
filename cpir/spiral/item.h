// SPDX-License-Identifier: Apache-2.0
// Items of the database as coefficients of polynomials. A public pad is added to them, so that the error of
// an answer does not depend on the content of the database.
#pragma once

#include "pirx/cpir/spiral/common.h"

namespace pirx::cpir::spiral {

/// Turns the item_bytes() bytes of an item, with the pad, into polynomials() d coefficients below p, and
/// back. Constant time in the item and its bytes.
void item_to_coefficients(const Params& params, std::uint64_t item, ByteSpan bytes,
                          std::span<std::uint16_t> out);
void coefficients_to_item(const Params& params, std::uint64_t item, std::span<const std::uint16_t> in,
                          MutableByteSpan bytes);

}  // namespace pirx::cpir::spiral
