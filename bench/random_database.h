// SPDX-License-Identifier: Apache-2.0
// A database of random records, for benchmarks.
#pragma once

#include <unistd.h>

#include "pirx/base/rng.h"
#include "pirx/database/builder.h"
#include "pirx/database/database.h"

namespace pirx::bench {

/// Makes a database of `records` random records of options.fixed_record_bytes bytes. Its file in `folder` is
/// removed before this returns; the content stays as long as the database is open.
inline Result<std::shared_ptr<const database::Database>> random_database(
    const std::filesystem::path& folder, std::uint64_t records, const database::BuildOptions& options) {
  const auto path = folder / ("pirx-bench-" + std::to_string(::getpid()));
  PIRX_ASSIGN(auto builder, database::DatabaseBuilder::create(path, options));
  PIRX_ASSIGN(auto rng, Rng::from_os());
  Bytes record(options.fixed_record_bytes);
  for (std::uint64_t i = 0; i < records; ++i) {
    rng.fill(record);
    PIRX_TRY(builder.add(record));
  }
  PIRX_TRY(builder.finish());
  auto database = database::Database::open(path);
  std::error_code ignored;
  std::filesystem::remove(path, ignored);
  return database;
}

}  // namespace pirx::bench
