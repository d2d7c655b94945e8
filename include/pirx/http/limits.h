// SPDX-License-Identifier: Apache-2.0
// The limits of a server, as one table.
#pragma once

#include <cstdint>
#include <span>

#include "pirx/http/http_server.h"

namespace pirx::http {

/// A limit of a server: its name, its bounds, its place in the options, and its help. The checks at the
/// start, the log line, and the flags, environment variables, config keys and help of programs are made from
/// these.
struct Limit {
  enum class Unit : std::uint8_t { kCount, kBytes, kTime };
  const char* name;  ///< "max_connections"; --max-connections and PIRX_MAX_CONNECTIONS are made from it
  Unit unit;
  std::uint64_t least, most;  ///< counts, bytes or microseconds
  bool queue;                 ///< part of QueueOptions, so each database may have its own value
  std::uint64_t (*get)(const HttpServerOptions& options);
  /// Sets a value within the bounds. A time is rounded up to whole milliseconds if the option has these.
  void (*set)(HttpServerOptions& options, std::uint64_t value);
  const char* help;
};
/// All limits.
std::span<const Limit> limits();

/// The name and value of a limit in the log, such as "idle_timeout_ms" and 60000.
std::pair<std::string, double> logged(const Limit& limit, const HttpServerOptions& options);

}  // namespace pirx::http
