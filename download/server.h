// SPDX-License-Identifier: Apache-2.0
// The server half: pieces of the file, to whoever asks.
#pragma once

#include "pirx/protocol.h"

namespace pirx::download {

/// InvalidArgument: the database is a bucket of an encoded one.
Result<std::unique_ptr<AnyServer>> make_server(std::shared_ptr<const database::Database> database);

}  // namespace pirx::download
