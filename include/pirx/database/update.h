// DatabaseUpdate: changes, appends and truncates records of a database file at a cost in proportion to the
// change. Readers and running servers keep the epoch that they opened.
#pragma once

#include "pirx/database/database.h"

namespace pirx::database {

/// What an update did.
struct UpdateReport {
  Version before, after;
  std::uint64_t records = 0;                ///< now
  std::vector<std::uint64_t> changed_rows;  ///< ascending, of those that are left
  std::uint64_t rows_before = 0, rows = 0;
  std::uint64_t delta_bytes = 0;  ///< of FILE.delta: all changes since FILE was written
};

/// Collects changes in memory (a row for each row that changes) and writes them as FILE.delta beside the
/// file: written under another name, synced, renamed, so that after any failure the old epoch or the new one
/// is there, whole. The content, its identity included, is what a build with the same geometry gives. A
/// second update of the same file at the same time is refused.
///
/// Cost: the rows that change and the MiBs around them are read; what has changed since FILE was built and 32
/// bytes for each MiB of it are written (compact_database starts anew). A database with keys whose number of
/// records changes has its whole key index written, and read again.
class DatabaseUpdate {
 public:
  /// Unavailable: it cannot be opened, or another process changes it. InvalidArgument: a bucket, which
  /// changes with its plain database only, or a keyed database, whose rows all depend on its set of keys:
  /// build it again. DataLoss as Database::open.
  static Result<DatabaseUpdate> begin(const std::filesystem::path& path);
  DatabaseUpdate(DatabaseUpdate&&) noexcept;
  DatabaseUpdate& operator=(DatabaseUpdate&&) noexcept;
  ~DatabaseUpdate();

  const Database& before() const noexcept;
  std::uint64_t records() const noexcept;  ///< as they will be

  /// OutOfRange: no such record. InvalidArgument: the data does not fit the records of this database, which
  /// then has to be built again; a refused change changes nothing.
  Result<void> set(std::uint64_t record, ByteSpan data);
  /// The lowest record with that key.
  Result<void> set(std::string_view key, ByteSpan data);
  /// With a key if and only if the database has keys. Gives no position: it is records() before the call.
  Result<void> append(ByteSpan data);
  Result<void> append(std::string_view key, ByteSpan data);
  /// Drops all records from `records` on. InvalidArgument when that is more than there are, none, or fewer
  /// than a row holds.
  Result<void> truncate(std::uint64_t records);

  /// Writes the delta; the epoch rises by one. Once per update; on any error the old epoch stays.
  Result<UpdateReport> commit(const Progress& progress = {});

 private:
  struct State;
  explicit DatabaseUpdate(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// Writes a database, or a bucket, and its delta as one file, then removes the delta. Identity and epoch
/// stay. Nothing to do without a delta. Unavailable, ResourceExhausted, DataLoss.
Result<void> compact_database(const std::filesystem::path& path, const Progress& progress = {});

}  // namespace pirx::database
