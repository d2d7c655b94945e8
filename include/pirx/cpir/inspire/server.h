// SPDX-License-Identifier: Apache-2.0
// The server of inspire. It computes packing matrices and masks ahead of all queries, and then answers any
// number of clients' queries in one pass over the database.
#pragma once

#include <functional>

#include "pirx/cpir/inspire/common.h"
#include "pirx/database/database.h"
#include "pirx/protocol.h"

namespace pirx::cpir::inspire {

struct ServerOptions {
  std::optional<Set> set = {};  ///< nothing: choose_params() chooses
  Goal goal = Goal::kBytes;
  /// The file that keeps packing matrices and masks between runs; empty: none. Blocks whose columns did not
  /// change since are taken from it, also after an update.
  std::string prepared_file = {};
  int threads = 0;                                         ///< 0: all cores
  std::function<void(const std::string&)> note = nullptr;  ///< as in ServerSpec
};

/// InvalidArgument: what Params refuses, or a bucket instead of a plain database. ResourceExhausted: no
/// memory for what is computed ahead; the message says how much it takes. Internal: what BlockBuilder
/// refuses.
Result<std::unique_ptr<AnyServer>> make_inspire_server(std::shared_ptr<const database::Database> database,
                                                       const ServerOptions& options);

}  // namespace pirx::cpir::inspire
