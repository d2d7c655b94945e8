// SPDX-License-Identifier: Apache-2.0
// Carries changes of a plain database over to its buckets, row by row.
#include <algorithm>
#include <set>

#include "bucket_rows.h"
#include "bucket_sources.h"
#include "pirx/batchcodes/encode_database.h"
#include "pirx/batchcodes/fields.h"
#include "src/base/guarded.h"
#include "src/database/delta.h"
#include "src/database/mapping.h"

namespace pirx::batchcodes {
namespace {

constexpr const char* kUnknown =
    "is of another database, or of a history of it that DATABASE.buckets, if it can be read, does not know";

struct Bucket {
  std::filesystem::path path;
  database::UpdateLock lock;
  std::shared_ptr<const database::Database> file;
  database::Version source = {};  ///< of the plain database that it was made from
  const database::BucketInfo& info() const { return *file->bucket(); }
};

Result<std::vector<Bucket>> open_buckets(const database::Database& plain,
                                         std::span<const std::filesystem::path> paths,
                                         const database::UpdateReport* last, const BucketSources& sources) {
  if (paths.empty()) return invalid("there are no buckets to update");
  std::vector<Bucket> buckets;
  for (const auto& path : paths) {
    PIRX_ASSIGN(auto lock, database::UpdateLock::take(path));
    PIRX_ASSIGN(auto file, database::Database::open(path));
    const auto refuse = [&path](const char* what) {
      return invalid(printable(path.native()) + " " + what + ": encode the database again");
    };
    if (file->bucket() == nullptr) return refuse("is no bucket");
    PIRX_TRY(check_noise(file->bucket()->field, file->bucket()->independence));
    auto expected = file->geometry().spec();
    expected.records = plain.geometry().records();
    if (expected != plain.geometry().spec()) return refuse("is of another database");
    if (!buckets.empty()) {
      database::BucketInfo other = buckets[0].info();
      other.coordinate = file->bucket()->coordinate;
      if (other != *file->bucket()) return refuse("is encoded in another way than the first bucket");
      // One version, or files of one: what they differ in since lies in their changes.
      const bool same = file->version() == buckets[0].file->version() ||
                        file->mapping().base_version == buckets[0].file->mapping().base_version;
      if (other.independence > 0 && !same) return refuse("does not share its noise with the first bucket");
    }
    // Epochs of one database only grow, and its delta knows all changes since its file was written.
    const database::Version& base = plain.mapping().base_version;
    const database::Version& now = plain.version();
    const std::uint64_t at = file->version().epoch;
    // Without noise it is named by the plain database's identity.
    database::Version source = file->version();
    if (file->bucket()->independence > 0) {
      const auto known = sources.of(source.identity);
      if (!known) return refuse(kUnknown);
      if (known->count != paths.size()) {
        return invalid("there are " + std::to_string(known->count) + " buckets with the noise of " +
                       printable(path.native()) + ", not " + std::to_string(paths.size()) +
                       ": give all, or encode the database again");
      }
      source = known->plain;
    }
    if (at < base.epoch) return refuse("is older than the changes that are kept");
    const auto differs = [&](const database::Version& known) { return at == known.epoch && source != known; };
    if (at > now.epoch || differs(base) || differs(now) || (last != nullptr && differs(last->before))) {
      return refuse("is of another database");
    }
    buckets.push_back({path, std::move(lock), std::move(file), source});
  }
  return buckets;
}

/// The encoding that the buckets came from, as far as their files tell: other servers' coordinates change
/// nothing for these, but there are to be enough.
Result<Encoding> encoding_of(const std::vector<Bucket>& buckets) {
  const database::BucketInfo& info = buckets[0].info();
  Encoding::Spec spec;
  spec.field = info.field;
  spec.arity = info.arity;
  spec.independence = info.independence;
  spec.modulus = info.modulus;
  for (const Bucket& bucket : buckets) spec.coordinates.push_back(bucket.info().coordinate);
  if (info.independence == 0) {
    PIRX_ASSIGN(std::uint64_t label, Encoding::field_size(info.field));
    while (spec.coordinates.size() < std::size_t{info.arity} + 1 && label > 0) {
      --label;
      if (std::find(spec.coordinates.begin(), spec.coordinates.end(), label) == spec.coordinates.end()) {
        spec.coordinates.push_back(label);
      }
    }
  }
  return Encoding::create(std::move(spec));
}

/// Adds the rows that a file's changes touch, `arity` of them being one.
void add_patched_rows(const database::Database& file, unsigned arity, std::set<std::uint64_t>& rows) {
  const database::Section section = file.mapping().header.layout.rows;
  const std::uint64_t stride = file.geometry().row_stride();
  for (const database::Section& patch : file.mapping().patched) {
    const std::uint64_t begin = std::max(patch.offset, section.offset);
    const std::uint64_t end = std::min(patch.end(), section.end());
    if (begin >= end) continue;
    const std::uint64_t first = (begin - section.offset) / stride / arity;
    const std::uint64_t behind = div_up(div_up(end - section.offset, stride), arity);
    for (std::uint64_t row = first; row < behind; ++row) rows.insert(row);
  }
}

/// Whether a bucket has the content of the database at an epoch whose identity is still known. Of an epoch
/// between these, the bucket may as well be of another history, such as that before a backup.
bool is_known(const Bucket& bucket, const database::Database& plain, const database::UpdateReport* last) {
  const auto& at = bucket.source;
  return at == plain.mapping().base_version || at == plain.version() ||
         (last != nullptr && at == last->before);
}

/// Rows of the buckets with blocks that changed since the bucket's epoch; of torn ones, which do not share
/// their noise, all where that can be; of unknown ones, all.
std::set<std::uint64_t> changed_rows(const database::Database& plain, const std::vector<Bucket>& buckets,
                                     bool torn, const database::UpdateReport* last) {
  const unsigned arity = buckets[0].info().arity;
  std::set<std::uint64_t> rows;
  const bool only_last = !torn && last != nullptr && last->after == plain.version() &&
                         std::all_of(buckets.begin(), buckets.end(), [&](const Bucket& bucket) {
                           return bucket.file->version().epoch == last->before.epoch;
                         });
  if (only_last) {
    for (const std::uint64_t block : last->changed_rows) rows.insert(block / arity);
  } else {
    add_patched_rows(plain, arity, rows);
  }
  if (torn) {
    for (const Bucket& bucket : buckets) add_patched_rows(*bucket.file, 1, rows);
  }
  const std::uint64_t count = buckets[0].info().rows(plain.geometry().rows());
  if (!std::all_of(buckets.begin(), buckets.end(),
                   [&](const Bucket& bucket) { return is_known(bucket, plain, last); })) {
    for (std::uint64_t row = 0; row < count; ++row) rows.insert(rows.end(), row);
  }
  // What was cut off behind the last block shared a row with it.
  rows.insert(count - 1);
  rows.erase(rows.lower_bound(count), rows.end());
  return rows;
}

bool is_row(const database::Database& bucket, std::uint64_t row, ByteSpan bytes) {
  const auto rows = bucket.rows();
  return row < rows.rows && std::equal(bytes.begin(), bytes.end(), rows.row(static_cast<std::size_t>(row)));
}

template <class F>
Result<void> encode_rows(BucketRows<F>& encoder, const std::set<std::uint64_t>& rows,
                         const database::Database& plain, const std::vector<Bucket>& buckets,
                         std::vector<database::RowChanges>& changes) {
  const unsigned arity = buckets[0].info().arity;
  const std::uint64_t stride = plain.geometry().row_stride();
  for (auto row = rows.begin(); row != rows.end();) {
    const std::uint64_t first = *row;
    std::size_t n = 0;
    while (row != rows.end() && *row == first + n && n < encoder.band()) {
      ++n;
      ++row;
    }
    PIRX_TRY(encoder.encode(first, n));
    for (std::size_t b = 0; b < changes.size(); ++b) {
      for (std::size_t i = 0; i < n; ++i) {
        Bytes bytes(stride);
        PIRX_TRY(encoder.store(b, i, MutableByteSpan(bytes).first(encoder.row_bytes())));
        if (!is_row(*buckets[b].file, first + i, bytes)) changes[b].rows.emplace(first + i, std::move(bytes));
      }
    }
  }
  // Not before they are encoded: they may change then.
  const std::uint64_t blocks = plain.mapping().header.layout.rows.offset;
  std::vector<bool> checked;
  for (const std::uint64_t row : rows) {
    PIRX_TRY(plain.mapping().check({blocks + row * arity * stride, arity * stride}, checked));
  }
  return {};
}

Result<BucketsReport> update(const database::Database& plain, std::span<const std::filesystem::path> paths,
                             const database::UpdateReport* last, int threads) {
  if (plain.bucket() != nullptr) return invalid("this is a bucket: name the plain database");
  const auto sources = BucketSources::read(plain);
  PIRX_ASSIGN(const std::vector<Bucket> buckets, open_buckets(plain, paths, last, sources));
  BucketsReport report{plain.version(), 0, std::vector<std::uint64_t>(buckets.size())};
  const auto lags = [&](const Bucket& bucket) {
    return bucket.file->version().epoch != plain.version().epoch;
  };
  // An update with noise that ended between two files: those that have the new noise fit no others.
  const bool torn = buckets[0].info().independence > 0 &&
                    std::any_of(buckets.begin(), buckets.end(), [&](const Bucket& bucket) {
                      return bucket.file->version() != buckets[0].file->version();
                    });
  if (!torn && std::none_of(buckets.begin(), buckets.end(), lags)) {
    report.version = buckets[0].file->version();
    return report;
  }
  if (buckets[0].info().independence > 0) {
    PIRX_ASSIGN(auto rng, Rng::from_os());
    rng.fill(report.version.identity);
    report.again = sources.any_of(plain.version());
  }
  for (const auto& bucket : buckets) {
    // A file of the epoch that is to be written was compacted while the set was torn. Nobody would look at
    // its delta.
    if ((torn || lags(bucket)) && bucket.file->mapping().base_version.epoch >= report.version.epoch) {
      return invalid(
          printable(bucket.path.native()) +
          " was compacted after an update of the buckets that did not end: encode the database again");
    }
  }
  PIRX_ASSIGN(const auto encoding, encoding_of(buckets));
  const std::set<std::uint64_t> rows = changed_rows(plain, buckets, torn, last);
  report.rows = rows.size();
  std::vector<database::RowChanges> changes(buckets.size(),
                                            {plain.geometry(), report.version, {}, std::nullopt});
  std::vector<std::size_t> servers(buckets.size());
  for (std::size_t j = 0; j < servers.size(); ++j) servers[j] = j;
  PIRX_TRY(with_field(buckets[0].info().field, [&](const auto& f) -> Result<void> {
    using F = std::remove_cvref_t<decltype(f)>;
    PIRX_ASSIGN(auto encoder, BucketRows<F>::create(f, encoding, servers, plain, threads));
    return encode_rows(encoder, rows, plain, buckets, changes);
  }));
  if (buckets[0].info().independence > 0)
    PIRX_TRY(BucketSources::add(plain, report.version.identity, buckets.size()));
  for (std::size_t b = 0; b < buckets.size(); ++b) {
    if (!torn && !lags(buckets[b])) continue;
    PIRX_TRY(database::write_delta(*buckets[b].file, buckets[b].lock, changes[b], {}));
    std::error_code ignored;
    report.delta_bytes[b] = std::filesystem::file_size(buckets[b].lock.delta(), ignored);
  }
  return report;
}

}  // namespace

Result<void> check_buckets(const database::Database& plain, std::span<const std::filesystem::path> buckets) {
  return guarded([&]() -> Result<void> {
    PIRX_TRY(open_buckets(plain, buckets, nullptr, BucketSources::read(plain)));
    return {};
  });
}

Result<database::Version> plain_version(const database::Database& plain, const database::Database& bucket) {
  return guarded([&]() -> Result<database::Version> {
    if (bucket.bucket() == nullptr) return invalid("this is no bucket ('pirx db encode' makes them)");
    if (bucket.bucket()->independence == 0) return bucket.version();
    const auto known = BucketSources::read(plain).of(bucket.version().identity);
    if (!known) return invalid(kUnknown);
    return known->plain;
  });
}

Result<BucketsReport> update_buckets(const database::Database& plain,
                                     std::span<const std::filesystem::path> buckets,
                                     const database::UpdateReport* last, int threads) {
  return guarded([&] { return update(plain, buckets, last, threads); });
}

}  // namespace pirx::batchcodes
