// The client half of Spiral: keys that are uploaded once, small queries, one reply each.
#pragma once

#include <memory>

#include "pirx/base/rng.h"
#include "pirx/base/secret.h"
#include "pirx/cpir/spiral/common.h"

namespace pirx::cpir::spiral {

/// Const and thread-safe but for the Rng that is handed in. Constant time in its secrets, the item and what
/// it holds. Its secrets are drawn with it, serve one keys message and any number of queries, and are wiped
/// with it: public randomness is never used twice under one secret.
class Client {
 public:
  /// InvalidArgument: the plan's policy is not kSecure, unless `allow_insecure`. Unavailable: no randomness.
  static Result<Client> create(Params params, bool allow_insecure = false);
  Client(Client&&) noexcept;
  Client& operator=(Client&&) noexcept;
  ~Client();

  const Params& params() const noexcept;

  /// The keys message, params().keys_bytes() long: a request that the server answers by naming the keys. To
  /// be sent before the first query, and again when a reply says that they are unknown.
  const Bytes& keys() const noexcept;
  /// That the server holds the keys. DataLoss, InvalidArgument: the message is no such answer to keys().
  Result<void> check_keys_held(ByteSpan reply) const;

  /// The request for an item (Params::locate finds a record's). OutOfRange when there is none, without naming
  /// it.
  Result<Bytes> query(std::uint64_t item, Rng& rng) const;
  /// Whether the reply says that the server does not hold the keys (any more): upload them and ask again.
  bool keys_unknown(ByteSpan reply) const noexcept;
  /// The item that a reply holds, params().item_bytes() long: Params::locate and Geometry::read_slot find the
  /// record in it, whose digest tells a false one. `item` is the query's. DataLoss, InvalidArgument,
  /// StaleEpoch: the message is not as it must be. Unavailable: keys_unknown(). Whatever else the reply holds
  /// decodes to something: do not tell the server whether it was right.
  Result<SecretVector<std::byte>> decode(std::uint64_t item, ByteSpan reply) const;

 private:
  struct State;
  explicit Client(std::unique_ptr<const State> state);
  std::unique_ptr<const State> state_;
};

}  // namespace pirx::cpir::spiral
