// SPDX-License-Identifier: Apache-2.0
// The client half of quadratic-residuosity PIR. A query fetches one row. One key serves any number of
// queries.
#pragma once

#include <memory>

#include "pirx/base/rng.h"
#include "pirx/base/stop.h"
#include "pirx/cpir/qr/common.h"

namespace pirx::cpir::qr {

/// Makes queries and reads replies. Const and thread-safe. Constant time in the key, the row, the coins and
/// the content of the row.
class Client {
 public:
  /// A client with this plan and key. InvalidArgument: the key does not have the plan's length and policy. A
  /// caller that passes a key with a policy other than kSecure thereby accepts an insecure plan.
  static Result<Client> create(Params params, const SecretKey& key);
  Client(Client&&) noexcept = default;  // not copied: it holds secrets
  Client& operator=(Client&&) noexcept = default;

  const Params& params() const noexcept;

  /// The request for a row of the plan's matrix; Params::locate gives the row of a record. OutOfRange: there
  /// is no such row; the message does not name it. ResourceExhausted: there is no memory for
  /// params().request_bytes(). Unavailable: `stop` ended it.
  Result<Bytes> query(std::uint64_t row, Rng& rng, const Stop& stop = {}) const;

  /// The row that a reply holds, params().row_bytes() long. Find the record in it with Params::locate and
  /// Geometry::read_slot, which checks the record's digest; nothing else shows a wrong row.
  /// On input `threads` is 0 for all.
  /// DataLoss: the message is malformed. InvalidArgument: another protocol or format version. StaleEpoch:
  /// another plan or version of the database. Undecodable: some number is not below N or does not have Jacobi
  /// symbol 1; this is decided when all are decrypted. Unavailable: `stop` ended it.
  Result<SecretVector<std::byte>> decode(ByteSpan reply, int threads = 0, const Stop& stop = {}) const;

 private:
  struct State;
  explicit Client(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  std::shared_ptr<const State> state_;
};

}  // namespace pirx::cpir::qr
