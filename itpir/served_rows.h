// SPDX-License-Identifier: Apache-2.0
// The rows that a server half answers from: those of a plain database, or of its bucket.
#pragma once

#include "pirx/itpir/server_options.h"

namespace pirx::itpir {

/// What a server half answers from. `owner` keeps the rows alive.
struct ServedRows {
  database::Geometry geometry;  ///< of the plain database
  database::Version version;    ///< likewise
  /// Those of the plain database or of its bucket: each of at least row_bytes() + 31 bytes, of which only the
  /// words that hold row_bytes() count.
  matrix::ConstView<std::byte> rows;
  std::shared_ptr<const void> owner;
  /// The bytes of a row that count, if a row is not the plain database's or its bucket's.
  std::optional<std::uint64_t> row_bytes = {};
  // How a bucket was encoded, as in ServerParameters.
  unsigned arity = 1;
  unsigned independence = 0;
  std::uint64_t modulus = 0;
  /// What prepared rows are kept under: no two buckets have the same. Nothing: `version`.
  std::optional<database::Version> rows_version = {};
};

}  // namespace pirx::itpir
