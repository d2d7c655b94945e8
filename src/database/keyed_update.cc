// SPDX-License-Identifier: Apache-2.0
// The plan by which the file was built is found again from its keys. Along it a changed sum is carried to the
// slots that depend on it, as if the file were built anew.
#include "pirx/database/keyed_update.h"

#include <algorithm>
#include <chrono>

#include "delta.h"
#include "key_peeler.h"
#include "keyed_rows.h"
#include "pirx/base/small_file.h"
#include "pirx/database/key_filter.h"
#include "src/base/guarded.h"

namespace pirx::database {
namespace {

/// A large delta of more rows than one in so many would cost as much as a new file, in memory, too.
constexpr std::uint64_t kRowsInDelta = 4;
/// Building takes about so many times as long as looking all keys up (docs/protocols/keyword.md).
constexpr double kBuildPerLookup = 6;

/// Leaves those keys that the database has, in order.
Result<void> keep_own(const Database& db, std::vector<std::string>& keys) {
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  std::size_t kept = 0;
  for (auto& key : keys) {
    PIRX_ASSIGN(const auto record, db.lookup(key));
    if (!record) continue;
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
  return {};
}

/// What is to be added (XOR) to each row of the file.
using RowDifferences = std::map<std::uint64_t, Bytes>;

class KeyedUpdate {
 public:
  KeyedUpdate(const std::filesystem::path& path, std::vector<std::string> keys, const KeyedChanges& changes,
              const KeyedUpdateOptions& options)
      : path_(path), keys_(std::move(keys)), changes_(changes), options_(options) {}

  Result<KeyedUpdateReport> run() {
    if (changes_.empty()) return invalid("there is no change to make");
    PIRX_ASSIGN(path_, behind_links(path_));
    std::optional<UpdateLock> lock;
    PIRX_ASSIGN(lock, UpdateLock::take(path_));
    PIRX_ASSIGN(before_, Database::open(path_));
    if (before_->bucket() != nullptr) {
      return invalid("a bucket changes with its plain database: update that, with the buckets (--buckets)");
    }
    if (!old().keyed()) return invalid(printable(path_.native()) + " is not keyed");
    if (before_->version().epoch + 1 == 0) {
      return invalid("the epoch cannot rise any more: build the database again");
    }
    PIRX_TRY(before_->verify());  // what is made of damaged rows would have right checksums
    const auto start = std::chrono::steady_clock::now();
    PIRX_TRY(keep_own(*before_, keys_));
    const std::chrono::duration<double> looked_up = std::chrono::steady_clock::now() - start;
    PIRX_TRY(count_changes());
    if (auto changed = differences(); changed) return write_changes(*lock, *changed);
    const auto records = keys_.size() + report_.added - report_.removed;
    if (options_.rebuilding) {
      PIRX_TRY(options_.rebuilding(records, kBuildPerLookup * looked_up.count()));
    }
    lock.reset();  // the builder takes it, and looks whether the file is still this one
    return rebuild();
  }

 private:
  const Geometry& old() const { return before_->geometry(); }

  /// Sets what the report counts, and fits_.
  Result<void> count_changes() {
    std::uint64_t longest = old().record_bytes();
    for (const auto& [key, record] : changes_) {
      const bool there = std::binary_search(keys_.begin(), keys_.end(), key);
      if (!record && !there) {
        return fail(ErrorCode::kOutOfRange, "no record has the key '" + printable(key) + "'");
      }
      ++(!record ? report_.removed : there ? report_.replaced : report_.added);
      if (!record) continue;
      if (!old().spec().variable_length && record->size() != old().record_bytes()) {
        return invalid("a record of " + std::to_string(record->size()) +
                       " bytes does not fit this database, whose records have exactly " +
                       std::to_string(old().record_bytes()) + ": build the database again");
      }
      longest = std::max<std::uint64_t>(longest, record->size());
    }
    fits_ = longest == old().record_bytes() && report_.added == 0 && report_.removed == 0;
    const std::uint64_t records = keys_.size() + report_.added;
    const std::uint64_t slot = longest + (old().slot_bytes() - old().record_bytes());
    const auto before = static_cast<double>(keys_.size()) * static_cast<double>(old().slot_bytes());
    const auto after = static_cast<double>(records) * static_cast<double>(slot);
    if (after - before > static_cast<double>(options_.most_growth_bytes)) {
      return fail(ErrorCode::kResourceExhausted, "the packed changes would make " + std::to_string(records) +
                                                     " records of " + std::to_string(longest) +
                                                     " bytes: unpack them yourself if that is meant");
    }
    return {};
  }

  /// Nothing if the file has to be built anew.
  std::optional<RowDifferences> differences() {
    if (!fits_) return std::nullopt;
    const auto& spec = old().spec();
    std::vector<HashedKey> hashed;
    hashed.reserve(keys_.size());
    for (std::size_t i = 0; i < keys_.size(); ++i) {
      hashed.push_back({hash_key(spec.filter->seed, keys_[i]), i});
    }
    const auto plan = plan_keys(hashed, spec.records_per_row, spec.filter->seed);
    // Another builder may have taken another filter.
    if (!plan || plan->filter != *spec.filter) return std::nullopt;
    const auto filter = KeyFilter::create(old());
    PIRX_CHECK(filter.has_value());
    const auto slot_bytes = static_cast<std::size_t>(old().slot_bytes());
    RowDifferences all;
    for (std::uint64_t column = 0; column + 1 < plan->column_begin.size(); ++column) {
      std::map<std::uint64_t, Bytes> slots;  // of this column, by row
      for (std::uint64_t i = plan->column_begin[column]; i < plan->column_begin[column + 1]; ++i) {
        const KeyPlan::Step& step = plan->steps[i];
        const auto rows = rows_of(step.row_hash, plan->filter);
        const auto change = changes_.find(keys_[step.position]);
        if (change == changes_.end() && slots.empty()) continue;
        Bytes difference(slot_bytes);
        if (change != changes_.end()) {
          filter->fill_slot(change->first, *change->second, difference);
          for (const auto row : rows) {
            add(difference, ByteSpan(before_->rows().row(row) + column * slot_bytes, slot_bytes));
          }
        }
        for (unsigned j = 0; j < rows.size(); ++j) {
          if (j == step.own) continue;
          if (const auto other = slots.find(rows[j]); other != slots.end()) add(difference, other->second);
        }
        const auto zero = [](std::byte byte) { return byte == std::byte{0}; };
        if (std::all_of(difference.begin(), difference.end(), zero)) continue;
        slots.emplace(rows[step.own], std::move(difference));
      }
      for (const auto& [row, difference] : slots) {
        Bytes& whole = all.try_emplace(row, static_cast<std::size_t>(old().row_stride())).first->second;
        std::copy(difference.begin(), difference.end(),
                  whole.begin() + static_cast<std::ptrdiff_t>(column * slot_bytes));
      }
      const bool many = all.size() > old().rows() / kRowsInDelta;
      if (many && all.size() * old().row_stride() > options_.small_delta_bytes) return std::nullopt;
    }
    return all;
  }

  static void add(Bytes& to, ByteSpan from) {
    for (std::size_t i = 0; i < to.size(); ++i) to[i] ^= from[i];
  }

  Result<KeyedUpdateReport> write_changes(const UpdateLock& lock, RowDifferences& changed) {
    auto& update = report_.update;
    update = {before_->version(), {}, old().records(), {}, old().rows(), 0};
    for (auto& [row, bytes] : changed) {
      add(bytes, ByteSpan(before_->rows().row(row), bytes.size()));
      update.changed_rows.push_back(row);
    }
    const RowChanges next{old(), {{}, before_->version().epoch + 1}, std::move(changed), std::nullopt};
    PIRX_ASSIGN(update.after, write_delta(*before_, lock, next, options_.progress));
    std::error_code ignored;
    update.delta_bytes = std::filesystem::file_size(lock.delta(), ignored);
    return std::move(report_);
  }

  Result<KeyedUpdateReport> rebuild() {
    const auto& spec = old().spec();
    BuildOptions options{.epoch = before_->version().epoch + 1,
                         .replaces = before_->version(),
                         .records_per_row = spec.records_per_row,
                         .fixed_record_bytes = spec.variable_length ? 0 : old().record_bytes(),
                         .keyed = true,
                         .random_seed = !computes_seed(keys_, spec.filter->seed),
                         .progress = options_.progress,
                         .each_key = options_.each_key,
                         .before_commit = options_.before_commit};
    options.long_records = std::none_of(changes_.begin(), changes_.end(), [this](const auto& change) {
      return change.second && change.second->size() > old().record_bytes();
    });
    options.max_record_bytes = std::max(options.max_record_bytes, old().record_bytes());
    PIRX_ASSIGN(auto builder, DatabaseBuilder::create(path_, options));
    for (const auto& key : keys_) {
      if (changes_.find(key) != changes_.end()) continue;
      PIRX_ASSIGN(const auto record, before_->lookup(key));
      if (!record) return fail(ErrorCode::kDataLoss, "a record is damaged");
      PIRX_TRY(builder.add(key, *record));
    }
    for (const auto& [key, record] : changes_) {
      if (record) PIRX_TRY(builder.add(key, *record));
    }
    PIRX_ASSIGN(const auto built, builder.finish());
    PIRX_ASSIGN(const auto geometry, Geometry::create(built.geometry));
    report_.rebuilt = true;
    report_.update = {before_->version(), built.version, built.records, {}, geometry.rows(), 0};
    return std::move(report_);
  }

  std::filesystem::path path_;
  std::vector<std::string> keys_;  ///< of the database, in order
  const KeyedChanges& changes_;
  const KeyedUpdateOptions& options_;
  std::shared_ptr<const Database> before_;
  bool fits_ = true;  ///< the geometry holds what will be there
  KeyedUpdateReport report_;
};

}  // namespace

Result<KeyedUpdateReport> update_keyed(const std::filesystem::path& path, std::vector<std::string> keys,
                                       const KeyedChanges& changes, const KeyedUpdateOptions& options) {
  return guarded([&] { return KeyedUpdate(path, std::move(keys), changes, options).run(); });
}

}  // namespace pirx::database
