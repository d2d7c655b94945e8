// SPDX-License-Identifier: Apache-2.0
// The client half of Spiral as the table of protocols has it.
#pragma once

#include "pirx/protocol.h"

namespace pirx::cpir::spiral {

Result<Told> tell(ByteSpan parameters);
Result<std::shared_ptr<const Plan>> make_plan(const PlanSpec& spec);

}  // namespace pirx::cpir::spiral
