// Database: an immutable, memory-mapped file of records (docs/database_format.md).
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string_view>

#include "pirx/database/geometry.h"
#include "pirx/matrix/matrix.h"

namespace pirx::database {

struct OpenOptions {
  bool verify_content = false;  ///< also read everything and check every chunk (as `pirx db verify`)
};

/// Called now and then with bytes done and bytes in total (0: unknown).
using Progress = std::function<void(std::uint64_t done, std::uint64_t total)>;

/// An opened database. Immutable, thread-safe, cheap to share through shared_ptr.
class Database {
 public:
  /// Checks the header, its checksum, the geometry and the file's exact length, then maps the file.
  /// Unavailable: cannot be opened. DataLoss: not a pirx database, another version, truncated, or corrupt.
  static Result<std::shared_ptr<const Database>> open(const std::filesystem::path& path,
                                                      const OpenOptions& options = {});
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  const Geometry& geometry() const noexcept;
  const Version& version() const noexcept;
  bool has_keys() const noexcept;
  std::uint64_t file_bytes() const noexcept;

  /// All rows: geometry().rows() x row_stride() bytes; what lies behind row_bytes() is zero.
  matrix::ConstView<std::byte> rows() const noexcept;

  /// The data of a record, borrowed from the map. OutOfRange or DataLoss.
  Result<ByteSpan> record(std::uint64_t index) const;
  /// Position of the record with that key (the lowest when keys repeat); nothing when absent. DataLoss when
  /// the index is damaged.
  Result<std::optional<std::uint64_t>> find(std::string_view key) const;
  /// Calls `visit(key, position)` in key order until it returns false.
  Result<void> for_each_key(
      const std::function<bool(std::string_view key, std::uint64_t position)>& visit) const;

  /// Reads every byte of the file and checks every checksum, padding and the identity. DataLoss names what is
  /// wrong.
  Result<void> verify(const Progress& progress = {}) const;

 private:
  struct Mapping;
  explicit Database(std::unique_ptr<Mapping> mapping);
  std::unique_ptr<Mapping> mapping_;
};

}  // namespace pirx::database
