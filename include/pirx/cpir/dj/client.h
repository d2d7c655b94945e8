// SPDX-License-Identifier: Apache-2.0
// The client half of the Damgard-Jurik tree. A query fetches one row. One key serves any number of queries.
#pragma once

#include <memory>

#include "pirx/base/rng.h"
#include "pirx/base/stop.h"
#include "pirx/cpir/dj/common.h"

namespace pirx::cpir::dj {

/// The slow part of a query, made before the row is known: for every selector an encryption of zero and one
/// of one, under the same coin. It depends neither on the row nor on the server's content. It serves one
/// query, which consumes it, in the process that made it: a child of fork has a copy that it cannot use.
/// Whoever sees it can tell what was asked with it, and two queries with the same blinding show whether they
/// ask for the same row. So it is wiped and never stored.
class Blinding {
 public:
  Blinding(Blinding&&) noexcept = default;
  Blinding& operator=(Blinding&&) noexcept = default;

 private:
  friend class Client;
  struct Selector {
    SecretVector<std::byte> zero, one;
  };
  Blinding(std::vector<Selector> selectors, std::uint64_t process)
      : selectors_(std::move(selectors)), process_(process) {}
  std::vector<Selector> selectors_;  // leaves first
  std::uint64_t process_;            // the one that made them
};

/// Makes queries and reads replies. Const and thread-safe. Constant time in the key, the row and the coins.
class Client {
 public:
  /// A client with this plan and key. InvalidArgument: the key does not have the plan's length and policy. A
  /// caller that passes a key with a policy other than kSecure thereby accepts an insecure plan.
  static Result<Client> create(Params params, const SecretKey& key);
  Client(Client&&) noexcept = default;  // not copied: it holds secrets
  Client& operator=(Client&&) noexcept = default;

  const Params& params() const noexcept;

  /// The slow part of a query for any row: two long powers for each selector, computed by all threads.
  /// Unavailable: `stop` ended it.
  Result<Blinding> blind(Rng& rng, const Stop& stop) const;
  Blinding blind(Rng& rng) const { return blind(rng, {}).value(); }
  /// The request for a row of params().geometry(). Takes less than a millisecond. OutOfRange: there is no
  /// such row; the message does not name it. InvalidArgument: the blinding is for another tree or from
  /// another process, or was moved from.
  Result<Bytes> query(std::uint64_t row, Blinding blinding) const;
  /// The same with a new blinding. Errors are those of both.
  Result<Bytes> query(std::uint64_t row, Rng& rng, const Stop& stop = {}) const;

  /// The row that a reply holds, geometry().row_bytes() long. Find the record in it with Geometry::locate and
  /// read_slot, which checks the record's digest; nothing else shows a wrong row.
  /// DataLoss: the message is malformed. InvalidArgument: another protocol or format version. StaleEpoch:
  /// another plan or version of the database. Undecodable: some chunk is no ciphertext; this is decided when
  /// all are decrypted, so that time does not tell which. Unavailable: `stop` ended it.
  Result<SecretVector<std::byte>> decode(ByteSpan reply, const Stop& stop = {}) const;

 private:
  struct State;
  explicit Client(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  std::shared_ptr<const State> state_;
};

}  // namespace pirx::cpir::dj
