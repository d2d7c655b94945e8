// SPDX-License-Identifier: Apache-2.0
// Collects changes of records, row by row, and commits them as a delta.
#include "pirx/database/update.h"

#include <algorithm>

#include "delta.h"
#include "key_sorter.h"
#include "mapping.h"
#include "pirx/base/small_file.h"
#include "src/base/guarded.h"

namespace pirx::database {
namespace {

struct KeyEntry {
  std::string_view key;
  std::uint64_t position;
  friend bool operator<(const KeyEntry& a, const KeyEntry& b) {
    return a.key != b.key ? a.key < b.key : a.position < b.position;
  }
};

Bytes key_section(const std::vector<KeyEntry>& entries) {
  std::uint64_t bytes = 0;
  for (const KeyEntry& entry : entries) bytes += entry.key.size();
  Writer writer(static_cast<std::size_t>(key_index_size(entries.size(), bytes)));
  writer.put(std::uint64_t{entries.size()});
  writer.put(bytes);
  std::uint64_t offset = 0;
  for (const KeyEntry& entry : entries) {
    writer.put(offset);
    writer.put(static_cast<std::uint64_t>(entry.key.size()));  // length u32, zero u32
    writer.put(entry.position);
    offset += entry.key.size();
  }
  for (const KeyEntry& entry : entries) writer.put_bytes(as_bytes(entry.key));
  return std::move(writer).take();
}

}  // namespace

struct DatabaseUpdate::State {
  std::optional<UpdateLock> lock;  ///< until the commit
  std::shared_ptr<const Database> before;
  std::uint64_t records;       ///< as they will be
  std::uint64_t kept_records;  ///< of the old ones: the fewest that there ever were
  std::uint64_t kept_rows;     ///< rows from here on begin as zeros
  std::map<std::uint64_t, Bytes> rows;
  /// Of the records from kept_records on: the positions of those with this key, in order.
  using Keys = std::map<std::string, std::vector<std::uint64_t>, std::less<>>;
  Keys keys;
  /// Where in `keys` record kept_records + i is, if there are keys. More entries than records mean nothing.
  std::vector<Keys::iterator> appended;
  bool done = false;

  State(UpdateLock lock_in, std::shared_ptr<const Database> before_in)
      : lock(std::move(lock_in)),
        before(std::move(before_in)),
        records(before->geometry().records()),
        kept_records(records),
        kept_rows(before->geometry().rows()) {}

  const Geometry& old() const { return before->geometry(); }
  std::uint64_t per_row() const { return old().spec().records_per_row; }

  Bytes& row(std::uint64_t index) {
    const auto known = rows.find(index);
    if (known != rows.end()) return known->second;
    Bytes bytes(old().row_stride());
    if (index < kept_rows) std::copy_n(before->rows().row(index), old().row_stride(), bytes.begin());
    return rows.emplace(index, std::move(bytes)).first->second;
  }
  MutableByteSpan slot(std::uint64_t record) {
    return MutableByteSpan(row(record / per_row()))
        .subspan(record % per_row() * old().slot_bytes(), old().slot_bytes());
  }

  Result<void> check_data(ByteSpan data) const;
  Result<void> set(std::uint64_t record, ByteSpan data);
  Result<std::uint64_t> find(std::string_view key) const;
  Result<void> append(const std::string_view* key, ByteSpan data);
  Result<void> truncate(std::uint64_t count);
  Result<Bytes> merged_keys() const;
  Result<UpdateReport> commit(const Progress& progress);
};

Result<void> DatabaseUpdate::State::check_data(ByteSpan data) const {
  if (done) return invalid("this update is committed: begin another one");
  const bool fits = old().spec().variable_length ? data.size() <= old().record_bytes()
                                                 : data.size() == old().record_bytes();
  if (fits) return {};
  return invalid("a record of " + std::to_string(data.size()) +
                 " bytes does not fit this database, whose records have " +
                 (old().spec().variable_length ? "at most " : "exactly ") +
                 std::to_string(old().record_bytes()) + ": build the database again");
}

Result<void> DatabaseUpdate::State::set(std::uint64_t record, ByteSpan data) {
  PIRX_TRY(check_data(data));
  if (record >= records) {
    return fail(ErrorCode::kOutOfRange,
                "no such record: the database has " + std::to_string(records) + " records, numbered from 0");
  }
  old().fill_slot(record, data, slot(record));
  return {};
}

Result<std::uint64_t> DatabaseUpdate::State::find(std::string_view key) const {
  if (!before->has_keys()) return invalid("this database was built without keys: name records by position");
  PIRX_ASSIGN(const auto position, before->find(key));
  if (position && *position < kept_records) return *position;
  const auto added = keys.find(key);
  if (added != keys.end() && !added->second.empty()) return added->second.front();
  return fail(ErrorCode::kOutOfRange, "no record has that key");
}

Result<void> DatabaseUpdate::State::append(const std::string_view* key, ByteSpan data) {
  PIRX_TRY(check_data(data));
  if ((key != nullptr) != before->has_keys()) {
    return invalid(key != nullptr ? "this database was built without keys: append records without"
                                  : "this database has keys: give one with each new record");
  }
  if (key != nullptr && key->size() > KeySorter::kMaxKeyBytes) {
    return invalid("a key of " + std::to_string(key->size()) + " bytes is longer than the limit of " +
                   std::to_string(KeySorter::kMaxKeyBytes));
  }
  Geometry::Spec spec = old().spec();
  spec.records = records + 1;
  PIRX_TRY(Geometry::create(spec));
  // First what may find no memory.
  std::vector<std::uint64_t>* positions = nullptr;
  if (key != nullptr) {
    const auto named = keys.try_emplace(std::string(*key)).first;
    appended.resize(records - kept_records);
    appended.push_back(named);
    positions = &named->second;
    if (positions->size() == positions->capacity()) positions->reserve(2 * positions->size() + 1);
  }
  old().fill_slot(records, data, slot(records));
  if (positions != nullptr) positions->push_back(records);
  ++records;
  return {};
}

Result<void> DatabaseUpdate::State::truncate(std::uint64_t count) {
  if (done) return invalid("this update is committed: begin another one");
  if (count > records) {
    return invalid("the database has only " + std::to_string(records) + " records to keep some of");
  }
  if (count < per_row()) {
    return invalid("a row of this database holds " + std::to_string(per_row()) +
                   " records, and it cannot have fewer: build it again");
  }
  // The cost is that of the records that go, since there may be a million such calls.
  const std::uint64_t left = div_up(count, per_row());
  for (std::uint64_t gone = count; gone < std::min(records, left * per_row()); ++gone) {
    std::ranges::fill(slot(gone), std::byte{0});
  }
  rows.erase(rows.lower_bound(left), rows.end());
  kept_rows = std::min(kept_rows, left);
  for (std::uint64_t end = records; before->has_keys() && end > std::max(count, kept_records); --end) {
    appended[end - 1 - kept_records]->second.pop_back();
  }
  kept_records = std::min(kept_records, count);
  records = count;
  return {};
}

Result<Bytes> DatabaseUpdate::State::merged_keys() const {
  std::vector<KeyEntry> kept, added, all;
  std::uint64_t bytes = 0;
  PIRX_TRY(before->for_each_key([&](std::string_view key, std::uint64_t position) {
    if (position < kept_records) kept.push_back({key, position});
    bytes += key.size();
    return true;
  }));
  if (bytes + key_index_size(old().records(), 0) > before->mapping().header.layout.keys.length) {
    return fail(ErrorCode::kDataLoss, "the key index is damaged: keys overlap");
  }
  for (const auto& [key, positions] : keys) {
    for (const auto position : positions) added.push_back({key, position});
  }
  all.reserve(kept.size() + added.size());
  std::merge(kept.begin(), kept.end(), added.begin(), added.end(), std::back_inserter(all));
  if (all.size() != records) {
    return fail(ErrorCode::kDataLoss, "the key index is damaged: it has not one key for each record");
  }
  return key_section(all);
}

Result<UpdateReport> DatabaseUpdate::State::commit(const Progress& progress) {
  if (done) return invalid("this update is committed: begin another one");
  const std::uint64_t epoch = before->version().epoch + 1;
  if (epoch == 0) return invalid("the epoch cannot rise any more: build the database again");
  Geometry::Spec spec = old().spec();
  spec.records = records;
  PIRX_ASSIGN(const Geometry geometry, Geometry::create(spec));
  rows.erase(rows.lower_bound(geometry.rows()), rows.end());  // of an append that then found no memory
  UpdateReport report{before->version(), {}, records, {}, geometry.rows(), 0};
  for (const auto& [row, bytes] : rows) report.changed_rows.push_back(row);
  RowChanges changes{geometry, {{}, epoch}, std::move(rows), std::nullopt};
  done = true;
  if (before->has_keys() && (kept_records != old().records() || records != old().records())) {
    PIRX_ASSIGN(changes.keys, merged_keys());
  }
  auto written = write_delta(*before, *lock, changes, progress);
  std::error_code ignored;
  report.delta_bytes = std::filesystem::file_size(lock->delta(), ignored);
  lock.reset();
  PIRX_ASSIGN(report.after, std::move(written));
  return report;
}

DatabaseUpdate::DatabaseUpdate(std::unique_ptr<State> state) : state_(std::move(state)) {}
DatabaseUpdate::DatabaseUpdate(DatabaseUpdate&&) noexcept = default;
DatabaseUpdate& DatabaseUpdate::operator=(DatabaseUpdate&&) noexcept = default;
DatabaseUpdate::~DatabaseUpdate() = default;

Result<DatabaseUpdate> DatabaseUpdate::begin(const std::filesystem::path& path) {
  return guarded([&]() -> Result<DatabaseUpdate> {
    PIRX_ASSIGN(UpdateLock lock, UpdateLock::take(path));
    PIRX_ASSIGN(auto before, Database::open(path));
    if (before->bucket() != nullptr) {
      return invalid("a bucket changes with its plain database: update that, with the buckets (--buckets)");
    }
    if (before->geometry().keyed()) {
      return invalid("a keyed database is laid out for its set of keys and records: build it again");
    }
    PIRX_TRY(before->check_keys());
    return DatabaseUpdate(std::make_unique<State>(std::move(lock), std::move(before)));
  });
}

const Database& DatabaseUpdate::before() const noexcept { return *state_->before; }
std::uint64_t DatabaseUpdate::records() const noexcept { return state_->records; }
std::uint64_t DatabaseUpdate::changed_bytes() const noexcept {
  return state_->rows.size() * state_->old().row_stride();
}

Result<void> DatabaseUpdate::set(std::uint64_t record, ByteSpan data) {
  return guarded([&] { return state_->set(record, data); });
}

Result<void> DatabaseUpdate::set(std::string_view key, ByteSpan data) {
  return guarded([&]() -> Result<void> {
    PIRX_ASSIGN(const std::uint64_t record, state_->find(key));
    return state_->set(record, data);
  });
}

Result<void> DatabaseUpdate::append(ByteSpan data) {
  return guarded([&] { return state_->append(nullptr, data); });
}

Result<void> DatabaseUpdate::append(std::string_view key, ByteSpan data) {
  return guarded([&] { return state_->append(&key, data); });
}

Result<void> DatabaseUpdate::truncate(std::uint64_t records) {
  return guarded([&] { return state_->truncate(records); });
}

Result<UpdateReport> DatabaseUpdate::commit(const Progress& progress) {
  return guarded([&] { return state_->commit(progress); });
}

Result<void> compact_database(const std::filesystem::path& name, const Progress& progress) {
  return guarded([&]() -> Result<void> {
    PIRX_ASSIGN(const auto path, behind_links(name));
    // Locks the file before it is read.
    PIRX_ASSIGN(Replacement next, Replacement::begin(path));
    PIRX_ASSIGN(const auto database, Database::open(path));
    if (database->delta_bytes() == 0) return {};
    // Only what is whole may become the one copy that there is.
    PIRX_TRY(database->verify());
    const TemporaryFile& file = next.file();
    const ByteSpan bytes = database->mapping().file;
    PIRX_TRY(file.reserve(bytes.size()));
    for (std::uint64_t at = 0; at < bytes.size(); at += kChunkBytes) {
      PIRX_TRY(write_at(file.fd(), at,
                        bytes.subspan(at, std::min<std::uint64_t>(kChunkBytes, bytes.size() - at)),
                        file.path()));
      if (progress) progress(at, bytes.size());
    }
    // No newer than the file then, the delta is out of use: a crash before it is removed costs its space.
    PIRX_TRY(std::move(next).commit());
    if (progress) progress(bytes.size(), bytes.size());
    return {};
  });
}

}  // namespace pirx::database
