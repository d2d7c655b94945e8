// SPDX-License-Identifier: Apache-2.0
// The server half.
#pragma once

#include "pirx/itpir/server_options.h"

namespace pirx::itpir::dpf {

/// Expands the keys of all clients to bits of slots, and multiplies these with the slots in one product over
/// GF(2). Copies the database if its rows hold several slots. options.coordinate is only the server's name.
/// InvalidArgument: coordinate 0, a field other than gf2, a batch code, a database that is too large, or a
/// bucket of an encoded database. ResourceExhausted without memory for the copy.
Result<std::unique_ptr<AnyServer>> make_server(std::shared_ptr<const database::Database> database,
                                               const ServerOptions& options);

}  // namespace pirx::itpir::dpf
