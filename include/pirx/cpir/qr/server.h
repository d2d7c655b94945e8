// SPDX-License-Identifier: Apache-2.0
// The server of quadratic-residuosity PIR. Its answer depends on database and query alone, without
// randomness.
#pragma once

#include "pirx/cpir/qr/common.h"
#include "pirx/database/database.h"
#include "pirx/protocol.h"

namespace pirx::cpir::qr {

struct ServerOptions {
  std::uint64_t slots = 0;  ///< slots in a row of the matrix; 0: balanced
  unsigned modulus_bits = dj::kDefaultModulusBits;
  KeyPolicy policy = KeyPolicy::kSecure;
  int threads = 0;                                 ///< 0: all cores
  std::string kernel = "auto";                     ///< "auto", "gmp" or "ifma"
  std::function<void(double)> progress = nullptr;  ///< as in ServerSpec
};

/// InvalidArgument: what Params refuses, a bucket instead of a plain database, or an unknown kernel.
/// Unavailable: this machine lacks the kernel.
Result<std::unique_ptr<AnyServer>> make_qr_server(std::shared_ptr<const database::Database> database,
                                                  const ServerOptions& options);

}  // namespace pirx::cpir::qr
