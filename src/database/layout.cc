// Plans the sections of a file, and encodes and decodes the header page.
#include "layout.h"

#include <algorithm>

#include "key_index.h"
#include "pirx/base/buffer.h"

namespace pirx::database {
namespace {

constexpr std::uint64_t kMaxKeyIndexBytes = std::uint64_t{1} << 61;

void put_section(Writer& writer, const Section& section) {
  writer.put(section.offset);
  writer.put(section.length);
}

Result<Section> get_section(Reader& reader) {
  Section section;
  PIRX_ASSIGN(section.offset, reader.get<std::uint64_t>());
  PIRX_ASSIGN(section.length, reader.get<std::uint64_t>());
  return section;
}

}  // namespace

Result<Layout> Layout::plan(const Geometry& geometry, std::uint64_t key_index_bytes) {
  if (key_index_bytes != 0 &&
      (key_index_bytes < key_index_size(geometry.records(), 0) || key_index_bytes > kMaxKeyIndexBytes)) {
    return fail(ErrorCode::kInvalidArgument, "a key index of " + std::to_string(key_index_bytes) +
                                                 " bytes cannot hold " + std::to_string(geometry.records()) +
                                                 " keys");
  }
  Layout layout{geometry, {}, {}, {}};
  layout.rows = {kPageBytes, geometry.data_bytes()};
  layout.keys = {round_up(layout.rows.end(), kPageBytes), key_index_bytes};
  layout.checksums.offset = round_up(layout.keys.end(), kPageBytes);
  layout.checksums.length = round_up(layout.content_bytes(), kChunkBytes) / kChunkBytes * sizeof(Digest);
  return layout;
}

Digest content_identity(const Layout& layout, ByteSpan checksums) {
  Writer writer;
  layout.geometry.encode(writer);
  writer.put(layout.keys.length);
  Sha256 hash;
  hash.update(as_bytes("pirx database identity v1"));
  hash.update(std::move(writer).take());
  hash.update(checksums);
  return std::move(hash).finish();
}

Bytes encode_header(const Layout& layout, const Version& version) {
  Writer writer(kPageBytes);
  writer.put_bytes(as_bytes(kMagic));
  writer.put(kFormatVersion);
  writer.put(static_cast<std::uint32_t>(kPageBytes));
  layout.geometry.encode(writer);
  writer.put_bytes(version.identity);
  writer.put(version.epoch);
  put_section(writer, layout.rows);
  put_section(writer, layout.keys);
  put_section(writer, layout.checksums);
  writer.put(layout.file_bytes());
  Bytes page = std::move(writer).take();
  page.resize(kPageBytes - sizeof(Digest));
  const Digest digest = sha256(page);
  page.insert(page.end(), digest.begin(), digest.end());
  return page;
}

Result<Header> decode_header(ByteSpan page) {
  PIRX_CHECK(page.size() == kPageBytes);
  const auto damaged = [](std::string message) { return fail(ErrorCode::kDataLoss, std::move(message)); };
  Reader reader(page.first(kPageBytes - sizeof(Digest)), "database header");
  PIRX_ASSIGN(const ByteSpan magic, reader.get_bytes(kMagic.size()));
  if (as_text(magic) != kMagic) return damaged("not a pirx database");
  PIRX_ASSIGN(const auto format, reader.get<std::uint32_t>());
  if (format != kFormatVersion) {
    return damaged("format version " + std::to_string(format) +
                   " is not known to this pirx, which reads version " + std::to_string(kFormatVersion) +
                   ": build the database again or use the pirx that built it");
  }
  const Digest digest = sha256(page.first(kPageBytes - sizeof(Digest)));
  if (!std::equal(digest.begin(), digest.end(), page.end() - sizeof(Digest))) {
    return damaged("the header is damaged: its checksum does not match");
  }
  PIRX_ASSIGN(const auto header_bytes, reader.get<std::uint32_t>());
  if (header_bytes != kPageBytes) return damaged("the header names a wrong size of its own");
  PIRX_ASSIGN(const Geometry geometry, Geometry::decode(reader));
  Version version;
  PIRX_ASSIGN(const ByteSpan identity, reader.get_bytes(version.identity.size()));
  std::copy(identity.begin(), identity.end(), version.identity.begin());
  PIRX_ASSIGN(version.epoch, reader.get<std::uint64_t>());
  PIRX_ASSIGN(const Section rows, get_section(reader));
  PIRX_ASSIGN(const Section keys, get_section(reader));
  PIRX_ASSIGN(const Section checksums, get_section(reader));
  PIRX_ASSIGN(const auto file_bytes, reader.get<std::uint64_t>());
  auto layout = Layout::plan(geometry, keys.length);
  if (!layout) return damaged("the header is impossible: " + layout.error().message());
  if (rows != layout->rows || keys != layout->keys || checksums != layout->checksums ||
      file_bytes != layout->file_bytes()) {
    return damaged("the header is impossible: its section table does not follow from its geometry");
  }
  PIRX_ASSIGN(const ByteSpan rest, reader.get_bytes(reader.remaining()));
  if (std::any_of(rest.begin(), rest.end(), [](std::byte b) { return b != std::byte{0}; })) {
    return damaged("the header is impossible: bytes behind its fields are not zero");
  }
  return Header{*layout, version};
}

}  // namespace pirx::database
