// SPDX-License-Identifier: Apache-2.0
// The cost of the trivial protocol.
#pragma once

#include "pirx/protocol/offer.h"

namespace pirx::download {

Result<Offer> offer_download(const Question& question, Rates& rates);
inline constexpr Scheme kSchemes[] = {{"download", &offer_download}};

}  // namespace pirx::download
