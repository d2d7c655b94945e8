// SPDX-License-Identifier: Apache-2.0
// Opens and maps a database file. Checks at once what is cheap to check, and the rest on demand.
#include "pirx/database/database.h"

#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "delta.h"
#include "mapping.h"
#include "pirx/base/small_file.h"
#include "pirx/database/key_filter.h"
#include "src/base/guarded.h"

namespace pirx::database {

Result<void> Database::Mapping::check_identity() const {
  if (content_identity(header.layout, section(header.layout.checksums)) != header.content) {
    return fail(ErrorCode::kDataLoss, "the file is damaged: its checksums do not give its identity");
  }
  return {};
}

Result<void> Database::Mapping::check_chunk(std::uint64_t chunk) const {
  const std::uint64_t begin = kPageBytes + chunk * kChunkBytes;
  const std::uint64_t end = std::min(begin + kChunkBytes, header.layout.checksums.offset);
  const Digest digest = sha256(file.subspan(begin, end - begin));
  const ByteSpan expected = section(header.layout.checksums).subspan(chunk * sizeof digest, sizeof digest);
  if (std::equal(digest.begin(), digest.end(), expected.begin())) return {};
  return fail(ErrorCode::kDataLoss, "the file is damaged between bytes " + std::to_string(begin) + " and " +
                                        std::to_string(end) + ": a checksum does not match");
}

Result<void> Database::Mapping::check(const Section& bytes, std::vector<bool>& checked) const {
  const std::uint64_t chunks = header.layout.chunks();
  if (checked.empty()) PIRX_TRY(check_identity());
  checked.resize(chunks);
  for (std::uint64_t chunk = (bytes.offset - kPageBytes) / kChunkBytes;
       chunk < chunks && kPageBytes + chunk * kChunkBytes < bytes.end(); ++chunk) {
    if (checked[chunk]) continue;
    if (auto sound = check_chunk(chunk); !sound) return with_path(path, sound.error());
    checked[chunk] = true;
  }
  return {};
}

Result<void> Database::Mapping::check_row(std::uint64_t row) const {
  const Geometry& geometry = header.layout.geometry;
  const ByteSpan bytes =
      file.subspan(header.layout.rows.offset + row * geometry.row_stride(), geometry.row_stride());
  if (header.layout.bucket) {
    // Shares have no slots; only the bytes behind the last word that any field could have are zero.
    if (all_zero(bytes.subspan(std::min(geometry.row_bytes() + 31, geometry.row_stride())))) return {};
    return fail(ErrorCode::kDataLoss, "the file is damaged: bytes behind a row of the bucket are not zero");
  }
  if (geometry.keyed()) {
    // A slot alone is no record, so only the checksums tell about it.
    if (all_zero(bytes.subspan(geometry.row_bytes()))) return {};
    return fail(ErrorCode::kDataLoss, "the file is damaged: bytes behind the slots of a row are not zero");
  }
  const std::uint64_t first = row * geometry.spec().records_per_row;
  const std::uint64_t count = std::min(geometry.spec().records_per_row, geometry.records() - first);
  for (std::uint64_t i = 0; i < count; ++i) {
    PIRX_TRY(geometry.read_slot(first + i, bytes.subspan(i * geometry.slot_bytes(), geometry.slot_bytes())));
  }
  if (!all_zero(bytes.subspan(count * geometry.slot_bytes()))) {
    return fail(ErrorCode::kDataLoss, "the file is damaged: bytes behind the records of a row are not zero");
  }
  return {};
}

Result<void> Database::Mapping::verify(const Progress& progress) const {
  const Layout& layout = header.layout;
  // The map shows the file as it is now, not as it was when it was opened.
  PIRX_ASSIGN(const Header now, decode_header(file.first(kPageBytes)));
  if (now.version != header.version || now.content != header.content ||
      now.layout.geometry != layout.geometry || now.layout.keys != layout.keys) {
    return fail(ErrorCode::kDataLoss, "the header has changed since the file was opened");
  }
  PIRX_TRY(check_identity());
  std::uint64_t row = 0;
  for (std::uint64_t chunk = 0; chunk < layout.chunks(); ++chunk) {
    PIRX_TRY(check_chunk(chunk));
    const std::uint64_t end = std::min(kPageBytes + (chunk + 1) * kChunkBytes, layout.checksums.offset);
    // Rows that are complete by now, while they are still in the cache.
    while (row < layout.file_rows() && layout.rows.offset + (row + 1) * layout.geometry.row_stride() <= end) {
      PIRX_TRY(check_row(row++));
    }
    if (progress) progress(end, file.size());
  }
  if (!all_zero(file.subspan(layout.rows.end(), layout.keys.offset - layout.rows.end())) ||
      !all_zero(file.subspan(layout.keys.end(), layout.checksums.offset - layout.keys.end()))) {
    return fail(ErrorCode::kDataLoss, "the file is damaged: bytes between its sections are not zero");
  }
  PIRX_TRY(keys.verify());
  if (progress) progress(file.size(), file.size());
  return {};
}

namespace {

/// The file as it lies on disk, without a delta.
struct BaseFile {
  OpenedFile file;
  Header header;
  Digest checksum;  ///< of the header page
};

Result<BaseFile> open_base(const std::filesystem::path& path) {
  PIRX_ASSIGN(OpenedFile file, open_for_reading(path, true));
  const auto data_loss = [&path](std::string message) {
    return with_path(path, Error(ErrorCode::kDataLoss, std::move(message)));
  };
  Bytes page(static_cast<std::size_t>(std::min(file.bytes(), kPageBytes)));
  PIRX_TRY(read_at(file.fd.get(), 0, page, path));
  if (!as_text(page).starts_with(kMagic.substr(0, page.size())) || page.empty()) {
    return data_loss("not a pirx database");
  }
  if (page.size() < kPageBytes) return data_loss("truncated: the file ends inside its header");
  auto header = decode_header(page);
  if (!header) return with_path(path, header.error());
  const std::uint64_t expected = header->layout.file_bytes();
  if (file.bytes() != expected) {
    return data_loss(
        (file.bytes() < expected ? "truncated: the file has " : "the file is too long: it has ") +
        std::to_string(file.bytes()) + " bytes, its header says " + std::to_string(expected));
  }
  return BaseFile{std::move(file), std::move(*header), seal_of(page)};
}

/// The delta that belongs to `base`, if there is one. One that is no newer than the file is what a build or a
/// compaction left behind.
Result<std::optional<Delta>> open_delta(const std::filesystem::path& path, const BaseFile& base) {
  PIRX_ASSIGN(const auto file, delta_path(path));
  PIRX_ASSIGN(std::optional<Delta> delta, Delta::open(file));
  if (!delta || delta->header().version.epoch <= base.header.version.epoch) return std::optional<Delta>();
  const auto refuse = [&file](const std::string& message) {
    return fail(ErrorCode::kDataLoss, printable(file.native()) + ": " + message);
  };
  if (delta->base() != base.checksum) {
    return refuse("these changes were made to another file than " + printable(path.native()) +
                  " is now: put that file back to have them, or remove " + printable(file.native()) +
                  " to go on with epoch " + std::to_string(base.header.version.epoch) + " without them");
  }
  Geometry::Spec spec = delta->header().layout.geometry.spec();
  spec.records = base.header.layout.geometry.records();
  if (spec != base.header.layout.geometry.spec() ||
      delta->header().layout.bucket != base.header.layout.bucket) {
    return refuse("the delta is impossible: it changes more than records");
  }
  // What lies behind the base's end is all in the delta, so that no small file makes a large database.
  std::uint64_t end = base.file.bytes();
  for (const Section& extent : delta->extents()) {
    if (extent.offset <= end) end = std::max(end, extent.end());
  }
  if (end < delta->header().layout.file_bytes())
    return refuse("the delta is impossible: it leaves bytes out");
  return delta;
}

struct Opened {
  BaseFile base;
  std::optional<Delta> delta;
};

/// A file and its own delta, though both may be replaced meanwhile.
Result<Opened> open_files(const std::filesystem::path& path) {
  constexpr int kAttempts = 10;
  for (int attempt = 1;; ++attempt) {
    PIRX_ASSIGN(BaseFile base, open_base(path));
    auto delta = open_delta(path, base);
    struct stat now {};
    const bool same = ::stat(path.c_str(), &now) == 0 && now.st_ino == base.file.status.st_ino &&
                      now.st_dev == base.file.status.st_dev;
    if (!same && attempt < kAttempts) continue;
    if (!delta) return tl::unexpected(delta.error());
    return Opened{std::move(base), std::move(*delta)};
  }
}

/// The file in memory: as it is, or a private copy of the pages that the delta changes.
Result<FileMap> map_file(const OpenedFile& file, const std::optional<Delta>& delta,
                         const std::filesystem::path& path) {
  if (!delta) return FileMap::create(file.bytes(), PROT_READ, MAP_SHARED, file.fd.get(), path);
  const std::uint64_t bytes = delta->header().layout.file_bytes();
  constexpr int kWritable = PROT_READ | PROT_WRITE, kPrivate = MAP_PRIVATE | MAP_NORESERVE;
  PIRX_ASSIGN(FileMap map, FileMap::create(bytes, kWritable, kPrivate | MAP_ANONYMOUS, -1, path));
  std::byte* const start = map.bytes().data();
  // Over the front of the reservation; what lies behind the file's end stays zero.
  if (::mmap(start, std::min(bytes, file.bytes()), kWritable, kPrivate | MAP_FIXED, file.fd.get(), 0) ==
      MAP_FAILED) {
    return tl::unexpected(system_error("map", path, errno));
  }
  const MapGuard guard(map.bytes(), file.status);
  delta->apply(map.bytes());
  if (guard.lost() || delta->lost())
    return fail(ErrorCode::kDataLoss, printable(path.native()) + " or its delta was truncated meanwhile");
  static_cast<void>(::mprotect(start, bytes, PROT_READ));
  return map;
}

}  // namespace

Result<std::shared_ptr<const Database>> Database::open_if_there(const std::filesystem::path& path) {
  PIRX_ASSIGN(const bool there, is_there(path));
  if (!there) return nullptr;
  return open(path);
}

Result<std::shared_ptr<const Database>> Database::open(const std::filesystem::path& path) {
  return guarded([&]() -> Result<std::shared_ptr<const Database>> {
    PIRX_ASSIGN(Opened opened, open_files(path));
    const Header& header = opened.delta ? opened.delta->header() : opened.base.header;
    std::unique_ptr<Mapping> mapping(new Mapping{path, header});
    mapping->base_version = opened.base.header.version;
    mapping->base = opened.base.checksum;
    if (opened.delta) {
      mapping->patched = opened.delta->extents();
      mapping->delta_bytes = opened.delta->bytes();
    }
    PIRX_ASSIGN(mapping->map, map_file(opened.base.file, opened.delta, path));
    const MutableByteSpan file = mapping->map.bytes();
    mapping->file = file;
    mapping->guard.emplace(file, opened.base.file.status);
    mapping->on_disk = std::move(opened.base.file);
    // Only a hint. No MADV_WILLNEED: it would make every `db info` read the whole file.
    static_cast<void>(::madvise(file.data(), file.size(), MADV_HUGEPAGE));

    if (auto checked = mapping->check_identity(); !checked) return with_path(path, checked.error());
    if (header.layout.keys.length != 0) {
      auto keys = KeyIndex::create(mapping->section(header.layout.keys), header.layout.geometry.records());
      if (!keys) return with_path(path, keys.error());
      mapping->keys = *keys;
    }
    return std::shared_ptr<const Database>(new Database(std::move(mapping)));
  });
}

Database::Database(std::unique_ptr<Mapping> mapping) : mapping_(std::move(mapping)) {}
Database::~Database() = default;

const Geometry& Database::geometry() const noexcept { return mapping_->header.layout.geometry; }
const Version& Database::version() const noexcept { return mapping_->header.version; }
Version Database::content_version() const noexcept {
  return {mapping_->header.content, mapping_->header.version.epoch};
}
const BucketInfo* Database::bucket() const noexcept {
  const auto& bucket = mapping_->header.layout.bucket;
  return bucket ? &*bucket : nullptr;
}
bool Database::has_keys() const noexcept { return key_index_bytes() != 0; }
std::uint64_t Database::key_index_bytes() const noexcept { return mapping_->header.layout.keys.length; }
std::uint64_t Database::file_bytes() const noexcept { return mapping_->file.size(); }
std::uint64_t Database::delta_bytes() const noexcept { return mapping_->delta_bytes; }

matrix::ConstView<std::byte> Database::rows() const noexcept {
  const Layout& layout = mapping_->header.layout;
  const std::uint64_t stride = layout.geometry.row_stride();
  return {mapping_->section(layout.rows).data(), layout.file_rows(), stride, stride};
}

Result<ByteSpan> Database::record(std::uint64_t position) const {
  if (bucket() != nullptr) {
    return invalid(
        "a bucket holds shares, not records: ask the servers (pirx get), or read the plain database");
  }
  PIRX_ASSIGN(const Location location, geometry().locate(position));
  return geometry().read_slot(position,
                              ByteSpan(rows().row(location.row) + location.offset, geometry().slot_bytes()));
}

Result<void> Database::check_record(std::uint64_t position) const {
  return guarded([&]() -> Result<void> {
    PIRX_ASSIGN(const Location location, geometry().locate(position));
    std::vector<bool> checked;
    const std::uint64_t stride = geometry().row_stride();
    return mapping_->check({mapping_->header.layout.rows.offset + location.row * stride, stride}, checked);
  });
}

Result<void> Database::check_keys() const {
  return guarded([&]() -> Result<void> {
    std::vector<bool> checked;
    if (!has_keys()) return {};
    return mapping_->check(mapping_->header.layout.keys, checked);
  });
}

Result<std::optional<std::uint64_t>> Database::find(std::string_view key) const {
  if (bucket() != nullptr) {
    return invalid("a bucket has no keys: look them up in the plain database");
  }
  return mapping_->keys.find(key);
}

Result<std::optional<Bytes>> Database::lookup(std::string_view key) const {
  return guarded([&]() -> Result<std::optional<Bytes>> {
    if (bucket() != nullptr) {
      return invalid("a bucket holds shares, not records: look keys up in the plain database");
    }
    PIRX_ASSIGN(const KeyFilter filter, KeyFilter::create(geometry()));
    const KeyFilter::Place place = filter.place(key);
    Bytes sum(geometry().slot_bytes());
    for (const std::uint64_t row : place.rows) {
      const std::byte* slot = rows().row(row) + place.offset;
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] ^= slot[i];
    }
    PIRX_ASSIGN(auto found, filter.read_slot(key, sum));
    return std::optional<Bytes>(std::move(found));
  });
}

Result<void> Database::for_each_key(
    const std::function<bool(std::string_view key, std::uint64_t position)>& visit) const {
  return guarded([&] { return mapping_->keys.for_each(visit); });
}

Result<void> Database::verify(const Progress& progress) const {
  return guarded([&]() -> Result<void> {
    auto verified = mapping_->verify(progress);
    if (!verified) return with_path(mapping_->path, verified.error());
    return {};
  });
}

}  // namespace pirx::database
