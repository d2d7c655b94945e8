// SPDX-License-Identifier: Apache-2.0
// The client half of quadratic residuosity as the table of protocols has it.
#pragma once

#include "pirx/protocol.h"

namespace pirx::cpir::qr {

Result<Told> tell(ByteSpan parameters);
Result<std::shared_ptr<const Plan>> make_plan(const PlanSpec& spec);

}  // namespace pirx::cpir::qr
