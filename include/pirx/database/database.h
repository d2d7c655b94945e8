// SPDX-License-Identifier: Apache-2.0
// Database: an immutable, memory-mapped file of records (docs/database_format.md).
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string_view>

#include "pirx/base/field.h"
#include "pirx/base/matrix.h"
#include "pirx/database/geometry.h"

namespace pirx::database {

/// How a bucket was encoded from a plain database (batchcodes::Encoding). Row g of the bucket is the value at
/// `coordinate` of the polynomial through rows ug .. ug+u-1 of the database and tau random rows. Its words
/// are words of `field`.
struct BucketInfo {
  FieldTag field;
  unsigned arity = 1;            ///< u
  unsigned independence = 0;     ///< tau
  std::uint64_t modulus = 1;     ///< M
  std::uint64_t coordinate = 0;  ///< x_j, of the server that holds the bucket
  friend bool operator==(const BucketInfo&, const BucketInfo&) = default;
  /// The rows of the bucket: ceil(plain_rows / u).
  std::uint64_t rows(std::uint64_t plain_rows) const noexcept { return div_up(plain_rows, arity); }
};

/// A function that is called now and then with the bytes done and the bytes in all (0: unknown).
using Progress = std::function<void(std::uint64_t done, std::uint64_t total)>;

/// An opened database, or one server's bucket of an encoded one. Immutable and thread-safe.
class Database {
 public:
  /// Opens the file and maps it, with the changes of the delta beside it (pirx/database/update.h). Checks the
  /// header with its checksum, the geometry and the exact length of the file. Unavailable: it cannot be
  /// opened. DataLoss: it is no pirx database, has another format version, or is truncated or corrupt.
  static Result<std::shared_ptr<const Database>> open(const std::filesystem::path& path);
  /// The same, or null if there is no file at the path.
  static Result<std::shared_ptr<const Database>> open_if_there(const std::filesystem::path& path);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  /// The geometry of the plain database, also if this is a bucket of it.
  const Geometry& geometry() const noexcept;
  /// The version that clients and all servers agree on. All buckets of a database have the version of the
  /// plain database; but a set of buckets with random rows (tau > 0) has an identity of its own, drawn at
  /// random, because its buckets fit no other set's.
  const Version& version() const noexcept;
  /// The identity of the content of this file, with the epoch. A file that is prepared from its rows names
  /// this one. The same as version() in a plain database.
  Version content_version() const noexcept;
  /// How this bucket was encoded. Null: this is a plain database.
  const BucketInfo* bucket() const noexcept;
  bool has_keys() const noexcept;
  std::uint64_t key_index_bytes() const noexcept;  ///< of the index of keys in the file; 0: it has none
  /// The bytes of the database as one file, with its changes included.
  std::uint64_t file_bytes() const noexcept;
  /// The bytes of the file of changes (FILE.delta) beside it. 0: there is none.
  std::uint64_t delta_bytes() const noexcept;

  /// All rows, row_stride() bytes apart: geometry().rows() of them, or in a bucket
  /// bucket()->rows(geometry().rows()). Bytes after row_bytes() are zero, and in a bucket those after the
  /// last word.
  matrix::ConstView<std::byte> rows() const noexcept;

  /// The data of the record at a position, borrowed from the map. OutOfRange: there is no such record.
  /// DataLoss: it is damaged. InvalidArgument: this is a bucket, whose rows mix several records.
  Result<ByteSpan> record(std::uint64_t position) const;
  /// Checks the checksums of the row that holds this record: without digests, record() notices no wrong bit.
  /// OutOfRange: there is no such record. DataLoss: it is damaged.
  Result<void> check_record(std::uint64_t position) const;
  /// Checks the checksums of the index of keys, which find() and for_each_key() do not. DataLoss: it is
  /// damaged.
  Result<void> check_keys() const;
  /// The position of the record with that key, the lowest one if the key is repeated. Nothing: there is no
  /// such key; a bucket has none. DataLoss: the index of keys is damaged.
  Result<std::optional<std::uint64_t>> find(std::string_view key) const;
  /// The record of that key in a keyed database. Nothing: there is none. InvalidArgument: the database is not
  /// keyed, or a bucket. DataLoss: the record is damaged. Reads the file directly; nothing is kept private.
  Result<std::optional<Bytes>> lookup(std::string_view key) const;
  /// Calls `visit(key, position)` for all keys in their order, until it returns false.
  Result<void> for_each_key(
      const std::function<bool(std::string_view key, std::uint64_t position)>& visit) const;

  /// Reads every byte of the file and checks all checksums, the padding and the identity. DataLoss: the
  /// message names what is wrong.
  Result<void> verify(const Progress& progress = {}) const;

 public:
  struct Mapping;  ///< private to this module
  const Mapping& mapping() const noexcept { return *mapping_; }

 private:
  explicit Database(std::unique_ptr<Mapping> mapping);
  std::unique_ptr<Mapping> mapping_;
};

}  // namespace pirx::database
