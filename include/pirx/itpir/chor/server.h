// SPDX-License-Identifier: Apache-2.0
// The server of Chor's protocol.
#pragma once

#include "pirx/itpir/server_options.h"

namespace pirx::itpir::chor {

/// Multiplies the bit vectors of all clients with the database in one product over GF(2). options.coordinate
/// is only the server's name. InvalidArgument: coordinate 0, a field other than gf2, a database that is too
/// large, or a bucket of an encoded database.
Result<std::unique_ptr<AnyServer>> make_server(std::shared_ptr<const database::Database> database,
                                               const ServerOptions& options);

}  // namespace pirx::itpir::chor
