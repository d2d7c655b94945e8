// SPDX-License-Identifier: Apache-2.0
// Makes all buckets in one pass over the plain rows, a band of rows at a time. Each bucket hashes and
// writes its rows on a thread of its own.
#include "pirx/batchcodes/encode_database.h"

#include "bucket_rows.h"
#include "bucket_sources.h"
#include "pirx/base/small_file.h"
#include "pirx/batchcodes/fields.h"
#include "src/base/guarded.h"
#include "src/base/threads.h"
#include "src/database/content_writer.h"
#include "src/database/mapping.h"

namespace pirx::batchcodes {
namespace {

/// A bucket file under way. It stays in its place: the writer points to the rest.
struct BucketFile {
  std::filesystem::path target;
  database::Layout layout;
  database::Replacement file;
  database::Progress silent = {};
  database::ContentWriter writer;
  Result<void> result = {};  ///< of the last band; threads must not share one

  BucketFile(std::filesystem::path target_in, const database::Layout& layout_in,
             database::Replacement file_in)
      : target(std::move(target_in)),
        layout(layout_in),
        file(std::move(file_in)),
        writer(file.file(), layout, silent) {}
  BucketFile(const BucketFile&) = delete;
  BucketFile& operator=(const BucketFile&) = delete;
};

Result<std::unique_ptr<BucketFile>> begin_bucket(const std::filesystem::path& target,
                                                 const database::Layout& layout,
                                                 const std::filesystem::path& plain) {
  PIRX_ASSIGN(auto file, database::Replacement::begin(target, plain));
  const auto old = database::Database::open_if_there(target);
  if (!old || (*old != nullptr && (*old)->bucket() == nullptr)) {
    return invalid(printable(target.native()) +
                   " exists and is no bucket of a pirx database: choose another prefix, or remove it first");
  }
  PIRX_TRY(file.file().reserve(layout.file_bytes()));
  return std::make_unique<BucketFile>(target, layout, std::move(file));
}

template <class F>
Result<void> write_rows(BucketRows<F>& rows, std::uint64_t total,
                        std::vector<std::unique_ptr<BucketFile>>& files, const EncodeOptions& options) {
  const std::uint64_t stride = files[0]->layout.geometry.row_stride();
  for (std::uint64_t first = 0; first < total;) {
    const auto n = static_cast<std::size_t>(std::min<std::uint64_t>(rows.band(), total - first));
    PIRX_TRY(rows.encode(first, n));
#pragma omp parallel for schedule(dynamic) num_threads(thread_count(options.threads))
    for (std::size_t b = 0; b < files.size(); ++b) {
      BucketFile& file = *files[b];
      file.result = guarded([&]() -> Result<void> {
        Bytes row(stride);
        for (std::size_t i = 0; i < n; ++i) {
          PIRX_TRY(rows.store(b, i, MutableByteSpan(row).first(rows.row_bytes())));
          PIRX_TRY(file.writer.append(row));
        }
        return {};
      });
    }
    for (const auto& file : files) PIRX_TRY(file->result);
    first += n;
    if (options.progress) options.progress(first * stride, total * stride);
  }
  return {};
}

/// Shares with other noise fit no others, and a hash of the plain database would let a server confirm a guess
/// of it: buckets with noise are known by a number drawn for the set.
Result<database::Version> version_of_buckets(const database::Database& plain, unsigned independence) {
  database::Version version = plain.version();
  if (independence > 0) {
    PIRX_ASSIGN(auto rng, Rng::from_os());
    rng.fill(version.identity);
  }
  return version;
}

Result<EncodeReport> encode(const database::Database& plain, const Encoding& encoding,
                            const std::filesystem::path& prefix, const EncodeOptions& options) {
  const auto& spec = encoding.spec();
  if (plain.bucket() != nullptr) return invalid("this is a bucket already: encode the plain database");
  if (!encoding.has_data_coordinates()) {
    return invalid("with arity 1 and independence 0 every bucket would be the database itself: serve that");
  }
  if (spec.independence > 0 && !options.only.empty()) {
    return invalid(
        "with independence above 0 all buckets are made at once: they share noise that is kept nowhere");
  }
  PIRX_TRY(check_noise(spec.field, spec.independence));
  // With one more than there are, 'pirx db update --buckets' would take it for one of them.
  const std::string one_more = prefix.native() + "." + std::to_string(encoding.servers() + 1);
  PIRX_ASSIGN(const bool is_left, is_there(one_more));
  if (is_left && options.only.empty()) {
    return invalid(
        printable(one_more) + " exists, and only " + std::to_string(encoding.servers()) +
        " buckets are to be made: choose another prefix, or remove it and those with higher numbers");
  }
  // What no server could serve is not encoded either.
  PIRX_TRY(check_message_sizes(spec.field, encoding.rows(plain.geometry().rows()), plain.geometry()));
  std::vector<std::size_t> servers = options.only;
  for (std::size_t j = 0; servers.size() < encoding.servers() && options.only.empty(); ++j) {
    servers.push_back(j);
  }
  return with_field(spec.field, [&](const auto& f) -> Result<EncodeReport> {
    using F = std::remove_cvref_t<decltype(f)>;
    PIRX_ASSIGN(auto rows, BucketRows<F>::create(f, encoding, servers, plain, options.threads));
    PIRX_ASSIGN(const database::Version version, version_of_buckets(plain, spec.independence));
    EncodeReport report{{}, version, encoding.rows(plain.geometry().rows()), 0};
    report.again = spec.independence > 0 && BucketSources::read(plain).any_of(plain.version());
    // Who may read the database may read its buckets, and nobody else.
    const auto& source = plain.mapping().path;
    std::vector<std::unique_ptr<BucketFile>> files;
    for (const std::size_t j : servers) {
      const database::BucketInfo info{spec.field, spec.arity, spec.independence, spec.modulus,
                                      spec.coordinates[j]};
      PIRX_ASSIGN(const auto layout, database::Layout::plan(plain.geometry(), 0, info));
      PIRX_ASSIGN(auto file, begin_bucket(prefix.native() + "." + std::to_string(j + 1), layout, source));
      files.push_back(std::move(file));
      report.file_bytes = layout.file_bytes();
    }
    PIRX_TRY(write_rows(rows, report.rows, files, options));
    // Shares of damaged rows would have right checksums. Not before the rows are read: they may change then.
    PIRX_TRY(plain.verify());
    for (const auto& file : files) {
      PIRX_ASSIGN(const Bytes checksums, file->writer.finish());
      const database::Header header{file->layout, version, content_identity(file->layout, checksums)};
      PIRX_TRY(write_at(file->file.file().fd(), 0, encode_header(header), file->file.file().path()));
    }
    // The folder of the database may be one that only others write.
    report.unlisted = spec.independence > 0 && !BucketSources::add(plain, version.identity, files.size());
    for (const auto& file : files) {
      PIRX_TRY(std::move(file->file).commit());
      report.files.push_back(file->target);
    }
    return report;
  });
}

}  // namespace

Result<EncodeReport> encode_database(const database::Database& plain, const Encoding& encoding,
                                     const std::filesystem::path& prefix, const EncodeOptions& options) {
  return guarded([&] { return encode(plain, encoding, prefix, options); });
}

}  // namespace pirx::batchcodes
