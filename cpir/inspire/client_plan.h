// SPDX-License-Identifier: Apache-2.0
// The client half of inspire as the table of protocols has it.
#pragma once

#include "pirx/protocol.h"

namespace pirx::cpir::inspire {

inline constexpr Option kClientOptions[] = {
    {"masks", Option::Kind::kPath, 0, 0,
     "Folder that keeps the public masks of each epoch, so that they are fetched once [none: they are "
     "fetched by every client anew]"},
};

Result<Told> tell(ByteSpan parameters);
Result<std::shared_ptr<const Plan>> make_plan(const PlanSpec& spec);

}  // namespace pirx::cpir::inspire
