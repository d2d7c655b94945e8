// The server half of Spiral: holds the keys of its latest clients, and answers queries in one pass over the
// database.
#pragma once

#include <functional>

#include "pirx/cpir/spiral/common.h"
#include "pirx/database/database.h"
#include "pirx/protocol.h"

namespace pirx::cpir::spiral {

struct ServerOptions {
  std::optional<Scheme> scheme = {};  ///< none: choose_params()
  std::string prepared_file = {};     ///< keeps the encoded database between runs; empty: none
  /// For clients' keys. When it is full, the longest unused go of the sender who has most.
  std::uint64_t key_memory = std::uint64_t{1} << 30;
  int threads = 0;                                         ///< 0: all
  bool allow_insecure = false;                             ///< a scheme that is not kSecure
  std::function<void(const std::string&)> note = nullptr;  ///< as ServerSpec's
  /// Told, while the database is encoded, items done and in all.
  std::function<void(std::uint64_t done, std::uint64_t total)> progress = nullptr;
};

/// InvalidArgument: what Params refuses, an insecure scheme unless `allow_insecure`, a bucket instead of a
/// plain database, no memory for the keys of one client. ResourceExhausted: no memory for the encoded
/// database.
Result<std::unique_ptr<AnyServer>> make_spiral_server(std::shared_ptr<const database::Database> database,
                                                      const ServerOptions& options);

}  // namespace pirx::cpir::spiral
