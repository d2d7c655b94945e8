// SPDX-License-Identifier: Apache-2.0
// The public polynomials A_v and w_j, which both sides expand out of the salt for themselves.
#pragma once

#include "cpir/ring/ring.h"
#include "pirx/cpir/inspire/common.h"

namespace pirx::cpir::inspire {

/// The transform of A_v ("pirx inspire query mask"), 2d residues.
void query_mask(const Ring& ring, const Salt& salt, std::uint64_t v, std::uint32_t* slots);
/// The transform of w_j ("pirx inspire key mask").
void key_mask(const Ring& ring, const Salt& salt, std::uint64_t j, std::uint32_t* slots);

}  // namespace pirx::cpir::inspire
