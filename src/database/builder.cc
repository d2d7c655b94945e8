// SPDX-License-Identifier: Apache-2.0
// Builds a database file. Records are kept in a scratch file until their sizes are known. Then the file is
// written once, from front to back, and its header last.
#include "pirx/database/builder.h"

#include <algorithm>

#include "content_writer.h"
#include "key_index.h"
#include "key_sorter.h"
#include "keyed_rows.h"
#include "replacement.h"
#include "spool.h"
#include "src/base/guarded.h"

namespace pirx::database {
namespace {

constexpr std::uint64_t kMaxFixedBytes = std::uint64_t{1} << 56;
/// Why a builder takes nothing more when an exception cut it short. Short: it needs no memory.
constexpr const char* kBrokeOff = "build broke off";

/// Whether the target, which is locked by now, is still what the caller chose the epoch by.
Result<void> check_replaced(const std::filesystem::path& target, const BuildOptions& options) {
  if (!options.replaces) return {};
  PIRX_ASSIGN(const auto there, Database::open_if_there(target));
  if ((there ? there->version() : Version()) == *options.replaces) return {};
  return fail(ErrorCode::kUnavailable,
              printable(target.native()) + " has changed since this build began: begin it again");
}

}  // namespace

struct DatabaseBuilder::State {
  std::filesystem::path target;
  BuildOptions options;
  Replacement file;
  Spool records;  ///< [length u64][data] each, or what spool_keyed writes
  KeySorter keys;
  BuildReport report;
  std::uint64_t line = 0;                       ///< of the input, for the record to come
  std::uint64_t read_bytes = 0, all_bytes = 0;  ///< of the input; 0: unknown
  std::uint64_t most_file_bytes = ~std::uint64_t{0};
  std::uint64_t reported = 0;   ///< spool size at the last progress call
  std::optional<Error> broken;  ///< why nothing more can be added: an I/O error, or finish() came already

  State(std::filesystem::path target_in, BuildOptions options_in, Replacement file_in, Spool records_in)
      : target(std::move(target_in)),
        options(std::move(options_in)),
        file(std::move(file_in)),
        records(std::move(records_in)),
        keys(target, options.sort_memory_bytes) {}

  Result<void> check_record(const std::string_view* key, ByteSpan data) const;
  Result<void> add(const std::string_view* key, ByteSpan data);
  Result<void> spool(const std::string_view* key, ByteSpan data);
  Result<Geometry> choose_geometry() const;
  Result<void> write_rows(const Geometry& geometry, ContentWriter& writer);
  Result<void> write_keyed_rows(const KeyedRows& rows, ContentWriter& writer);
  Result<void> write_keys(ContentWriter& writer);
  Result<BuildReport> finish();
};

Result<void> DatabaseBuilder::State::check_record(const std::string_view* key, ByteSpan data) const {
  const auto bytes = std::to_string(data.size());
  if (options.fixed_record_bytes != 0 && data.size() != options.fixed_record_bytes) {
    return invalid("a record of " + bytes + " bytes, but all records of this database have " +
                   std::to_string(options.fixed_record_bytes));
  }
  if (data.size() > options.max_record_bytes) {
    return fail(ErrorCode::kResourceExhausted, "a record of " + bytes +
                                                   " bytes is longer than the limit of " +
                                                   std::to_string(options.max_record_bytes));
  }
  if (key != nullptr && key->size() > KeySorter::kMaxKeyBytes) {
    return fail(ErrorCode::kResourceExhausted, "a key of " + std::to_string(key->size()) +
                                                   " bytes is longer than the limit of " +
                                                   std::to_string(KeySorter::kMaxKeyBytes));
  }
  if (options.keyed && key == nullptr) {
    return invalid("a keyed database needs a key for every record: name its column (--key)");
  }
  if (report.records != 0 && (key != nullptr) != (keys.count() != 0)) {
    return invalid("all records of a database have keys, or none");
  }
  return {};
}

Result<void> DatabaseBuilder::State::spool(const std::string_view* key, ByteSpan data) {
  if (options.keyed) {
    PIRX_TRY(spool_keyed(records, line, *key, data));
  } else {
    const std::uint64_t length = data.size();
    PIRX_TRY(records.append(std::as_bytes(std::span(&length, 1))));
    PIRX_TRY(records.append(data));
  }
  if (key != nullptr) PIRX_TRY(keys.add(*key, report.records));
  return {};
}

Result<void> DatabaseBuilder::State::add(const std::string_view* key, ByteSpan data) {
  if (broken) return tl::unexpected(*broken);
  PIRX_TRY(check_record(key, data));
  // What throws in between leaves half a record in the spool, and this.
  broken.emplace(ErrorCode::kResourceExhausted, kBrokeOff);
  if (auto spooled = spool(key, data); !spooled) {
    broken = spooled.error();
    return spooled;
  }
  broken.reset();
  if (report.records == 0 || data.size() > report.longest_record) {
    report.longest_record = data.size();
    report.longest_position = report.records;
  }
  report.payload_bytes += data.size();
  ++report.records;
  if (options.progress && records.size() - reported >= kChunkBytes) {
    reported = records.size();
    options.progress(all_bytes == 0 ? reported : read_bytes, all_bytes);
  }
  return {};
}

Result<Geometry> DatabaseBuilder::State::choose_geometry() const {
  Geometry::Spec spec;
  spec.records = report.records;
  // A database of empty records still has slots.
  spec.record_bytes = std::max<std::uint64_t>(report.longest_record, 1);
  spec.variable_length = options.fixed_record_bytes == 0;
  spec.digests = options.digests;
  if (options.records_per_row != 0) {
    spec.records_per_row = std::min(options.records_per_row, report.records);
  } else {
    PIRX_ASSIGN(const Geometry single, Geometry::create(spec));
    spec.records_per_row = Geometry::balanced_records_per_row(report.records, single.slot_bytes());
  }
  return Geometry::create(spec);
}

Result<void> DatabaseBuilder::State::write_rows(const Geometry& geometry, ContentWriter& writer) {
  PIRX_ASSIGN(AlignedBuffer buffer, AlignedBuffer::create(geometry.slot_bytes()));
  const MutableByteSpan slot(buffer.data(), geometry.slot_bytes());
  SpoolReader reader(records, 0, records.size());
  std::uint64_t in_row = 0, row_end = writer.at() + geometry.row_stride();
  for (std::uint64_t i = 0; i < geometry.records(); ++i) {
    if (in_row == geometry.spec().records_per_row) {
      PIRX_TRY(writer.pad_to(row_end));
      row_end += geometry.row_stride();
      in_row = 0;
    }
    // The data is read to where fill_slot puts it.
    PIRX_ASSIGN(const auto length, reader.get<std::uint64_t>());
    const MutableByteSpan data = slot.subspan(geometry.slot_bytes() - geometry.record_bytes(), length);
    PIRX_TRY(reader.read(data));
    geometry.fill_slot(i, data, slot);
    PIRX_TRY(writer.append(slot));
    ++in_row;
  }
  return writer.pad_to(row_end);
}

Result<void> DatabaseBuilder::State::write_keyed_rows(const KeyedRows& rows, ContentWriter& writer) {
  const Geometry& geometry = rows.geometry();
  std::uint64_t row_end = writer.at();
  for (std::uint64_t row = 0; row < geometry.rows(); ++row) {
    row_end += geometry.row_stride();
    for (std::uint64_t column = 0; column < geometry.spec().records_per_row; ++column) {
      PIRX_TRY(writer.append(rows.slot(column, row)));
    }
    PIRX_TRY(writer.pad_to(row_end));
  }
  return {};
}

Result<void> DatabaseBuilder::State::write_keys(ContentWriter& writer) {
  PIRX_TRY(writer.put(keys.count()));
  PIRX_TRY(writer.put(keys.key_bytes()));
  std::uint64_t offset = 0;
  std::string previous;
  const auto put_entry = [&](std::string_view key, std::uint64_t position) -> Result<void> {
    if (report.keys++ != 0 && key == previous) ++report.duplicate_keys;
    previous = key;
    PIRX_TRY(writer.put(offset));
    PIRX_TRY(writer.put(static_cast<std::uint64_t>(key.size())));  // length u32, zero u32
    offset += key.size();
    return writer.put(position);
  };
  PIRX_TRY(keys.for_each(put_entry));
  return keys.for_each([&](std::string_view key, std::uint64_t) { return writer.append(as_bytes(key)); });
}

Result<BuildReport> DatabaseBuilder::State::finish() {
  if (report.records == 0) {
    return invalid("cannot build " + printable(target.native()) + ": there are no records in the input");
  }
  PIRX_TRY(records.flush());
  std::optional<KeyedRows> keyed;
  if (options.keyed) {
    PIRX_ASSIGN(auto rows, KeyedRows::build(target, options, keys, records, most_file_bytes, report));
    keyed.emplace(std::move(rows));
  }
  PIRX_ASSIGN(const Geometry geometry, keyed ? Result<Geometry>(keyed->geometry()) : choose_geometry());
  // In a keyed database the rows are the index.
  const bool indexed = keys.count() != 0 && !keyed;
  PIRX_ASSIGN(const Layout layout,
              Layout::plan(geometry, indexed ? key_index_size(keys.count(), keys.key_bytes()) : 0));
  if (!keyed) PIRX_TRY(check_size(options, report, layout, most_file_bytes));
  PIRX_TRY(file.file().reserve(layout.file_bytes()));

  ContentWriter writer(file.file(), layout, options.progress);
  PIRX_TRY(keyed ? write_keyed_rows(*keyed, writer) : write_rows(geometry, writer));
  PIRX_TRY(writer.pad_to(layout.keys.offset));
  if (indexed) PIRX_TRY(write_keys(writer));
  PIRX_ASSIGN(const Bytes checksums, writer.finish());
  report.version = {content_identity(layout, checksums), options.epoch};
  // Last, so that a file with a header is a whole file.
  PIRX_TRY(write_at(file.file().fd(), 0, encode_header(layout, report.version), file.file().path()));

  report.padding_bytes = geometry.data_bytes() - report.payload_bytes;
  report.file_bytes = layout.file_bytes();
  report.geometry = geometry.spec();
  PIRX_TRY(file.check());
  if (options.before_commit) PIRX_TRY(options.before_commit());
  PIRX_TRY(std::move(file).commit());
  if (options.progress) options.progress(report.file_bytes, report.file_bytes);
  return report;
}

DatabaseBuilder::DatabaseBuilder(std::unique_ptr<State> state) : state_(std::move(state)) {}
DatabaseBuilder::DatabaseBuilder(DatabaseBuilder&&) noexcept = default;
DatabaseBuilder& DatabaseBuilder::operator=(DatabaseBuilder&&) noexcept = default;
DatabaseBuilder::~DatabaseBuilder() = default;

Result<DatabaseBuilder> DatabaseBuilder::create(const std::filesystem::path& target,
                                                const BuildOptions& options) {
  return guarded([&]() -> Result<DatabaseBuilder> {
    BuildOptions checked = options;
    if (checked.fixed_record_bytes > checked.max_record_bytes) {
      return invalid("records of " + std::to_string(checked.fixed_record_bytes) +
                     " bytes are longer than the limit of " + std::to_string(checked.max_record_bytes));
    }
    if (checked.keyed && !checked.digests) {
      return invalid("a keyed database needs digests: they tell whether a key is there");
    }
    if (checked.duplicates == Duplicates::kJoin && checked.fixed_record_bytes != 0) {
      return invalid("records that all are of one length cannot be joined");
    }
    checked.max_record_bytes = std::min(checked.max_record_bytes,
                                        checked.fixed_record_bytes == 0 ? kMaxStoredLength : kMaxFixedBytes);
    PIRX_ASSIGN(Replacement file, Replacement::begin(target));
    PIRX_TRY(check_replaced(target, checked));
    PIRX_ASSIGN(Spool records, Spool::create(target));
    return DatabaseBuilder(
        std::make_unique<State>(target, std::move(checked), std::move(file), std::move(records)));
  });
}

Result<void> DatabaseBuilder::add(ByteSpan data) {
  return guarded([&] { return state_->add(nullptr, data); });
}

Result<void> DatabaseBuilder::add(std::string_view key, ByteSpan data) {
  return guarded([&] { return state_->add(&key, data); });
}

Result<BuildReport> DatabaseBuilder::finish() {
  return guarded([&]() -> Result<BuildReport> {
    if (state_->broken) return tl::unexpected(*state_->broken);
    state_->broken.emplace(ErrorCode::kResourceExhausted, kBrokeOff);
    auto report = state_->finish();
    state_->broken = report ? Error(ErrorCode::kInvalidArgument, "this build is finished; start another one")
                            : report.error();
    return report;
  });
}

void DatabaseBuilder::note_line(std::uint64_t line) noexcept { state_->line = line; }
void DatabaseBuilder::note_input(std::uint64_t read_bytes, std::uint64_t all_bytes,
                                 std::uint64_t most_file_bytes) noexcept {
  state_->read_bytes = read_bytes;
  state_->all_bytes = all_bytes;
  state_->most_file_bytes = most_file_bytes;
}
bool DatabaseBuilder::takes_more() const noexcept { return !state_->broken; }
const std::filesystem::path& DatabaseBuilder::target() const noexcept { return state_->target; }
const BuildOptions& DatabaseBuilder::options() const noexcept { return state_->options; }

}  // namespace pirx::database
