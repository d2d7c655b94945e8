// SPDX-License-Identifier: Apache-2.0
// A database of random records, and what its servers say, for benchmarks.
#pragma once

#include <unistd.h>

#include "bench/gbench.h"
#include "pirx/base/rng.h"
#include "pirx/database/builder.h"
#include "pirx/database/database.h"
#include "pirx/protocol.h"

namespace pirx::bench {

/// Makes a database of `records` random records of options.fixed_record_bytes bytes. Its file in `folder` is
/// removed before this returns; the content stays as long as the database is open.
inline std::shared_ptr<const database::Database> random_database(
    std::uint64_t records, const database::BuildOptions& options,
    const std::filesystem::path& folder = std::filesystem::temp_directory_path()) {
  const auto path = folder / ("pirx-bench-" + std::to_string(::getpid()));
  auto builder = need(database::DatabaseBuilder::create(path, options));
  auto rng = need(Rng::from_os());
  Bytes record(options.fixed_record_bytes);
  for (std::uint64_t i = 0; i < records; ++i) {
    rng.fill(record);
    need(builder.add(record));
  }
  need(builder.finish());
  auto database = need(database::Database::open(path));
  std::error_code ignored;
  std::filesystem::remove(path, ignored);
  return database;
}

/// The reply to one request.
inline Bytes ask(const AnyServer& server, ByteSpan request) {
  return need(std::move(server.answer({&request, 1}).at(0)));
}

}  // namespace pirx::bench
