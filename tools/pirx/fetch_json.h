// SPDX-License-Identifier: Apache-2.0
// What was fetched, as JSON and as an error, for `pirx get` and `pirx try`.
#pragma once

#include "pirx/base/json.h"
#include "pirx/client/fetch.h"

namespace pirx::cli {

/// Records, certainty, times, and how each server behaved. The records of missing keys are null. `wishes` are
/// members for the records, {"key": K} or {"position": N}, or none.
OutJson to_json(const client::FetchReport& report, const client::Deployment& deployment,
                std::span<const OutJson> wishes = {});
/// How each server behaved.
OutJson to_json(std::span<const client::ServerOutcome> outcomes, const client::Deployment& deployment);
/// That there is no record with `keys` ("the key 'a', 'b'"): OutOfRange where the answer proves it, else
/// Undecodable.
tl::unexpected<Error> no_record(const client::FetchReport& report, const std::string& keys);

}  // namespace pirx::cli
