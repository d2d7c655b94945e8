// DatabaseBuilder: streams records into a new database file with bounded memory; the old file survives any
// failure.
#pragma once

#include "pirx/database/database.h"

namespace pirx::database {

/// What a keyed database makes of several records with the same key, in the order of the input: nothing (the
/// build fails), the first, the last, or one record of all of them with a newline between each two.
enum class Duplicates : std::uint8_t { kRefuse, kFirst, kLast, kJoin };

struct BuildOptions {
  std::uint64_t epoch = 1;
  /// By which version of the target `epoch` was chosen, the default Version where there was no file: a target
  /// that holds another one by the time that the builder locks it is refused (Unavailable). Nothing: any.
  std::optional<Version> replaces = {};
  /// 0: balanced (query and reply of about the same size). More than there are records: all in one row.
  std::uint64_t records_per_row = 0;
  /// Every record has exactly this many bytes and no length is stored; 0: lengths vary.
  std::uint64_t fixed_record_bytes = 0;
  bool digests = true;
  /// Records are fetched by key in one query, without a list of positions (docs/protocols/keyword.md). Takes
  /// about 1.15 to 1.3 times the rows, digests, about 100 bytes of memory a key and the rows once more on
  /// disk. The same for the same records in any order.
  bool keyed = false;
  Duplicates duplicates = Duplicates::kRefuse;  ///< in a keyed database; others keep them all
  /// A longer record is refused with ResourceExhausted. Records of varying length have less than 4 GiB.
  std::uint64_t max_record_bytes = std::uint64_t{1} << 30;
  /// Memory for sorting keys (at most 65,535 bytes each); beyond it sorted runs go to disk.
  std::uint64_t sort_memory_bytes = std::uint64_t{256} << 20;
  Progress progress = {};
};

/// What was built.
struct BuildReport {
  std::uint64_t records = 0, longest_record = 0, longest_position = 0;
  std::uint64_t payload_bytes = 0;  ///< sum of record lengths
  std::uint64_t padding_bytes = 0;  ///< everything else in the rows: lengths, digests, padding
  /// duplicate_keys: records whose key an earlier one has; a keyed database leaves them out, or joins them.
  std::uint64_t keys = 0, duplicate_keys = 0, file_bytes = 0;
  Geometry::Spec geometry;
  Version version;
};

/// Spools records beside the target, then lays out rows, keys and checksums in `TARGET.tmp-PID-N`, syncs it
/// and renames it over the target. Destroyed before finish(), it removes its temporary files; leftovers of
/// killed builds are removed by the next build of the same target. While it lives the target is locked: who
/// would build, update or compact it is refused. One finish() per builder.
class DatabaseBuilder {
 public:
  /// Unavailable when the folder cannot be written, or another process changes the target.
  static Result<DatabaseBuilder> create(const std::filesystem::path& target, const BuildOptions& options);
  DatabaseBuilder(DatabaseBuilder&&) noexcept;
  DatabaseBuilder& operator=(DatabaseBuilder&&) noexcept;
  ~DatabaseBuilder();
  /// Appends a record; its position is the number of records before it. A database has keys for all records
  /// or none (an empty key is a key). A refused record is not added; after an I/O error nothing more is.
  /// InvalidArgument, ResourceExhausted (too long, disk full), Unavailable (I/O).
  Result<void> add(ByteSpan data);
  Result<void> add(std::string_view key, ByteSpan data);
  /// Where in the input the records to come begin, counted from 1: errors name it. 0: not known.
  void note_line(std::uint64_t line) noexcept;
  /// Writes, syncs and renames. InvalidArgument when there are no records, or when a key is repeated in a
  /// keyed database that refuses it; then the message names both lines and the number of such records.
  /// Unavailable when the target is not the file it was at create(): that one then stays.
  Result<BuildReport> finish();
  const std::filesystem::path& target() const noexcept;
  /// As given to create(), with max_record_bytes cut to what the format can hold.
  const BuildOptions& options() const noexcept;

 private:
  struct State;
  explicit DatabaseBuilder(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace pirx::database
