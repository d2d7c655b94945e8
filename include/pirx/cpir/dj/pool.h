// Blindings made ahead of time, so that a query takes less than a millisecond once its row is known.
#pragma once

#include <mutex>
#include <optional>

#include "pirx/cpir/dj/client.h"

namespace pirx::cpir::dj {

/// In memory only, on purpose: a file of coins that comes back, from a copy or a backup, makes two queries
/// with the same ones, which show the server what they have in common. For the same reason a child of fork
/// finds its copy of the pool empty. Thread-safe: one thread may fill it while others ask. The client
/// outlives it.
class Pool {
 public:
  explicit Pool(const Client& client) : client_(&client) {}

  /// Makes blindings until there are `count`, by all threads. ResourceExhausted: no memory for more.
  Result<void> fill(std::size_t count, Rng& rng);
  std::size_t size() const;
  /// One that nobody gets again, for Client::query; nothing when the pool is empty.
  std::optional<Blinding> take();

 private:
  const Client* client_;
  mutable std::mutex mutex_;
  std::vector<Blinding> blindings_;
};

}  // namespace pirx::cpir::dj
