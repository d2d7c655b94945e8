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

struct OpenOptions {
  bool verify_content = false;  ///< also read everything and check every chunk (as `pirx db verify`)
};

/// How a bucket was encoded from a plain database: row g is the value at `coordinate` of the polynomial
/// through rows ug .. ug+u-1 of it and tau random rows (batchcodes::Encoding). Rows are words of `field`.
struct BucketInfo {
  FieldTag field;
  unsigned arity = 1;            ///< u
  unsigned independence = 0;     ///< tau
  std::uint64_t modulus = 1;     ///< M
  std::uint64_t coordinate = 0;  ///< x_j of the server that the bucket is for
  friend bool operator==(const BucketInfo&, const BucketInfo&) = default;
  /// R = ceil(plain_rows / u).
  std::uint64_t rows(std::uint64_t plain_rows) const noexcept {
    return plain_rows / arity + (plain_rows % arity != 0);
  }
};

/// Called now and then with bytes done and bytes in total (0: unknown).
using Progress = std::function<void(std::uint64_t done, std::uint64_t total)>;

/// An opened database, or one server's bucket of an encoded one. Immutable, thread-safe, cheap to share
/// through shared_ptr.
class Database {
 public:
  /// Checks the header, its checksum, the geometry and the file's exact length, then maps the file, with the
  /// changes of the delta beside it (pirx/database/update.h) laid over it.
  /// Unavailable: cannot be opened. DataLoss: not a pirx database, another version, truncated, or corrupt.
  static Result<std::shared_ptr<const Database>> open(const std::filesystem::path& path,
                                                      const OpenOptions& options = {});
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  /// Of the plain database, also in a bucket of it.
  const Geometry& geometry() const noexcept;
  /// What clients and all servers of the database agree on: the plain database's in all buckets of it, and
  /// one drawn at random for a set of buckets with noise (tau > 0), whose shares fit no other set's.
  const Version& version() const noexcept;
  /// Of the content of this very file, with the epoch: what is derived from its rows is bound to this. Equal
  /// to version() in a plain database.
  Version content_version() const noexcept;
  /// How this bucket was encoded; null in a plain database.
  const BucketInfo* bucket() const noexcept;
  bool has_keys() const noexcept;
  /// Of the database as one file, its changes folded in.
  std::uint64_t file_bytes() const noexcept;
  /// Of the file of changes (FILE.delta) beside it; 0 without one.
  std::uint64_t delta_bytes() const noexcept;

  /// All rows: geometry().rows() x row_stride() bytes; what lies behind row_bytes() is zero. In a bucket
  /// bucket()->rows(geometry().rows()) rows of the same stride; what lies behind the last word is zero.
  matrix::ConstView<std::byte> rows() const noexcept;

  /// The data of a record, borrowed from the map. OutOfRange or DataLoss; InvalidArgument in a bucket, whose
  /// rows are shares of several records.
  Result<ByteSpan> record(std::uint64_t position) const;
  /// Position of the record with that key (the lowest when keys repeat); nothing when absent. DataLoss when
  /// the index is damaged. A bucket has no keys.
  Result<std::optional<std::uint64_t>> find(std::string_view key) const;
  /// The record of that key in a keyed database; nothing when absent. InvalidArgument in any other, and in a
  /// bucket. DataLoss. Nothing private about it: the file is at hand.
  Result<std::optional<Bytes>> lookup(std::string_view key) const;
  /// Calls `visit(key, position)` in key order until it returns false.
  Result<void> for_each_key(
      const std::function<bool(std::string_view key, std::uint64_t position)>& visit) const;

  /// Reads every byte of the file and checks every checksum, padding and the identity. DataLoss names what is
  /// wrong.
  Result<void> verify(const Progress& progress = {}) const;

 public:
  struct Mapping;  ///< private to this module
  const Mapping& mapping() const noexcept { return *mapping_; }

 private:
  explicit Database(std::unique_ptr<Mapping> mapping);
  std::unique_ptr<Mapping> mapping_;
};

}  // namespace pirx::database
