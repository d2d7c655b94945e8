// SPDX-License-Identifier: Apache-2.0
// The options of the servers of this folder.
#pragma once

#include <optional>

#include "pirx/database/database.h"
#include "pirx/itpir/common.h"
#include "pirx/protocol.h"
#include "pirx/strassen/engine.h"

namespace pirx::itpir {

struct ServerOptions {
  /// Nothing: the field in which the bucket is encoded; gf2_8 for a plain database.
  std::optional<FieldTag> field = {};
  /// Public, non-zero, different for each server. Nothing: the coordinate of the bucket; 1 for a plain
  /// database.
  std::optional<std::uint64_t> coordinate = {};
  int threads = 0;
  std::uint32_t max_queries_per_request = 256;
  /// How the database lies in memory: many queries are faster with more memory. Its `threads` is not used.
  strassen::PrepareOptions layout = {};
  /// The file that keeps the prepared database between runs (docs/prepared_format.md), so that a start reads
  /// it instead of making it again. Empty: none. A file that fits is used; any other prepared file is
  /// replaced.
  std::string prepared_file = {};
  /// A vertical batch code, such as "subcube:2,1". The server then serves all its buckets, and one request
  /// asks each of them (pirx/itpir/vertical.h). Empty: none. Cannot be combined with prepared_file.
  std::string code = {};
  /// Called with a line for people that says what happened to prepared_file.
  std::function<void(const std::string&)> note = nullptr;
  /// Called before prepared_file is written, to check that the database is undamaged. A file that was made
  /// from a damaged database would stay wrong when the database is mended. Empty: nothing is checked.
  std::function<Result<void>()> check = nullptr;
  /// Computes the products. Empty: this process, from all rows. Cannot be combined with a code.
  Spread spread = nullptr;
};

}  // namespace pirx::itpir
