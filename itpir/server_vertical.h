// SPDX-License-Identifier: Apache-2.0
// The server half of vertical codes: one server half of any protocol for each bucket, behind one
// AnyServer.
#pragma once

#include "pirx/itpir/server_options.h"
#include "served_rows.h"

namespace pirx::itpir {

/// All buckets of `database` under the code of that name. `open` makes the protocol's server half over rows.
/// InvalidArgument: VerticalLayout::create, a bucket of an encoded database, or messages that would be too
/// large. ResourceExhausted without memory for the sums.
Result<std::unique_ptr<AnyServer>> make_vertical_server(
    std::shared_ptr<const database::Database> database, const std::string& code, int threads,
    const std::function<Result<std::unique_ptr<AnyServer>>(ServedRows)>& open);

}  // namespace pirx::itpir
