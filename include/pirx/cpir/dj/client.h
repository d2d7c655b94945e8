// The client half of the Damgard-Jurik tree: one query for a row, one reply, any number of queries under one
// key.
#pragma once

#include <memory>

#include "pirx/base/rng.h"
#include "pirx/base/stop.h"
#include "pirx/cpir/dj/common.h"

namespace pirx::cpir::dj {

/// Coins of one query: for every selector an encryption of zero and the same coin's of one, which need
/// neither the index nor the server. Used once, by type, and in the process that made them only: a child of
/// fork has copies. Who sees them knows what was asked for with them, and two queries with the same show
/// whether they ask for the same: wiped, never stored. Pool makes them ahead.
class Blinding {
 public:
  Blinding(Blinding&&) noexcept = default;
  Blinding& operator=(Blinding&&) noexcept = default;

 private:
  friend class Client;
  friend class Pool;
  struct Selector {
    SecretVector<std::byte> zero, one;
  };
  Blinding(std::vector<Selector> selectors, std::uint64_t process)
      : selectors_(std::move(selectors)), process_(process) {}
  std::vector<Selector> selectors_;  // leaves first
  std::uint64_t process_;            // that made them
};

/// Const and thread-safe. Constant time in the key, the row and the coins.
class Client {
 public:
  /// InvalidArgument: the key is not of the plan's length and policy. Accepting a plan whose policy is not
  /// kSecure is the caller's decision, made by handing in such a key.
  static Result<Client> create(Params params, const SecretKey& key);
  Client(Client&&) noexcept;
  Client& operator=(Client&&) noexcept;
  ~Client();

  const Params& params() const noexcept;

  /// The slow part of a query, for any row: two long powers a selector, by all threads. Unavailable: `stop`
  /// ended it.
  Result<Blinding> blind(Rng& rng, const Stop& stop) const;
  Blinding blind(Rng& rng) const { return blind(rng, {}).value(); }
  /// The request for a row of params().geometry(). OutOfRange when there is none, without naming it;
  /// InvalidArgument: the blinding is of another tree or another process, or was moved from. Less than a
  /// millisecond.
  Result<Bytes> query(std::uint64_t row, Blinding blinding) const;
  /// With a blinding made for it; errors of both.
  Result<Bytes> query(std::uint64_t row, Rng& rng, const Stop& stop = {}) const;

  /// The row that a reply holds, geometry().row_bytes() long; Geometry::locate and read_slot find the record
  /// in it, whose digest tells a false row. DataLoss, InvalidArgument, StaleEpoch: the message is not as it
  /// must be. Undecodable: some chunk is no ciphertext; decided when all are decrypted, so that time tells
  /// nothing of which. Unavailable: `stop` ended it.
  Result<SecretVector<std::byte>> decode(ByteSpan reply, const Stop& stop = {}) const;

 private:
  struct State;
  explicit Client(std::unique_ptr<const State> state);
  std::unique_ptr<const State> state_;
};

}  // namespace pirx::cpir::dj
