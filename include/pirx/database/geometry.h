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

/// n records in slots of equal size; a row holds records_per_row slots. A validated value.
/// A slot is [length u32 if variable][digest 16 bytes if kept][data][zero padding up to slot_bytes].
class Geometry {
 public:
  struct Spec {
    std::uint64_t records = 0;
    std::uint64_t record_bytes = 0;  ///< longest record
    std::uint64_t records_per_row = 1;
    bool variable_length = true;  ///< false: every record has exactly record_bytes
    bool digests = true;
  };
  /// InvalidArgument: no records, no bytes, no slots per row, more slots per row than records, or a total
  /// over 2^56 bytes.
  static Result<Geometry> create(const Spec& spec);
  /// Slots per row that make query and reply together smallest at one byte per element (rows ~ row bytes).
  static std::uint64_t balanced_records_per_row(std::uint64_t records, std::uint64_t slot_bytes);

  const Spec& spec() const noexcept { return spec_; }
  std::uint64_t records() const noexcept { return spec_.records; }
  std::uint64_t record_bytes() const noexcept { return spec_.record_bytes; }
  std::uint64_t slot_bytes() const noexcept { return slot_bytes_; }
  std::uint64_t rows() const noexcept { return rows_; }
  /// Bytes of a row that hold slots.
  std::uint64_t row_bytes() const noexcept { return row_bytes_; }
  /// Bytes from one row to the next in the file: a multiple of 64, at least row_bytes() + 31. The rest is
  /// zero, so a row may be read as whole words of any field whose word has at most 32 bytes.
  std::uint64_t row_stride() const noexcept { return row_stride_; }
  std::uint64_t data_bytes() const noexcept { return rows_ * row_stride_; }
  /// OutOfRange when there is no such record. The message names the number of records, never the index.
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
  friend bool operator==(const Geometry& a, const Geometry& b);

 private:
  explicit Geometry(const Spec& spec);
  Spec spec_;
  std::uint64_t slot_bytes_ = 0, rows_ = 0, row_bytes_ = 0, row_stride_ = 0;
};

}  // namespace pirx::database
