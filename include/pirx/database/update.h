// SPDX-License-Identifier: Apache-2.0
// DatabaseUpdate: changes, appends and removes records of a database file. The cost is in proportion to the
// change. Readers and running servers keep the epoch that they opened.
#pragma once

#include "pirx/database/database.h"

namespace pirx::database {

/// What an update did.
struct UpdateReport {
  Version before, after;
  std::uint64_t records = 0;                ///< after the update
  std::vector<std::uint64_t> changed_rows;  ///< ascending; rows that were removed are left out
  std::uint64_t rows = 0;
  std::uint64_t delta_bytes = 0;  ///< the length of FILE.delta, with all changes since FILE was written
};

/// Collects changes in memory, a copy of each row that changes, and writes them to FILE.delta beside the
/// file. The delta is written under another name, synced and renamed, so that after any failure either the
/// old epoch or the new one is there. Content and identity are those that a new build with the same geometry
/// would have. A second update of the same file at the same time is refused.
///
/// An update reads the rows that change and the MiB around each. It writes everything that has changed since
/// FILE was built, and 32 bytes for each MiB of that; compact_database() starts anew. If a database has keys
/// and the number of records changes, the whole index of keys is read and written.
class DatabaseUpdate {
 public:
  /// Locks the file. Unavailable: it cannot be opened, or another process changes it. InvalidArgument: it is
  /// a bucket, which changes only with its plain database; or it is keyed, and must be built again, because
  /// all its rows depend on the set of keys. DataLoss: as Database::open.
  static Result<DatabaseUpdate> begin(const std::filesystem::path& path);
  DatabaseUpdate(DatabaseUpdate&&) noexcept;
  DatabaseUpdate& operator=(DatabaseUpdate&&) noexcept;
  ~DatabaseUpdate();

  const Database& before() const noexcept;
  std::uint64_t records() const noexcept;  ///< as many as there will be after commit()
  /// Of the rows that change, which memory holds until commit().
  std::uint64_t changed_bytes() const noexcept;

  /// Replaces the data of a record. OutOfRange: there is no such record. InvalidArgument: the data does not
  /// fit the geometry; the database then has to be built again. A refused change changes nothing.
  Result<void> set(std::uint64_t record, ByteSpan data);
  /// The same for the record with that key, the first one if the key is repeated.
  Result<void> set(std::string_view key, ByteSpan data);
  /// Appends a record, whose position is records() before the call. Give a key if and only if the database
  /// has keys. Errors as set().
  Result<void> append(ByteSpan data);
  Result<void> append(std::string_view key, ByteSpan data);
  /// Removes all records from position `records` on. InvalidArgument: the
  /// database has fewer records, or none would be left, or fewer than a row holds.
  Result<void> truncate(std::uint64_t records);

  /// Writes the delta and raises the epoch by one. Call it once. After any error the old epoch stays.
  Result<UpdateReport> commit(const Progress& progress = {});

 private:
  struct State;
  explicit DatabaseUpdate(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// Writes a database or bucket and its delta as one file, then removes the delta. Identity and epoch stay.
/// Does nothing if there is no delta. Unavailable: it cannot be read or written, or another process changes
/// it. ResourceExhausted: the disk is full. DataLoss: as Database::open.
Result<void> compact_database(const std::filesystem::path& path, const Progress& progress = {});

}  // namespace pirx::database
