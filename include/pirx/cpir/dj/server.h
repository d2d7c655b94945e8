// The server half of the Damgard-Jurik tree: a pure function of database and query, without randomness unless
// asked for.
#pragma once

#include "pirx/cpir/dj/common.h"
#include "pirx/database/database.h"
#include "pirx/protocol.h"

namespace pirx::cpir::dj {

struct ServerOptions {
  std::vector<std::uint32_t> arities = {};  ///< leaves first; empty: default_arities
  unsigned modulus_bits = kDefaultModulusBits;
  KeyPolicy policy = KeyPolicy::kSecure;
  Selectors selectors = Selectors::kOneHot;
  /// Multiplies every node with a fresh encryption of zero, so that a client who makes its selectors honestly
  /// learns nothing of other rows. Two long powers a node and chunk, and the reply has coins then.
  bool rerandomise = false;
  int threads = 0;                                      ///< 0: all
  std::uint64_t table_bytes = std::uint64_t{64} << 20;  ///< for tables of powers, of all levels together
  std::string kernel = "auto";                          ///< or gmp, ifma
  std::function<void(double)> progress = nullptr;       ///< as ServerSpec's
};

/// InvalidArgument: what Params refuses, a bucket of an encoded database, or an unknown kernel. Unavailable:
/// a kernel that this machine lacks.
Result<std::unique_ptr<AnyServer>> make_dj_server(std::shared_ptr<const database::Database> database,
                                                  const ServerOptions& options);

}  // namespace pirx::cpir::dj
