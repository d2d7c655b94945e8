// What was fetched, as JSON, for `pirx get` and `pirx try`.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "pirx/client/fetch.h"

namespace pirx::cli {

/// Records, certainty, times, and how each server behaved. The records of missing keys are null.
nlohmann::ordered_json to_json(const client::FetchReport& report, const client::Deployment& deployment);

}  // namespace pirx::cli
