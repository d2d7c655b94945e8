// SPDX-License-Identifier: Apache-2.0
// Geometry: how records lie in the rows of a database. Clients and servers both know it
// (docs/database_format.md).
#pragma once

#include <optional>
#include <string>

#include "pirx/base/buffer.h"
#include "pirx/base/sha256.h"
#include "pirx/base/wire.h"

namespace pirx::database {

/// Names a database and its content. The identity is a SHA-256 over geometry, records and keys, without the
/// epoch.
struct Version {
  Digest identity{};
  std::uint64_t epoch = 0;
  friend bool operator==(const Version&, const Version&) = default;
  /// Identity and epoch, 40 bytes.
  void encode(Writer& writer) const;
  static Result<Version> decode(Reader& reader);
};

inline constexpr std::size_t kLengthBytes = 4;  ///< the stored length of a record, if lengths vary
/// a check of a record, bound to its position, if digests are kept
inline constexpr std::size_t kDigestBytes = 16;

/// Where a record lies: the row that a query selects, and the byte offset of the record's slot in that row.
struct Location {
  std::uint64_t row = 0;
  std::uint64_t offset = 0;
};

/// Makes a database keyed: a binary fuse filter (Graf and Lemire 2022) over its keys. A key's record is the
/// sum of three slots, which KeyFilter finds (docs/database_format.md).
struct FilterSpec {
  std::uint64_t segment_length = 0;  ///< rows of a segment, below 2^32
  /// The number of segments in which a key's first row can lie. The rows make up two segments more.
  std::uint64_t segments = 0;
  std::uint64_t tweak = 0;  ///< the number of the filter among those that the seed gives
  Digest seed{};            ///< public; computed from all keys
  friend bool operator==(const FilterSpec&, const FilterSpec&) = default;
};

/// n records in slots of equal size. A row holds records_per_row slots. A slot is
///
///   [length u32 if variable][digest 16 bytes if kept][data][zero padding up to slot_bytes]
///
/// In a keyed database such a value is the sum (XOR) of three slots of one column, and a slot alone means
/// nothing. A validated value.
class Geometry {
 public:
  struct Spec {
    std::uint64_t records = 0;
    std::uint64_t record_bytes = 0;  ///< the length of the longest record
    std::uint64_t records_per_row = 1;
    bool variable_length = true;  ///< false: every record has exactly record_bytes bytes
    bool digests = true;
    std::optional<FilterSpec> filter = {};  ///< if set, records are found by key, not by position
    friend bool operator==(const Spec&, const Spec&) = default;
  };
  /// The bytes of the encoding.
  static constexpr std::size_t kBytes = 88;
  /// InvalidArgument: no records, no bytes, no slots per row, more slots per row than records, or more than
  /// 2^56 bytes in all; if keyed: no digests, segments with no rows or too many, or fewer slots than records.
  static Result<Geometry> create(const Spec& spec);
  /// The slots per row that make query and reply together smallest, if an element takes one byte. The number
  /// of rows is then close to the bytes of a row.
  static std::uint64_t balanced_records_per_row(std::uint64_t records, std::uint64_t slot_bytes);

  const Spec& spec() const noexcept { return spec_; }
  std::uint64_t records() const noexcept { return spec_.records; }
  std::uint64_t record_bytes() const noexcept { return spec_.record_bytes; }
  bool keyed() const noexcept { return spec_.filter.has_value(); }
  std::uint64_t slot_bytes() const noexcept { return slot_bytes_; }
  std::uint64_t rows() const noexcept { return rows_; }
  /// The bytes of a row that hold slots.
  std::uint64_t row_bytes() const noexcept { return row_bytes_; }
  /// The bytes from one row to the next in the file: a multiple of 64, at least row_bytes() + 31. The rest is
  /// zero, so a row can be read as whole words of any field with words of at most 32 bytes.
  std::uint64_t row_stride() const noexcept { return row_stride_; }
  std::uint64_t data_bytes() const noexcept { return rows_ * row_stride_; }
  /// Where the record lies. OutOfRange: there is no such record; the message gives the number of records,
  /// never the index. InvalidArgument: the database is keyed. Without an error, no branch and no address
  /// depends on `record`.
  Result<Location> locate(std::uint64_t record) const;
  /// The number of words of `word_bytes` bytes that cover a row.
  std::uint64_t words_per_row(std::size_t word_bytes) const noexcept {
    return div_up(row_bytes_, word_bytes);
  }

  /// Fills the slot of `record` from its data. On input `slot` has slot_bytes() bytes, `data` at most
  /// record_bytes().
  void fill_slot(std::uint64_t record, ByteSpan data, MutableByteSpan slot) const;
  /// The record's data inside its slot, borrowed. DataLoss: the length, padding or digest is wrong.
  Result<ByteSpan> read_slot(std::uint64_t record, ByteSpan slot) const;

  void encode(Writer& writer) const;
  static Result<Geometry> decode(Reader& reader);
  friend bool operator==(const Geometry& a, const Geometry& b) { return a.spec_ == b.spec_; }

 private:
  explicit Geometry(const Spec& spec);
  Spec spec_;
  std::uint64_t slot_bytes_ = 0, rows_ = 0, row_bytes_ = 0, row_stride_ = 0;
};

}  // namespace pirx::database
