// Geometry: how records lie in the rows of a database, known to clients and servers alike
// (docs/database_format.md).
#pragma once

#include <optional>
#include <string>

#include "pirx/base/sha256.h"
#include "pirx/base/wire.h"

namespace pirx::database {

/// Which database, which content: the SHA-256 identity covers geometry, records and keys, not the epoch.
struct Version {
  Digest identity{};
  std::uint64_t epoch = 0;
  friend bool operator==(const Version&, const Version&) = default;
};

inline constexpr std::size_t kLengthBytes = 4;   ///< stored length of a record, when lengths vary
inline constexpr std::size_t kDigestBytes = 16;  ///< position-bound check of a record, when digests are kept

/// Where a record lies: row (the PIR block that a query selects) and byte offset of its slot in that row.
struct Location {
  std::uint64_t row = 0;
  std::uint64_t offset = 0;
};

/// What makes a database keyed: a binary fuse filter (Graf and Lemire 2022) over its keys. A key's record is
/// the sum of three slots, which KeyFilter finds (docs/database_format.md).
struct FilterSpec {
  std::uint64_t segment_length = 0;  ///< rows of a segment, below 2^32
  std::uint64_t segments = 0;        ///< where a key's first row can lie; the rows have two segments more
  std::uint64_t tweak = 0;           ///< which of a seed's filters
  Digest seed{};                     ///< public, made from all keys
  friend bool operator==(const FilterSpec&, const FilterSpec&) = default;
};

/// n records in slots of equal size; a row holds records_per_row slots. A validated value.
/// A slot is [length u32 if variable][digest 16 bytes if kept][data][zero padding up to slot_bytes]. In a
/// keyed database such a value is the sum (XOR) of three slots of one column, and a slot alone means nothing.
class Geometry {
 public:
  struct Spec {
    std::uint64_t records = 0;
    std::uint64_t record_bytes = 0;  ///< longest record
    std::uint64_t records_per_row = 1;
    bool variable_length = true;  ///< false: every record has exactly record_bytes
    bool digests = true;
    std::optional<FilterSpec> filter = {};  ///< records are found by key, not by position
    friend bool operator==(const Spec&, const Spec&) = default;
  };
  /// Bytes of the encoding.
  static constexpr std::size_t kBytes = 88;
  /// InvalidArgument: no records, no bytes, no slots per row, more slots per row than records, a total over
  /// 2^56 bytes; keyed without digests, with segments of no or too many rows, or fewer slots than records.
  static Result<Geometry> create(const Spec& spec);
  /// Slots per row that make query and reply together smallest at one byte per element (rows ~ row bytes).
  static std::uint64_t balanced_records_per_row(std::uint64_t records, std::uint64_t slot_bytes);

  const Spec& spec() const noexcept { return spec_; }
  std::uint64_t records() const noexcept { return spec_.records; }
  std::uint64_t record_bytes() const noexcept { return spec_.record_bytes; }
  bool keyed() const noexcept { return spec_.filter.has_value(); }
  std::uint64_t slot_bytes() const noexcept { return slot_bytes_; }
  std::uint64_t rows() const noexcept { return rows_; }
  /// Bytes of a row that hold slots.
  std::uint64_t row_bytes() const noexcept { return row_bytes_; }
  /// Bytes from one row to the next in the file: a multiple of 64, at least row_bytes() + 31. The rest is
  /// zero, so a row may be read as whole words of any field whose word has at most 32 bytes.
  std::uint64_t row_stride() const noexcept { return row_stride_; }
  std::uint64_t data_bytes() const noexcept { return rows_ * row_stride_; }
  /// OutOfRange when there is no such record. The message names the number of records, never the index.
  /// InvalidArgument when the database is keyed. No branch and no address depends on `record`, but for
  /// errors.
  Result<Location> locate(std::uint64_t record) const;
  /// Words of `word_bytes` that cover a row.
  std::uint64_t words_per_row(std::size_t word_bytes) const noexcept {
    return (row_bytes_ + word_bytes - 1) / word_bytes;
  }

  /// The slot of `record`, filled from its data: `slot` has slot_bytes() bytes and `data` at most
  /// record_bytes().
  void fill_slot(std::uint64_t record, ByteSpan data, MutableByteSpan slot) const;
  /// The record's data inside its slot, borrowed. DataLoss when length, padding or digest are wrong.
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
