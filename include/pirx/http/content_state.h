// ContentState: for server halves that know whether the database they answer from is whole.
#pragma once

#include <optional>

namespace pirx::http {

/// A pirx::AnyServer that is one of these, too, is asked by GET /metrics. Thread-safe.
class ContentState {
 public:
  virtual ~ContentState() = default;
  /// Whether every checksum of the database was right, or one was wrong; nothing while it is not known.
  virtual std::optional<bool> sound() const noexcept = 0;
};

}  // namespace pirx::http
