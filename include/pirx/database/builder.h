// SPDX-License-Identifier: Apache-2.0
// DatabaseBuilder: writes a new database file from a stream of records, with bounded memory. After any
// failure the old file is still there.
#pragma once

#include "pirx/database/database.h"

namespace pirx::database {

/// What a keyed database does with several records of one key: refuse the input, keep the first or the last
/// of them, or join all of them, in the order of the input, with newlines between them.
enum class Duplicates : std::uint8_t { kRefuse, kFirst, kLast, kJoin };

struct BuildOptions {
  std::uint64_t epoch = 1;
  /// The version of the target from which `epoch` was chosen; the default Version if there was no file. If
  /// the target has another one when the builder locks it, the build is refused (Unavailable). Nothing: the
  /// build replaces any version.
  std::optional<Version> replaces = {};
  /// 0: balanced, so that query and reply have about the same size. More than there are records: all records
  /// are in one row.
  std::uint64_t records_per_row = 0;
  /// The length of every record, which is then not stored. 0: lengths vary.
  std::uint64_t fixed_record_bytes = 0;
  bool digests = true;
  /// Clients fetch records by key in one query, without a list of positions (docs/protocols/keyword.md).
  /// Needs digests. Takes about 1.15 to 1.3 times the rows and, while it builds, about 100 bytes of memory
  /// for each key and the rows once more on disk. The file does not depend on the order of the records.
  bool keyed = false;
  /// The seed of a keyed database's filter is drawn at random, not computed from the records. Two builds then
  /// differ, and the header has no hash of the records. For files from which a server shall learn nothing
  /// (Encoding's independence).
  bool random_seed = false;
  /// For tests, which need two databases of one layout: the seed itself. Who knows it before choosing records
  /// can make them add up to a record for another key (docs/decisions/0021-seeds-from-all-records.md).
  std::optional<Digest> seed = {};
  Duplicates duplicates = Duplicates::kRefuse;  ///< a database that is not keyed keeps all
  /// A longer record is refused with ResourceExhausted. If lengths vary, a record has less than 4 GiB.
  std::uint64_t max_record_bytes = std::uint64_t{1} << 30;
  /// Builds even a file that takes more than 1 GiB and 20 times its records because one record is long, or
  /// more than packed input may become.
  bool long_records = false;
  /// Memory for sorting keys. When it is full, sorted runs go to disk. A key has at most 65,535 bytes.
  std::uint64_t sort_memory_bytes = std::uint64_t{256} << 20;
  Progress progress = {};
  /// Called by finish() with each distinct key of a keyed database, in order, before the file is in place. An
  /// error is the result of finish().
  std::function<Result<void>(std::string_view key)> each_key = {};
  /// Called by finish() just before the file takes its place. An error is the result of finish().
  std::function<Result<void>()> before_commit = {};
};

/// What was built.
struct BuildReport {
  std::uint64_t records = 0, longest_record = 0, longest_position = 0;
  std::uint64_t payload_bytes = 0;  ///< the sum of all record lengths
  std::uint64_t padding_bytes = 0;  ///< everything else in the rows: lengths, digests, padding
  /// duplicate_keys: the records whose key an earlier record has.
  std::uint64_t keys = 0, duplicate_keys = 0, file_bytes = 0;
  Geometry::Spec geometry;
  Version version;
};

/// Builds one file. It keeps records in a scratch file beside the target, then writes rows, keys and
/// checksums to `TARGET.tmp-PID-N`, syncs that and renames it over the target. The target is locked while the
/// builder lives: nobody else can build, update or compact it. A builder that is destroyed before finish()
/// removes its temporary files. If the process was killed, the next build of the same target removes them.
class DatabaseBuilder {
 public:
  /// Unavailable: the folder cannot be written, or another process changes the target.
  static Result<DatabaseBuilder> create(const std::filesystem::path& target, const BuildOptions& options);
  DatabaseBuilder(DatabaseBuilder&&) noexcept;
  DatabaseBuilder& operator=(DatabaseBuilder&&) noexcept;
  ~DatabaseBuilder();
  /// Appends a record. Its position is the number of records before it. Either all records have keys or none
  /// has; an empty key counts as a key. A record that is refused is not added.
  /// InvalidArgument: the record does not fit the options. ResourceExhausted: it is too long, or the disk is
  /// full. Unavailable: writing failed; then nothing more can be added.
  Result<void> add(ByteSpan data);
  Result<void> add(std::string_view key, ByteSpan data);
  /// The line of the input at which the next records begin, from 1, so that errors can name it. 0: unknown.
  void note_line(std::uint64_t line) noexcept;
  /// How many bytes of the input have been read, and how many it has, for Progress. Without this call,
  /// progress has no total. Where the input is packed, the file may take `most_file_bytes`, unless
  /// options().long_records.
  void note_input(std::uint64_t read_bytes, std::uint64_t all_bytes,
                  std::uint64_t most_file_bytes = ~std::uint64_t{0}) noexcept;
  /// Whether more records can be added. It stays true if add() refused a record for a fault of that record.
  bool takes_more() const noexcept;
  /// Writes the file and puts it in the target's place. Call it once. InvalidArgument: there are no records,
  /// or a key is repeated although Duplicates::kRefuse is set; the message names both lines and the number of
  /// such records. Unavailable: the target is not the file that it was at create(); it then stays.
  Result<BuildReport> finish();
  const std::filesystem::path& target() const noexcept;
  /// The options of create(), with max_record_bytes lowered to what the format can hold.
  const BuildOptions& options() const noexcept;

 private:
  struct State;
  explicit DatabaseBuilder(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace pirx::database
