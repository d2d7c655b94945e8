// SPDX-License-Identifier: Apache-2.0
// Plans the sections of a file, and encodes and decodes the header page.
#include "layout.h"

#include <algorithm>

#include "key_index.h"
#include "pirx/base/buffer.h"

namespace pirx::database {
namespace {

constexpr std::uint64_t kMaxKeyIndexBytes = std::uint64_t{1} << 61;
constexpr std::uint64_t kBucketSection = 1;  ///< of the parts that a header may have

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

void put_bucket(Writer& writer, const BucketInfo& bucket) {
  bucket.field.encode(writer);
  writer.put(std::uint32_t{bucket.arity});
  writer.put(std::uint32_t{bucket.independence});
  writer.put(bucket.modulus);
  writer.put(bucket.coordinate);
}

Result<BucketInfo> get_bucket(Reader& reader) {
  BucketInfo bucket;
  PIRX_ASSIGN(bucket.field, FieldTag::decode(reader));
  PIRX_ASSIGN(bucket.arity, reader.get<std::uint32_t>());
  PIRX_ASSIGN(bucket.independence, reader.get<std::uint32_t>());
  PIRX_ASSIGN(bucket.modulus, reader.get<std::uint64_t>());
  PIRX_ASSIGN(bucket.coordinate, reader.get<std::uint64_t>());
  return bucket;
}

/// What every encoding keeps; whether the field has the coordinate is for those who know fields.
Result<void> check_bucket(const BucketInfo& bucket, std::uint64_t key_index_bytes) {
  if (key_index_bytes != 0) return invalid("a bucket has no keys");
  // Clients ask up to 1024 servers (kMaxServers), and decode from more than u. The code's weights take time
  // in proportion to u^2.
  constexpr std::uint32_t kMostRows = 1023;
  if (bucket.arity == 0) return invalid("a bucket's row encodes at least one row");
  if (bucket.arity > kMostRows) {
    return invalid("a bucket's row encodes at most " + std::to_string(kMostRows) + " rows");
  }
  if (bucket.arity == 1 && bucket.independence == 0) {
    return invalid("a bucket with arity 1 and independence 0 would be the plain database");
  }
  if (bucket.modulus == 0 || bucket.modulus % bucket.arity != 0) {
    return invalid("a bucket wants a modulus that is a multiple of its arity");
  }
  return {};
}

}  // namespace

Result<Layout> Layout::plan(const Geometry& geometry, std::uint64_t key_index_bytes,
                            const std::optional<BucketInfo>& bucket) {
  if (bucket) PIRX_TRY(check_bucket(*bucket, key_index_bytes));
  if (key_index_bytes != 0 && geometry.keyed()) {
    return invalid("a keyed database has no key index: its rows are the index");
  }
  if (key_index_bytes != 0 &&
      (key_index_bytes < key_index_size(geometry.records(), 0) || key_index_bytes > kMaxKeyIndexBytes)) {
    return invalid("a key index of " + std::to_string(key_index_bytes) + " bytes cannot hold " +
                   std::to_string(geometry.records()) + " keys");
  }
  Layout layout{geometry, bucket, {}, {}, {}};
  layout.rows = {kPageBytes, layout.file_rows() * geometry.row_stride()};
  layout.keys = {round_up(layout.rows.end(), kPageBytes), key_index_bytes};
  layout.checksums.offset = round_up(layout.keys.end(), kPageBytes);
  layout.checksums.length = round_up(layout.content_bytes(), kChunkBytes) / kChunkBytes * sizeof(Digest);
  return layout;
}

Digest content_identity(const Layout& layout, ByteSpan checksums) {
  Writer writer;
  layout.geometry.encode(writer);
  writer.put(layout.keys.length);
  if (layout.bucket) put_bucket(writer, *layout.bucket);
  const char* const domain = layout.bucket ? "pirx bucket identity v1" : "pirx database identity v1";
  return sha256_of({as_bytes(domain), std::move(writer).take(), checksums});
}

Bytes sealed_page(Writer writer) {
  Bytes page = std::move(writer).take();
  PIRX_CHECK(page.size() <= kPageBytes - sizeof(Digest));
  page.resize(kPageBytes - sizeof(Digest));
  const Digest digest = sha256(page);
  page.insert(page.end(), digest.begin(), digest.end());
  return page;
}

Digest seal_of(ByteSpan page) {
  Digest seal;
  std::copy_n(page.end() - sizeof seal, sizeof seal, seal.begin());
  return seal;
}

bool is_sealed(ByteSpan page) { return sha256(page.first(kPageBytes - sizeof(Digest))) == seal_of(page); }

Bytes encode_header(const Header& header) {
  const Layout& layout = header.layout;
  PIRX_CHECK(layout.bucket || header.content == header.version.identity);
  Writer writer(kPageBytes);
  writer.put_bytes(as_bytes(kMagic));
  writer.put(kFormatVersion);
  writer.put(static_cast<std::uint32_t>(kPageBytes));
  layout.geometry.encode(writer);
  Version{header.content, header.version.epoch}.encode(writer);
  put_section(writer, layout.rows);
  put_section(writer, layout.keys);
  put_section(writer, layout.checksums);
  writer.put(layout.file_bytes());
  writer.put(std::uint64_t{layout.bucket ? kBucketSection : 0});
  if (layout.bucket) {
    put_bucket(writer, *layout.bucket);
    writer.put_bytes(header.version.identity);
  }
  return sealed_page(std::move(writer));
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
  if (!is_sealed(page)) return damaged("the header is damaged: its checksum does not match");
  PIRX_ASSIGN(const auto header_bytes, reader.get<std::uint32_t>());
  if (header_bytes != kPageBytes) return damaged("the header names a wrong size of its own");
  PIRX_ASSIGN(const Geometry geometry, Geometry::decode(reader));
  PIRX_ASSIGN(Version version, Version::decode(reader));
  const Digest content = version.identity;
  PIRX_ASSIGN(const Section rows, get_section(reader));
  PIRX_ASSIGN(const Section keys, get_section(reader));
  PIRX_ASSIGN(const Section checksums, get_section(reader));
  PIRX_ASSIGN(const auto file_bytes, reader.get<std::uint64_t>());
  PIRX_ASSIGN(const auto parts, reader.get<std::uint64_t>());
  if ((parts & ~kBucketSection) != 0) return damaged("the header has unknown parts: it is of a newer pirx");
  std::optional<BucketInfo> bucket;
  if (parts == kBucketSection) {
    auto read = get_bucket(reader);
    if (!read) return damaged("the header is impossible: " + read.error().message());
    bucket = *read;
    PIRX_TRY(reader.read(version.identity));
  }
  auto layout = Layout::plan(geometry, keys.length, bucket);
  if (!layout) return damaged("the header is impossible: " + layout.error().message());
  if (rows != layout->rows || keys != layout->keys || checksums != layout->checksums ||
      file_bytes != layout->file_bytes()) {
    return damaged("the header is impossible: its section table does not follow from its geometry");
  }
  PIRX_ASSIGN(const ByteSpan rest, reader.get_bytes(reader.remaining()));
  if (!all_zero(rest)) return damaged("the header is impossible: bytes behind its fields are not zero");
  return Header{*layout, version, content};
}

}  // namespace pirx::database
