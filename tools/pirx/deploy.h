// SPDX-License-Identifier: Apache-2.0
// The plan of a deployment from what its servers say, for `pirx deploy` and `pirx try`.
#pragma once

#include <memory>
#include <span>

#include "pirx/protocol.h"

namespace pirx::cli {

/// The plan of servers that said `told`, in their order. At least one; all must speak `protocol` and have the
/// same members, geometry and version. `chosen` are options of Protocol::chosen. InvalidArgument: they do not
/// fit.
Result<std::shared_ptr<const Plan>> plan_for(const Protocol& protocol, std::span<const Told> told,
                                             const Texts& chosen);

}  // namespace pirx::cli
