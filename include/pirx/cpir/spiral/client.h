// SPDX-License-Identifier: Apache-2.0
// The client half of Spiral. It uploads its keys once and then sends small queries.
#pragma once

#include <memory>

#include "pirx/base/rng.h"
#include "pirx/base/secret.h"
#include "pirx/cpir/spiral/common.h"

namespace pirx::cpir::spiral {

/// A client with secrets of its own, which are drawn when it is made and wiped when it is destroyed. They
/// serve one keys message and any number of queries; public randomness is never used twice under one secret.
/// Const and thread-safe, except for the Rng that the caller passes. Constant time in its secrets, the item
/// and the item's content.
class Client {
 public:
  /// InvalidArgument: the plan's policy is not kSecure, and `allow_insecure` is not set. Unavailable: the
  /// operating system gives no randomness.
  static Result<Client> create(Params params, bool allow_insecure = false);
  Client(Client&&) noexcept = default;  // not copied: it holds secrets
  Client& operator=(Client&&) noexcept = default;

  const Params& params() const noexcept;

  /// The keys message, params().keys_bytes() long. Send it before the first query, and again when a reply
  /// says that the keys are unknown. The server's answer names the keys.
  const Bytes& keys() const noexcept;
  /// Checks the server's answer to keys(). DataLoss, InvalidArgument: it does not say that the server holds
  /// these keys.
  Result<void> check_keys_held(ByteSpan reply) const;

  /// The request for an item; Params::locate gives the item of a record. OutOfRange: there is no such item;
  /// the message does not name it.
  Result<Bytes> query(std::uint64_t item, Rng& rng) const;
  /// Whether the reply says that the server does not hold the keys, or no longer. Then upload them and ask
  /// again.
  bool keys_unknown(ByteSpan reply) const;
  /// The item that a reply holds, params().item_bytes() long.
  /// On input `item` is the query's.
  /// Find the record in it with Params::locate and Geometry::read_slot, which checks the record's digest.
  /// Nothing else shows a wrong item, since any reply of the right form decodes to something. Do not tell the
  /// server whether it was right. DataLoss: the message is malformed. InvalidArgument: another protocol or
  /// format version. StaleEpoch: another plan or version of the database. Unavailable: keys_unknown(reply).
  Result<SecretVector<std::byte>> decode(std::uint64_t item, ByteSpan reply) const;

 private:
  struct State;
  explicit Client(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  std::shared_ptr<const State> state_;
};

}  // namespace pirx::cpir::spiral
