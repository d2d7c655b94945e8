// SPDX-License-Identifier: Apache-2.0
// Plans of deployments: of two servers, or of more, of which any two are asked.
#pragma once

#include "itpir/client_plan.h"

namespace pirx::itpir::dpf {

/// The plan of a deployment of two servers or more; spec.client is ignored. A retrieval asks the first two.
/// If one of them does not answer, it asks the next one in its place, and gives both new keys, made from
/// fresh coins: keys of two pairs say nothing about each other. So no server gets both keys of a pair, and
/// one server learns nothing, however often it is asked. A record that is wrong is not asked for again, as
/// servers would see that. Errors of Params::create.
Result<std::shared_ptr<const Plan>> plan_any_two(SharesPlan::Spec spec);

}  // namespace pirx::itpir::dpf
