// SPDX-License-Identifier: Apache-2.0
// The server of the Damgard-Jurik tree. Its answer depends on database and query alone, without randomness
// unless rerandomise is set.
#pragma once

#include "pirx/cpir/dj/common.h"
#include "pirx/database/database.h"
#include "pirx/protocol.h"

namespace pirx::cpir::dj {

struct ServerOptions {
  std::vector<std::uint32_t> arities = {};  ///< from the leaves up; empty: default_arities
  unsigned modulus_bits = kDefaultModulusBits;
  KeyPolicy policy = KeyPolicy::kSecure;
  Selectors selectors = Selectors::kOneHot;
  unsigned leaf_layer = 1;  ///< as in Params::Spec
  /// Multiplies every node with a fresh encryption of zero. Then a client that makes its selectors honestly
  /// learns nothing about other rows. Costs two long powers for each node and chunk, and replies become
  /// random.
  bool rerandomise = false;
  int threads = 0;                                      ///< 0: all cores
  std::uint64_t table_bytes = std::uint64_t{64} << 20;  ///< for tables of powers of all levels together
  std::string kernel = "auto";                          ///< "auto", "gmp" or "ifma"
  std::function<void(double)> progress = nullptr;       ///< as in ServerSpec
};

/// InvalidArgument: what Params refuses, a bucket of an encoded database, or an unknown kernel. Unavailable:
/// this machine lacks the kernel.
Result<std::unique_ptr<AnyServer>> make_dj_server(std::shared_ptr<const database::Database> database,
                                                  const ServerOptions& options);

}  // namespace pirx::cpir::dj
