// SPDX-License-Identifier: Apache-2.0
// Builds a keyed database anew with some records changed. Whoever could foresee the filter's seed could
// choose records whose sum is a record for another key (docs/decisions/0021-seeds-from-all-records.md). So
// the seed follows from all records, and with it the place of every key.
#include "pirx/database/keyed_update.h"

#include <algorithm>
#include <chrono>

#include "keyed_rows.h"
#include "pirx/base/small_file.h"
#include "src/base/guarded.h"

namespace pirx::database {
namespace {

/// Building takes about so many times as long as looking all keys up.
constexpr double kBuildPerLookup = 3;

/// Leaves those keys that the database has, in order. Gives the hash of its records.
Result<Digest> keep_own(const Database& db, std::vector<std::string>& keys) {
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  KeyedContent content;
  std::size_t kept = 0;
  for (auto& key : keys) {
    PIRX_ASSIGN(const auto record, db.lookup(key));
    if (!record) continue;
    content.add(key, *record);
    if (&keys[kept] != &key) keys[kept] = std::move(key);
    ++kept;
  }
  const auto all = db.geometry().records();
  if (kept != all) {
    return invalid("the list of keys has " + std::to_string(kept) + " of the " + std::to_string(all) +
                   " keys of this database, and all must be known to change it: give a complete list, or "
                   "build the database again");
  }
  keys.resize(kept);
  return std::move(content).finish();
}

/// How many are added, replaced and removed, if all of that can be done.
Result<KeyedUpdateReport> count_changes(const Geometry& old, const std::vector<std::string>& keys,
                                        const KeyedChanges& changes, std::uint64_t most_growth_bytes) {
  KeyedUpdateReport report;
  std::uint64_t longest = old.record_bytes();
  for (const auto& [key, record] : changes) {
    const bool there = std::binary_search(keys.begin(), keys.end(), key);
    if (!record && !there) {
      return fail(ErrorCode::kOutOfRange, "no record has the key '" + printable(key) + "'");
    }
    ++(!record ? report.removed : there ? report.replaced : report.added);
    if (!record) continue;
    if (!old.spec().variable_length && record->size() != old.record_bytes()) {
      return invalid("a record of " + std::to_string(record->size()) +
                     " bytes does not fit this database, whose records have exactly " +
                     std::to_string(old.record_bytes()) + ": build the database again");
    }
    longest = std::max<std::uint64_t>(longest, record->size());
  }
  const std::uint64_t records = keys.size() + report.added;
  const std::uint64_t slot = longest + (old.slot_bytes() - old.record_bytes());
  const auto before = static_cast<double>(keys.size()) * static_cast<double>(old.slot_bytes());
  const auto after = static_cast<double>(records) * static_cast<double>(slot);
  if (after - before > static_cast<double>(most_growth_bytes)) {
    return fail(ErrorCode::kResourceExhausted, "the packed changes would make " + std::to_string(records) +
                                                   " records of " + std::to_string(longest) +
                                                   " bytes: unpack them yourself if that is meant");
  }
  return report;
}

Result<KeyedUpdateReport> update(std::filesystem::path path, std::vector<std::string> keys,
                                 const KeyedChanges& changes, const KeyedUpdateOptions& options) {
  if (changes.empty()) return invalid("there is no change to make");
  PIRX_ASSIGN(path, behind_links(path));
  PIRX_ASSIGN(const auto before, Database::open(path));
  if (before->bucket() != nullptr) {
    return invalid("a bucket is made of its plain database: update that, and encode it again");
  }
  const Geometry& old = before->geometry();
  if (!old.keyed()) return invalid(printable(path.native()) + " is not keyed");
  if (before->version().epoch + 1 == 0) {
    return invalid("the epoch cannot rise any more: build the database again");
  }
  if (options.replaces && *options.replaces != before->version()) {
    return fail(ErrorCode::kUnavailable,
                printable(path.native()) + " has changed since this update began: begin it again");
  }
  PIRX_TRY(before->verify());  // what is made of damaged rows would have right checksums
  const auto start = std::chrono::steady_clock::now();
  PIRX_ASSIGN(const Digest content, keep_own(*before, keys));
  const std::chrono::duration<double> looked_up = std::chrono::steady_clock::now() - start;
  PIRX_ASSIGN(auto report, count_changes(old, keys, changes, options.most_growth_bytes));
  if (options.rebuilding) {
    PIRX_TRY(
        options.rebuilding(keys.size() + report.added - report.removed, kBuildPerLookup * looked_up.count()));
  }

  const auto& spec = old.spec();
  const bool longer = std::any_of(changes.begin(), changes.end(), [&old](const auto& change) {
    return change.second && change.second->size() > old.record_bytes();
  });
  // Slots of longer records in as many columns could make rows that no server takes.
  const bool balanced = longer || spec.records_per_row == balanced_columns(old);
  BuildOptions build{.epoch = before->version().epoch + 1,
                     .replaces = before->version(),
                     .records_per_row = balanced ? 0 : spec.records_per_row,
                     .fixed_record_bytes = spec.variable_length ? 0 : old.record_bytes(),
                     .keyed = true,
                     .random_seed = !computes_seed(content, spec.filter->seed),
                     .long_records = !longer,
                     .progress = options.progress,
                     .each_key = options.each_key,
                     .before_commit = options.before_commit};
  build.max_record_bytes = std::max(build.max_record_bytes, old.record_bytes());
  PIRX_ASSIGN(auto builder, DatabaseBuilder::create(path, build));
  for (const auto& key : keys) {
    if (changes.find(key) != changes.end()) continue;
    PIRX_ASSIGN(const auto record, before->lookup(key));
    if (!record) return fail(ErrorCode::kDataLoss, "a record is damaged");
    PIRX_TRY(builder.add(key, *record));
  }
  for (const auto& [key, record] : changes) {
    if (record) PIRX_TRY(builder.add(key, *record));
  }
  PIRX_ASSIGN(const auto built, builder.finish());
  report.before = before->version();
  report.after = built.version;
  report.records = built.records;
  return report;
}

}  // namespace

Result<KeyedUpdateReport> update_keyed(const std::filesystem::path& path, std::vector<std::string> keys,
                                       const KeyedChanges& changes, const KeyedUpdateOptions& options) {
  return guarded([&] { return update(path, std::move(keys), changes, options); });
}

}  // namespace pirx::database
