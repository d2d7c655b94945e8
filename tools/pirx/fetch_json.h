// SPDX-License-Identifier: Apache-2.0
// What was fetched, as JSON, for `pirx get` and `pirx try`.
#pragma once

#include "pirx/base/json.h"
#include "pirx/client/fetch.h"

namespace pirx::cli {

/// Records, certainty, times, and how each server behaved. The records of missing keys are null.
OutJson to_json(const client::FetchReport& report, const client::Deployment& deployment);

}  // namespace pirx::cli
