// Blindings made ahead of time, so that a query takes less than a millisecond once its row is known.
#pragma once

#include <mutex>
#include <optional>

#include "pirx/cpir/dj/client.h"

namespace pirx::cpir::dj {

/// Keeps blindings in memory. They are never written to a file: a copy or a backup of it could be used twice,
/// and two queries with the same blinding show the server whether they ask for the same row. For the same
/// reason a child of fork finds its copy of the pool empty. Thread-safe: one thread may fill it while others
/// take. The client must outlive it.
class Pool {
 public:
  explicit Pool(const Client& client) : client_(&client) {}

  /// Makes blindings with all threads until there are `count`. ResourceExhausted: there is no memory for
  /// more.
  Result<void> fill(std::size_t count, Rng& rng);
  std::size_t size() const;
  /// Takes a blinding out of the pool, for Client::query. Nothing: the pool is empty.
  std::optional<Blinding> take();

 private:
  const Client* client_;
  mutable std::mutex mutex_;
  std::vector<Blinding> blindings_;
};

}  // namespace pirx::cpir::dj
