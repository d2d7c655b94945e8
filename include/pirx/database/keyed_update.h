// SPDX-License-Identifier: Apache-2.0
// Changes records of a keyed database. Its rows depend on all of its keys and do not list them, so whoever
// changes it must know them.
#pragma once

#include <map>
#include <string>

#include "pirx/database/builder.h"
#include "pirx/database/update.h"

namespace pirx::database {

/// The new record of each key; nothing removes the key.
using KeyedChanges = std::map<std::string, std::optional<Bytes>, std::less<>>;

struct KeyedUpdateOptions {
  /// Called before the file is written anew, with the number of records and a rough estimate of the seconds.
  /// An error is the result of the update, which then has changed nothing.
  std::function<Result<void>(std::uint64_t records, double seconds)> rebuilding = {};
  /// As in BuildOptions; of a file that is written anew.
  std::function<Result<void>(std::string_view key)> each_key = {};
  std::function<Result<void>()> before_commit = {};
  Progress progress = {};
  /// Changes of at most this many bytes of rows go to the delta, whatever share of the file they are.
  std::uint64_t small_delta_bytes = std::uint64_t{64} << 20;
  /// The records may take so many bytes more than before, with all of them as long as the longest: what
  /// packed input may become.
  std::uint64_t most_growth_bytes = ~std::uint64_t{0};
};

struct KeyedUpdateReport {
  UpdateReport update;   ///< changed_rows is empty if the file was written anew
  bool rebuilt = false;  ///< the file was written anew, and has no delta
  std::uint64_t added = 0, replaced = 0, removed = 0;
};

/// Makes the next epoch of a keyed database, as a whole or not at all. `keys` are those of the database, in
/// any order, each once or more; others among them are ignored.
///
/// If no key is added or removed, the new records are no longer than the longest one was, and they change at
/// most a quarter of the rows or small_delta_bytes, the changes go to FILE.delta. The content is then that of
/// a new build with the same geometry. Otherwise the file is built anew, with the same number of columns.
/// Both ways read the whole file, and take about 150 bytes of memory for each key.
///
/// InvalidArgument: the file is not keyed, or a bucket; `keys` lack some of its keys; there is no change; or
/// a record has another length than all must have. OutOfRange: a key to be removed is not there. Unavailable:
/// it cannot be read or written, or another process changes it. Else errors of DatabaseBuilder.
Result<KeyedUpdateReport> update_keyed(const std::filesystem::path& path, std::vector<std::string> keys,
                                       const KeyedChanges& changes, const KeyedUpdateOptions& options = {});

}  // namespace pirx::database
