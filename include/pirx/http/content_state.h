// SPDX-License-Identifier: Apache-2.0
// ContentState: implemented by servers that know whether the database that they answer from is undamaged.
#pragma once

#include <optional>

namespace pirx::http {

/// If a pirx::AnyServer implements this, too, GET /metrics reports it. Thread-safe.
class ContentState {
 public:
  virtual ~ContentState() = default;
  /// True: every checksum of the database was right. False: one was wrong. Nothing: that is not known yet.
  virtual std::optional<bool> sound() const noexcept = 0;
};

}  // namespace pirx::http
