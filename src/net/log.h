// Calling the owner's log sink safely.
#pragma once

#include "pirx/net/http_server.h"

namespace pirx::net {

/// Hands `event` to `sink`, if there is one. A sink that throws loses its line and nothing else.
void write_log(const LogSink& sink, const LogEvent& event) noexcept;

}  // namespace pirx::net
