// The client half of quadratic-residuosity PIR: one query for a row, one reply, any number of queries under
// one key.
#pragma once

#include <memory>

#include "pirx/base/rng.h"
#include "pirx/base/stop.h"
#include "pirx/cpir/qr/common.h"

namespace pirx::cpir::qr {

/// Const and thread-safe. Constant time in the key, the row, the coins and what the row holds.
class Client {
 public:
  /// InvalidArgument: the key is not of the plan's length and policy. Accepting a plan whose policy is not
  /// kSecure is the caller's decision, made by handing in such a key.
  static Result<Client> create(Params params, const SecretKey& key);
  Client(Client&&) noexcept;
  Client& operator=(Client&&) noexcept;
  ~Client();

  const Params& params() const noexcept;

  /// The request for a row of the plan's matrix (Params::locate finds a record's). OutOfRange when there is
  /// none, without naming it. ResourceExhausted: no memory for params().request_bytes(). Unavailable: `stop`
  /// ended it.
  Result<Bytes> query(std::uint64_t row, Rng& rng, const Stop& stop = {}) const;

  /// The row that a reply holds, params().row_bytes() long: Params::locate and Geometry::read_slot find the
  /// record in it, whose digest tells a false row. DataLoss, InvalidArgument, StaleEpoch: the message is not
  /// as it must be. Undecodable: some number is not below N or does not have Jacobi symbol 1; decided when
  /// all are decrypted. Unavailable: `stop` ended it. threads: 0 for all.
  Result<SecretVector<std::byte>> decode(ByteSpan reply, int threads = 0, const Stop& stop = {}) const;

 private:
  struct State;
  explicit Client(std::unique_ptr<const State> state);
  std::unique_ptr<const State> state_;
};

}  // namespace pirx::cpir::qr
