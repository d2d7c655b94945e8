// SPDX-License-Identifier: Apache-2.0
// What to do after a retrieval failed, by what each server answered.
#pragma once

#include <span>
#include <string>

#include "pirx/client/fetch.h"

namespace pirx::cli {

/// A line for each cause that the table knows, with the servers that it is about unless all failed by it;
/// lines are separated by newlines. Empty: no cause is known. `file` is the deployment file's name.
std::string advice_for(std::span<const client::ServerOutcome> outcomes, const client::Deployment& deployment,
                       const std::string& file);

}  // namespace pirx::cli
