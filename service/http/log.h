// SPDX-License-Identifier: Apache-2.0
// Calls the owner's log sink safely.
#pragma once

#include <type_traits>

#include "pirx/http/http_server.h"

namespace pirx::http {

/// Hands `event` to `sink`, if there is one. A sink that throws loses its line and nothing else.
void write_log(const LogSink& sink, const LogEvent& event) noexcept;

/// The same for the event that `make` builds: where no memory for it is left, the line is lost and nothing
/// else.
template <class Make>
requires std::is_invocable_r_v<LogEvent, const Make&>
void write_log(const LogSink& sink, const Make& make) noexcept {
  if (!sink) return;
  try {
    sink(make());
  } catch (...) {
  }
}

}  // namespace pirx::http
