// SPDX-License-Identifier: Apache-2.0
// The server of Goldberg's protocol. The query vectors of all clients become the rows of one matrix, which is
// multiplied by the database.
#pragma once

#include "pirx/itpir/server_options.h"

namespace pirx::itpir::goldberg {

/// Serves a plain database or a bucket of one (database::BucketInfo). InvalidArgument: the field is unknown,
/// the coordinate is zero or not an element of it, or one of them is not the bucket's.
Result<std::unique_ptr<AnyServer>> make_server(std::shared_ptr<const database::Database> database,
                                               const ServerOptions& options);

}  // namespace pirx::itpir::goldberg
