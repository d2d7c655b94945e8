// SPDX-License-Identifier: Apache-2.0
// Server halves by the name of their protocol, as programs open them.
#pragma once

#include "pirx/database/database.h"
#include "pirx/protocol.h"

namespace pirx::testing {

inline Result<std::unique_ptr<AnyServer>> serve_file(const std::string& protocol, const std::string& path,
                                                     const Texts& options, ServerSpec spec = {}) {
  PIRX_ASSIGN(const auto* row, find_protocol(protocol));
  PIRX_ASSIGN(spec.database, database::Database::open(path));
  if (spec.threads == 0) spec.threads = 1;
  return serve(*row, std::move(spec), options);
}

}  // namespace pirx::testing
