// SPDX-License-Identifier: Apache-2.0
// Reads, checks and writes delta files.
#include "delta.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>

#include "mapping.h"
#include "pirx/base/small_file.h"

namespace pirx::database {
namespace {

constexpr std::uint64_t kExtentBytes = 16;
/// A page of its own fields, a page that is the database's new header; the extents' table follows.
constexpr std::uint64_t kTableOffset = 2 * kPageBytes;

/// A run of bytes of the new file that is known in memory.
struct Piece {
  std::uint64_t offset;
  ByteSpan bytes;
  std::uint64_t end() const noexcept { return offset + bytes.size(); }
};

/// The new file: pieces laid over the old one, zeros beyond.
class NewFile {
 public:
  NewFile(ByteSpan old, std::vector<Piece> pieces) : old_(old), pieces_(std::move(pieces)) {
    std::erase_if(pieces_, [](const Piece& piece) { return piece.bytes.empty(); });
    std::sort(pieces_.begin(), pieces_.end(),
              [](const Piece& a, const Piece& b) { return a.offset < b.offset; });
  }
  const std::vector<Piece>& pieces() const noexcept { return pieces_; }

  void read(std::uint64_t offset, MutableByteSpan out) const {
    std::fill(out.begin(), out.end(), std::byte{0});
    lay(0, old_, offset, out);
    auto piece = std::partition_point(pieces_.begin(), pieces_.end(),
                                      [&](const Piece& p) { return p.end() <= offset; });
    for (; piece != pieces_.end() && piece->offset < offset + out.size(); ++piece) {
      lay(piece->offset, piece->bytes, offset, out);
    }
  }

 private:
  /// Copies what `from`, which lies at `at`, and `out`, which lies at `offset`, have in common.
  static void lay(std::uint64_t at, ByteSpan from, std::uint64_t offset, MutableByteSpan out) {
    const std::uint64_t begin = std::max(at, offset);
    const std::uint64_t end = std::min(at + from.size(), offset + out.size());
    if (begin < end) std::memcpy(&out[begin - offset], &from[begin - at], end - begin);
  }

  ByteSpan old_;
  std::vector<Piece> pieces_;
};

/// The checksum section of the new file: chunks that no piece touches keep theirs.
Result<Bytes> checksums_of(const NewFile& file, const Layout& layout, const Database::Mapping& before) {
  const Layout& old = before.header.layout;
  std::vector<bool> changed(layout.chunks());
  for (const Piece& piece : file.pieces()) {
    for (std::uint64_t chunk = (piece.offset - kPageBytes) / kChunkBytes;
         chunk < changed.size() && kPageBytes + chunk * kChunkBytes < piece.end(); ++chunk) {
      changed[chunk] = true;
    }
  }
  // The last chunk is shorter than the others: another length, another chunk.
  if (layout.content_bytes() != old.content_bytes()) {
    for (std::uint64_t chunk = std::min(layout.chunks(), old.chunks()) - 1; chunk < layout.chunks();
         ++chunk) {
      changed[chunk] = true;
    }
  }
  Bytes result(layout.checksums.length);
  const ByteSpan kept = before.section(old.checksums);
  Bytes buffer(kChunkBytes);
  std::vector<bool> checked;
  for (std::uint64_t chunk = 0; chunk < layout.chunks(); ++chunk) {
    const std::uint64_t at = chunk * sizeof(Digest);
    if (!changed[chunk]) {
      std::copy_n(&kept[at], sizeof(Digest), &result[at]);
      continue;
    }
    const std::uint64_t begin = kPageBytes + chunk * kChunkBytes;
    PIRX_TRY(before.check({begin, kChunkBytes}, checked));
    const MutableByteSpan bytes =
        MutableByteSpan(buffer).first(std::min(kChunkBytes, layout.checksums.offset - begin));
    file.read(begin, bytes);
    const Digest digest = sha256(bytes);
    std::copy(digest.begin(), digest.end(), &result[at]);
  }
  return result;
}

/// All runs, sorted, joined, without what lies behind `end` or in the header.
std::vector<Section> unite(std::vector<Section> runs, std::uint64_t end) {
  std::sort(runs.begin(), runs.end(), [](const Section& a, const Section& b) { return a.offset < b.offset; });
  std::vector<Section> result;
  for (Section run : runs) {
    run.length = std::min(run.end(), end) - std::min(run.offset, end);
    if (run.length == 0) continue;
    if (!result.empty() && run.offset <= result.back().end()) {
      result.back().length = std::max(result.back().end(), run.end()) - result.back().offset;
    } else {
      result.push_back(run);
    }
  }
  return result;
}

/// Bytes to a file, in order, hashed on the way.
class HashedWriter {
 public:
  HashedWriter(const TemporaryFile& file, const Progress& progress, std::uint64_t total)
      : file_(file), progress_(progress), total_(total) {}
  Result<void> append(ByteSpan bytes) {
    hash_.update(bytes);
    return put(bytes);
  }
  Result<void> finish() {
    const Digest digest = std::move(hash_).finish();
    return put(digest);
  }

 private:
  Result<void> put(ByteSpan bytes) {
    PIRX_TRY(write_at(file_.fd(), at_, bytes, file_.path()));
    at_ += bytes.size();
    if (progress_) progress_(at_, total_);
    return {};
  }
  const TemporaryFile& file_;
  const Progress& progress_;
  std::uint64_t total_, at_ = 0;
  Sha256 hash_;
};

Bytes first_page(const Digest& base, std::uint64_t extents, std::uint64_t file_bytes) {
  Writer writer(kPageBytes);
  writer.put_bytes(as_bytes(kDeltaMagic));
  writer.put(kDeltaVersion);
  writer.put(static_cast<std::uint32_t>(kPageBytes));
  writer.put_bytes(base);
  writer.put(extents);
  writer.put(file_bytes);
  Bytes page = std::move(writer).take();
  page.resize(kPageBytes);
  return page;
}

Result<void> write_file(const Database::Mapping& before, const UpdateLock& lock, const Bytes& header,
                        const NewFile& file, const std::vector<Section>& extents, const Progress& progress) {
  std::uint64_t total = kTableOffset + extents.size() * kExtentBytes + sizeof(Digest);
  for (const Section& extent : extents) total += extent.length;
  const auto& target = lock.delta();
  remove_leftovers(target);
  PIRX_ASSIGN(TemporaryFile out, TemporaryFile::create(target, 0600));
  // Who may read the database may read what changed in it, and nobody else.
  if (!give_access_of(before.path, out.fd())) {
    return tl::unexpected(system_error("set the permissions of", out.path(), errno));
  }
  PIRX_TRY(out.reserve(total));
  HashedWriter writer(out, progress, total);
  PIRX_TRY(writer.append(first_page(before.base, extents.size(), total)));
  PIRX_TRY(writer.append(header));
  Writer table(extents.size() * kExtentBytes);
  for (const Section& extent : extents) {
    table.put(extent.offset);
    table.put(extent.length);
  }
  PIRX_TRY(writer.append(std::move(table).take()));
  Bytes buffer(kChunkBytes);
  for (const Section& extent : extents) {
    for (std::uint64_t done = 0; done < extent.length; done += kChunkBytes) {
      const MutableByteSpan bytes =
          MutableByteSpan(buffer).first(std::min(kChunkBytes, extent.length - done));
      file.read(extent.offset + done, bytes);
      PIRX_TRY(writer.append(bytes));
    }
  }
  PIRX_TRY(writer.finish());
  PIRX_TRY(out.sync());
  PIRX_TRY(lock.check());
  return out.commit(target);
}

}  // namespace

Result<Version> write_delta(const Database& database, const UpdateLock& lock, const RowChanges& changes,
                            const Progress& progress) {
  const Database::Mapping& before = database.mapping();
  const Layout& old = before.header.layout;
  PIRX_ASSIGN(
      const Layout layout,
      Layout::plan(changes.geometry, changes.keys ? changes.keys->size() : old.keys.length, old.bucket));
  PIRX_CHECK(changes.geometry.row_stride() == old.geometry.row_stride());
  std::vector<Piece> pieces;
  for (const auto& [row, bytes] : changes.rows) {
    PIRX_CHECK(row < layout.file_rows() && bytes.size() == layout.geometry.row_stride());
    pieces.push_back({layout.rows.offset + row * layout.geometry.row_stride(), bytes});
  }
  // What follows the rows moves with their end; where it stays, it keeps its bytes.
  Bytes behind;
  if (layout.rows != old.rows || changes.keys) {
    const ByteSpan keys = changes.keys ? ByteSpan(*changes.keys) : before.section(old.keys);
    behind.resize(layout.checksums.offset - layout.rows.end());
    std::copy(keys.begin(), keys.end(),
              behind.begin() + static_cast<std::ptrdiff_t>(layout.keys.offset - layout.rows.end()));
    pieces.push_back({layout.rows.end(), behind});
  }
  PIRX_ASSIGN(const Bytes checksums, checksums_of(NewFile(before.file, pieces), layout, before));
  pieces.push_back({layout.checksums.offset, checksums});

  Header header{layout, changes.version, content_identity(layout, checksums)};
  if (!layout.bucket) header.version.identity = header.content;
  std::vector<Section> extents = before.patched;
  for (const Piece& piece : pieces) extents.push_back({piece.offset, piece.bytes.size()});
  extents = unite(std::move(extents), layout.file_bytes());
  PIRX_TRY(write_file(before, lock, encode_header(header), NewFile(before.file, std::move(pieces)), extents,
                      progress));
  return header.version;
}

Result<std::optional<Delta>> Delta::open(const std::filesystem::path& path) {
  const auto damaged = [&path](std::string message) {
    return fail(ErrorCode::kDataLoss, printable(path.native()) + ": " + std::move(message));
  };
  PIRX_ASSIGN(const bool there, is_there(path));
  if (!there) return std::optional<Delta>();
  const auto found = open_for_reading(path, true);
  if (!found) {  // or it is part of the file since
    PIRX_ASSIGN(const bool still_there, is_there(path));
    return still_there ? Result<std::optional<Delta>>(tl::unexpected(found.error())) : std::optional<Delta>();
  }
  const OpenedFile& opened = *found;
  if (opened.bytes() < kTableOffset + sizeof(Digest)) return damaged("no pirx delta, or truncated");
  PIRX_ASSIGN(FileMap map, FileMap::create(opened.bytes(), PROT_READ, MAP_PRIVATE, opened.fd.get(), path));
  const ByteSpan file = map.bytes();
  auto guard = std::make_unique<MapGuard>(file, opened.status);
  if (as_text(file.first(kDeltaMagic.size())) != kDeltaMagic) return damaged("not a pirx delta");
  if (const auto version = load_le<std::uint32_t>(&file[kDeltaMagic.size()]); version != kDeltaVersion) {
    return damaged("delta version " + std::to_string(version) +
                   " is not known to this pirx: use the pirx that wrote it, and `pirx db compact`");
  }
  if (sha256(file.first(file.size() - sizeof(Digest))) != seal_of(file)) {
    return damaged("the delta is damaged or truncated: its checksum does not match");
  }
  auto header = decode_header(file.subspan(kPageBytes, kPageBytes));
  if (!header) return damaged(header.error().message());
  Delta delta(std::move(map), std::move(guard), *header);
  if (auto parsed = delta.parse(); !parsed) return damaged(parsed.error().message());
  return std::optional<Delta>(std::move(delta));
}

Result<void> Delta::parse() {
  const auto impossible = [](const char* what) {
    return fail(ErrorCode::kDataLoss, std::string("the delta is impossible: ") + what);
  };
  Reader reader(file().first(kPageBytes), "delta");
  PIRX_TRY(reader.get_bytes(kDeltaMagic.size() + sizeof kDeltaVersion));
  PIRX_ASSIGN(const auto page_bytes, reader.get<std::uint32_t>());
  if (page_bytes != kPageBytes) return impossible("it names a wrong size of its header");
  PIRX_TRY(reader.read(base_));
  PIRX_ASSIGN(const auto count, reader.get<std::uint64_t>());
  PIRX_ASSIGN(const auto file_bytes, reader.get<std::uint64_t>());
  PIRX_ASSIGN(const ByteSpan rest, reader.get_bytes(reader.remaining()));
  if (!all_zero(rest)) return impossible("bytes behind its fields are not zero");
  const std::uint64_t room = file().size() - kTableOffset - sizeof(Digest);
  if (file_bytes != file().size() || count > room / kExtentBytes) return impossible("its length");
  data_ = kTableOffset + count * kExtentBytes;
  std::uint64_t left = room - count * kExtentBytes, end = kPageBytes;
  Reader table(file().subspan(kTableOffset, count * kExtentBytes), "delta");
  for (std::uint64_t i = 0; i < count; ++i) {
    Section extent;
    PIRX_ASSIGN(extent.offset, table.get<std::uint64_t>());
    PIRX_ASSIGN(extent.length, table.get<std::uint64_t>());
    const std::uint64_t limit = header_.layout.file_bytes();
    if (extent.offset < end || extent.offset > limit || extent.length > limit - extent.offset ||
        extent.length == 0 || extent.length > left) {
      return impossible("its changes overlap, are empty or lie outside of the file");
    }
    end = extent.end();
    left -= extent.length;
    extents_.push_back(extent);
  }
  if (left != 0) return impossible("bytes behind its changes");
  return {};
}

void Delta::apply(MutableByteSpan target) const {
  std::copy_n(&file()[kPageBytes], kPageBytes, target.data());
  const std::byte* from = file().data() + data_;
  for (const Section& extent : extents_) {
    std::memcpy(&target[extent.offset], from, extent.length);
    from += extent.length;
  }
}

}  // namespace pirx::database
