// Items of the database as polynomials' coefficients. A public pad is added to them, so that the error of an
// answer does not depend on what the database holds.
#pragma once

#include "pirx/cpir/spiral/common.h"

namespace pirx::cpir::spiral {

/// Coefficients below p, polynomials() d of them, of an item's item_bytes() bytes, padded; and back. Constant
/// time in the item and its bytes.
void item_to_coefficients(const Params& params, std::uint64_t item, ByteSpan bytes,
                          std::span<std::uint16_t> out);
void coefficients_to_item(const Params& params, std::uint64_t item, std::span<const std::uint16_t> in,
                          MutableByteSpan bytes);

}  // namespace pirx::cpir::spiral
