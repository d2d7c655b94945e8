// SPDX-License-Identifier: Apache-2.0
// Layout: where the parts of a database file lie, and the header page that says so
// (docs/database_format.md). Every offset follows from the geometry and the length of the key index; a
// header with other offsets is refused.
#pragma once

#include <limits>

#include "pirx/database/database.h"

namespace pirx::database {

inline constexpr std::uint64_t kPageBytes = 4096;  ///< the header's size and the alignment of every section
inline constexpr std::uint64_t kChunkBytes = std::uint64_t{1} << 20;  ///< content bytes under one checksum
/// The length of a variable record is stored in four bytes.
inline constexpr std::uint64_t kMaxStoredLength = std::numeric_limits<std::uint32_t>::max();
inline constexpr std::uint32_t kFormatVersion = 2;
inline constexpr std::string_view kMagic = "PIRXDB\r\n";

struct Section {
  std::uint64_t offset = 0, length = 0;
  friend bool operator==(const Section&, const Section&) = default;
  std::uint64_t end() const noexcept { return offset + length; }
};

struct Layout {
  Geometry geometry;
  std::optional<BucketInfo> bucket;
  Section rows, keys, checksums;

  /// `key_index_bytes` is 0 in a database without keys. InvalidArgument when it is impossible for that
  /// geometry, or the bucket cannot be one.
  static Result<Layout> plan(const Geometry& geometry, std::uint64_t key_index_bytes,
                             const std::optional<BucketInfo>& bucket = std::nullopt);

  /// Rows that the file has: the geometry's, or the bucket's.
  std::uint64_t file_rows() const noexcept {
    return bucket ? bucket->rows(geometry.rows()) : geometry.rows();
  }

  std::uint64_t file_bytes() const noexcept { return checksums.end(); }
  /// Bytes under checksums: from the end of the header to the checksum section, padding included.
  std::uint64_t content_bytes() const noexcept { return checksums.offset - kPageBytes; }
  std::uint64_t chunks() const noexcept { return checksums.length / sizeof(Digest); }
};

/// Identity of the content: `checksums` is the whole checksum section.
Digest content_identity(const Layout& layout, ByteSpan checksums);

struct Header {
  Layout layout;
  Version version;   ///< what clients know: Database::version()
  Digest content{};  ///< of this file; version.identity unless it is a bucket
};

/// kPageBytes bytes: what was written, zeros, and the SHA-256 of both.
Bytes sealed_page(Writer page);
/// Whether a page of kPageBytes bytes is as sealed_page() made it.
bool is_sealed(ByteSpan page);
/// The page's SHA-256, which stands for all of it.
Digest seal_of(ByteSpan page);

/// The header page.
Bytes encode_header(const Header& header);
/// Of a plain database.
inline Bytes encode_header(const Layout& layout, const Version& version) {
  return encode_header(Header{layout, version, version.identity});
}
/// `page` has kPageBytes bytes. DataLoss names the cause: foreign, another version, damaged, impossible.
Result<Header> decode_header(ByteSpan page);

}  // namespace pirx::database
