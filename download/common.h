// SPDX-License-Identifier: Apache-2.0
// The trivial protocol: the client downloads the whole database and looks for itself. This file has the
// parameters and the pieces; docs/wire_format.md specifies the messages.
#pragma once

#include "pirx/database/geometry.h"
#include "src/protocol/message.h"

namespace pirx::download {

/// The bytes of a request: a header and the number of a piece.
inline constexpr std::size_t kRequestBytes = kHeaderBytes + sizeof(std::uint64_t);

/// What the client downloads, and in which pieces. Public. A validated value.
class Params {
 public:
  /// `key_index_bytes`: of the database file. InvalidArgument: impossible for that geometry.
  static Result<Params> create(const database::Geometry& geometry, const database::Version& version,
                               std::uint64_t key_index_bytes);

  const database::Geometry& geometry() const noexcept { return geometry_; }
  const database::Version& version() const noexcept { return version_; }
  std::uint64_t key_index_bytes() const noexcept { return key_index_bytes_; }

  /// Part of the database file.
  struct Piece {
    std::uint64_t offset = 0;
    std::size_t length = 0;
  };
  static constexpr std::size_t kPieceBytes = std::size_t{4}
                                             << 20;  ///< of every piece but the last of each section
  /// First those of the checksum section, then those of the chunks that hold rows.
  std::uint64_t pieces() const noexcept { return checksum_pieces() + row_pieces(); }
  std::uint64_t checksum_pieces() const noexcept;
  Piece piece(std::uint64_t i) const;
  std::uint64_t checksums_bytes() const noexcept { return checksums_.length; }
  std::uint64_t content_bytes() const noexcept { return content_.length; }

  /// The identity that the checksum section gives.
  Digest identity(ByteSpan checksums) const;
  /// DataLoss: a checksum is not that of its MiB of `content`.
  Result<void> check(ByteSpan checksums, ByteSpan content) const;

  /// The parameters message, and back. DataLoss: it is malformed. InvalidArgument: another protocol or
  /// version, or what create() refuses.
  Bytes encode() const;
  static Result<Params> decode(ByteSpan bytes);
  /// SHA-256 of the parameters message; every other message carries it.
  const Digest& digest() const noexcept { return digest_; }

 private:
  Params(const database::Geometry& geometry, const database::Version& version, std::uint64_t key_index_bytes)
      : geometry_(geometry), version_(version), key_index_bytes_(key_index_bytes) {}
  struct Range {
    std::uint64_t offset = 0, length = 0;
  };
  std::uint64_t row_pieces() const noexcept;
  database::Geometry geometry_;
  database::Version version_;
  std::uint64_t key_index_bytes_;
  Range checksums_, content_;
  Digest digest_{};
};

}  // namespace pirx::download
