// SPDX-License-Identifier: Apache-2.0
// KeyedRows: the rows of a keyed database while it is built. They lie in a scratch file, so that memory
// holds only hashes and no records.
#pragma once

#include "key_peeler.h"
#include "key_sorter.h"
#include "layout.h"
#include "pirx/database/builder.h"

namespace pirx::database {

/// What a keyed build spools of each record: [line u64][key length u64][key][length u64][data].
Result<void> spool_keyed(Spool& spool, std::uint64_t line, std::string_view key, ByteSpan data);

/// Hashes the records of a keyed database, in any order: its filter's seed is computed from that.
class KeyedContent {
 public:
  void add(std::string_view key, ByteSpan data);
  Digest finish() &&;

 private:
  std::vector<Digest> records_;
};

/// Whether a build of records with this KeyedContent computes this seed. BuildOptions::random_seed draws it.
bool computes_seed(const Digest& content, const Digest& seed);

/// Slots per row that make query and reply about equally long, some slots more than keys being needed. The
/// geometry's own number of slots has no part in it.
std::uint64_t balanced_columns(const Geometry& geometry);

/// ResourceExhausted, unless options.long_records: the rows would be nearly empty, or the file longer than
/// what packed input may become. Whoever may add one record to what is imported must not fill the disk.
Result<void> check_size(const BuildOptions& options, const BuildReport& report, const Layout& layout,
                        std::uint64_t most_file_bytes);

class KeyedRows {
 public:
  /// Chooses the records to keep, or joins them (options.duplicates), plans their filter and adds them up
  /// into their rows. `spooled` is flushed and holds as many records as `keys` has keys. Sets what `report`
  /// says of records and keys. InvalidArgument: a repeated key. ResourceExhausted: too many keys, no room, or
  /// the file would be too long (check_size).
  static Result<KeyedRows> build(const std::filesystem::path& target, const BuildOptions& options,
                                 KeySorter& keys, const Spool& spooled, std::uint64_t most_file_bytes,
                                 BuildReport& report);

  const Geometry& geometry() const noexcept { return geometry_; }
  ByteSpan slot(std::uint64_t column, std::uint64_t row) const noexcept {
    return {at(column, row), static_cast<std::size_t>(geometry_.slot_bytes())};
  }

 private:
  KeyedRows(const Geometry& geometry, FileMap slots) : geometry_(geometry), slots_(std::move(slots)) {}
  static Result<KeyedRows> create(const std::filesystem::path& target, const Geometry& geometry);
  std::byte* at(std::uint64_t column, std::uint64_t row) const noexcept {
    return slots_.bytes().data() + (column * geometry_.rows() + row) * geometry_.slot_bytes();
  }
  Result<void> place(const KeyPlan& plan, const Spool& records, std::uint64_t count,
                     const Progress& progress);
  void settle(const KeyPlan& plan);

  Geometry geometry_;
  FileMap slots_;  ///< column after column
};

}  // namespace pirx::database
