// SPDX-License-Identifier: Apache-2.0
// Changes records of a keyed database. Its rows depend on all of its records and do not list their keys, so
// whoever changes it must know them.
#pragma once

#include <map>
#include <string>

#include "pirx/database/builder.h"

namespace pirx::database {

/// The new record of each key; nothing removes the key.
using KeyedChanges = std::map<std::string, std::optional<Bytes>, std::less<>>;

struct KeyedUpdateOptions {
  /// The version to which the list of keys belongs. If the file has another one, the update is refused
  /// (Unavailable). Nothing: the list may be of any version.
  std::optional<Version> replaces = {};
  /// Called before the file is built, with the number of records and a rough estimate of the seconds. An
  /// error is the result of the update, which then has changed nothing.
  std::function<Result<void>(std::uint64_t records, double seconds)> rebuilding = {};
  /// As in BuildOptions.
  std::function<Result<void>(std::string_view key)> each_key = {};
  std::function<Result<void>()> before_commit = {};
  Progress progress = {};
  /// The records may take so many bytes more than before, with all of them as long as the longest: what
  /// packed input may become.
  std::uint64_t most_growth_bytes = ~std::uint64_t{0};
};

struct KeyedUpdateReport {
  Version before, after;
  std::uint64_t records = 0;  ///< now
  std::uint64_t added = 0, replaced = 0, removed = 0;
};

/// Makes the next epoch of a keyed database, as a whole or not at all. `keys` are those of the database, in
/// any order, each once or more; others among them are ignored. The file is built anew, and is what a build
/// of the same records gives. BuildOptions::records_per_row is as it was, but 0 once a record is longer than
/// all were. Takes about 150 bytes of memory for each key.
///
/// InvalidArgument: the file is not keyed, or a bucket; `keys` lack some of its keys; there is no change; or
/// a record has another length than all must have. OutOfRange: a key to be removed is not there. Unavailable:
/// it cannot be read or written, or another process changes it. Else errors of DatabaseBuilder.
Result<KeyedUpdateReport> update_keyed(const std::filesystem::path& path, std::vector<std::string> keys,
                                       const KeyedChanges& changes, const KeyedUpdateOptions& options = {});

}  // namespace pirx::database
