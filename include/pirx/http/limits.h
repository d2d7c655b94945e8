// The limits of a server, as one table.
#pragma once

#include <cstdint>
#include <span>

#include "pirx/http/http_server.h"

namespace pirx::http {

/// A limit: where it is kept, its bounds, and what it is for. Checks at start, the log's line of them, and
/// the flags, environment variables, config keys and help of programs all come from the table.
struct Limit {
  enum class Unit : std::uint8_t { kCount, kBytes, kTime };
  const char* name;  ///< "max_connections"; --max-connections and PIRX_MAX_CONNECTIONS are made from it
  Unit unit;
  std::uint64_t least, most;  ///< counts, bytes or microseconds
  bool queue;                 ///< of a database's queue (QueueOptions): each database may have its own
  std::uint64_t (*get)(const HttpServerOptions& options);
  /// A value within the bounds; times become whole milliseconds where the option is kept so, rounded up.
  void (*set)(HttpServerOptions& options, std::uint64_t value);
  const char* help;
};
std::span<const Limit> limits();

/// Its value as the log says it: "idle_timeout_ms", "max_body_bytes", "max_connections".
std::pair<std::string, double> logged(const Limit& limit, const HttpServerOptions& options);

}  // namespace pirx::http
