// SPDX-License-Identifier: Apache-2.0
// The client half of inspire. It has no keys: every query is under a fresh secret. Before the first reply is
// decoded it fetches two public masks for each block of columns, the same ones for all clients.
#pragma once

#include <memory>

#include "pirx/base/rng.h"
#include "pirx/base/secret.h"
#include "pirx/cpir/inspire/common.h"

namespace pirx::cpir::inspire {

/// The secret of one query, which decodes its reply. Move-only, wiped when it is destroyed. Nothing can be
/// encrypted under it.
class RowSecret {
 public:
  RowSecret(RowSecret&&) noexcept = default;
  RowSecret& operator=(RowSecret&&) noexcept = default;

 private:
  friend class ClientCore;
  explicit RowSecret(SecretVector<std::uint32_t> slots) : slots_(std::move(slots)) {}
  SecretVector<std::uint32_t> slots_;  ///< of the transform, in Montgomery form
};

/// The client of one deployment and epoch. Const and thread-safe, except for the Rng that the caller passes.
/// Constant time in secrets, the row that is asked for, and what a row holds.
class Client {
 public:
  /// Expands the public polynomials A_v and w_j. InvalidArgument: the parameters have no digests of masks.
  /// ResourceExhausted: no memory.
  static Result<Client> create(Params params);

  const Params& params() const noexcept;

  /// Whether the client has the masks of all blocks. It has all or none.
  bool has_masks() const;
  /// The request for the masks of all blocks, Params::kMasksRequestBytes long. It is the same for every
  /// client: one for some blocks only would tell the server what the client has seen before.
  Bytes masks_request() const;
  /// Takes the reply to it, from the server or from where it was kept. DataLoss: the message is malformed, or
  /// the masks do not have the digests of the parameters; none was taken then. InvalidArgument: another
  /// protocol or format version. StaleEpoch: another version of the database.
  Result<void> take_masks(ByteSpan reply) const;

  struct Query {
    Bytes message;
    RowSecret secret;
  };
  /// The query for a row, params().request_bytes() long, under a fresh secret. OutOfRange: there is no such
  /// row; the message does not name it.
  Result<Query> query(std::uint64_t row, Rng& rng) const;
  /// The row that a reply holds, params().row_bytes() long. Params::locate says where a record lies in it,
  /// and Geometry::read_slot checks the record's digest. Nothing else shows a wrong row, since any reply of
  /// the right form decodes to something. Do not tell the server whether it was right. DataLoss: the message
  /// is malformed. InvalidArgument: another protocol or format version, or masks are missing. StaleEpoch:
  /// another version of the database.
  Result<SecretVector<std::byte>> decode(RowSecret secret, ByteSpan reply) const;

 private:
  struct State;
  explicit Client(std::shared_ptr<State> state) : state_(std::move(state)) {}
  std::shared_ptr<State> state_;
};

}  // namespace pirx::cpir::inspire
