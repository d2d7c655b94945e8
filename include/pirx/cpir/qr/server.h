// The server half of quadratic-residuosity PIR: a pure function of database and query, without randomness.
#pragma once

#include "pirx/cpir/qr/common.h"
#include "pirx/database/database.h"
#include "pirx/protocol.h"

namespace pirx::cpir::qr {

struct ServerOptions {
  std::uint64_t slots = 0;  ///< of a row of the matrix; 0: balanced
  unsigned modulus_bits = dj::kDefaultModulusBits;
  KeyPolicy policy = KeyPolicy::kSecure;
  int threads = 0;                                 ///< 0: all
  std::string kernel = "auto";                     ///< or gmp, ifma
  std::function<void(double)> progress = nullptr;  ///< as ServerSpec's
};

/// InvalidArgument: what Params refuses, a bucket instead of a plain database, or an unknown kernel.
/// Unavailable: a kernel that this machine lacks.
Result<std::unique_ptr<AnyServer>> make_qr_server(std::shared_ptr<const database::Database> database,
                                                  const ServerOptions& options);

}  // namespace pirx::cpir::qr
