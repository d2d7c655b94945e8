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
  std::string encoded_file = {};      ///< keeps the encoded database; empty: in memory
  /// For clients' keys. When it is full, the longest unused go of the sender who has most.
  std::uint64_t key_memory = std::uint64_t{1} << 30;
  int threads = 0;              ///< 0: all
  bool allow_insecure = false;  ///< a scheme that is not kSecure
  /// Told, while the database is encoded, items done and in all.
  std::function<void(std::uint64_t done, std::uint64_t total)> progress = nullptr;
};

/// InvalidArgument: what Params refuses, an insecure scheme unless `allow_insecure`, a bucket instead of a
/// plain database, no memory for the keys of one client. ResourceExhausted: no memory for the encoded
/// database.
Result<std::unique_ptr<AnyServer>> make_spiral_server(std::shared_ptr<const database::Database> database,
                                                      const ServerOptions& options);

/// Adds "spiral" with the options set (a name of named_scheme; or chosen for the database), encoded (a file
/// that keeps the encoded database), keys (bytes of memory for clients' keys) and paper (on: the insecure
/// set c1 may be chosen).
void register_spiral(Registry& registry);

}  // namespace pirx::cpir::spiral
