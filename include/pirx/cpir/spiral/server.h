// SPDX-License-Identifier: Apache-2.0
// The server of Spiral. It keeps the keys of its latest clients and answers queries in one pass over the
// database.
#pragma once

#include <functional>

#include "pirx/cpir/spiral/common.h"
#include "pirx/database/database.h"
#include "pirx/protocol.h"

namespace pirx::cpir::spiral {

struct ServerOptions {
  std::optional<Scheme> scheme = {};  ///< nothing: choose_params() chooses
  std::string prepared_file = {};     ///< the file that keeps the encoded database between runs; empty: none
  /// The bytes of memory for clients' keys. When it is full, the sender with the most keys loses those that
  /// were not used for the longest time.
  std::uint64_t key_memory = std::uint64_t{1} << 30;
  int threads = 0;                                         ///< 0: all cores
  bool allow_insecure = false;                             ///< accepts a scheme that is not kSecure
  std::function<void(const std::string&)> note = nullptr;  ///< as in ServerSpec
};

/// InvalidArgument: what Params refuses, an insecure scheme without allow_insecure, a bucket instead of a
/// plain database, or a key memory too small for one client. ResourceExhausted: no memory for the encoded
/// database.
Result<std::unique_ptr<AnyServer>> make_spiral_server(std::shared_ptr<const database::Database> database,
                                                      const ServerOptions& options);

}  // namespace pirx::cpir::spiral
