// The delta file beside a database. It holds what updates changed, and open() puts it over the file
// (docs/database_format.md).
#pragma once

#include <sys/stat.h>

#include <map>
#include <optional>

#include "layout.h"
#include "src/base/file.h"

namespace pirx::database {

inline constexpr std::string_view kDeltaMagic = "PIRXDD\r\n";
inline constexpr std::uint32_t kDeltaVersion = 1;

/// Where the delta of a database lies: beside the file, behind a link.
std::filesystem::path delta_path(const std::filesystem::path& database);

/// Removes the delta of a file that was just written anew, whose changes it does not hold.
void remove_delta(const std::filesystem::path& database) noexcept;

/// A delta file, mapped and checked.
class Delta {
 public:
  /// Nothing when there is no such file. DataLoss: foreign, another version, truncated or damaged.
  static Result<std::optional<Delta>> open(const std::filesystem::path& path);
  Delta(Delta&& other) noexcept;
  Delta& operator=(Delta&&) = delete;
  ~Delta();

  const Header& header() const noexcept { return header_; }  ///< of the database as it is now
  const Digest& base() const noexcept { return base_; }      ///< checksum of the base's header page
  const std::vector<Section>& extents() const noexcept { return extents_; }
  std::uint64_t bytes() const noexcept { return map_.size(); }
  /// Writes the header page and all extents into `file`, which has header().layout.file_bytes() bytes.
  void apply(MutableByteSpan file) const;

 private:
  Delta(ByteSpan map, Header header) : map_(map), header_(std::move(header)) {}
  Result<void> parse();

  ByteSpan map_;
  Header header_;
  Digest base_{};
  std::vector<Section> extents_;
  std::uint64_t data_ = 0;  ///< where the extents' bytes begin
};

/// What the next epoch of a database has that this one has not.
struct RowChanges {
  Geometry geometry;                    ///< differs in the number of records only
  Version version;                      ///< of the buckets; of a plain database only the epoch counts
  std::map<std::uint64_t, Bytes> rows;  ///< row_stride() bytes each; every row that is new is among them
  std::optional<Bytes> keys;            ///< the key section, when it changes
};

/// Held by who builds, updates or compacts a database file, from before the file is read until the new one is
/// in place, so that no two do at once.
class UpdateLock {
 public:
  /// Unavailable when another process is at it.
  static Result<UpdateLock> take(const std::filesystem::path& path);
  /// Of a file that need not be there: then there is nothing to lock, and over() says so.
  static Result<UpdateLock> take_if_there(const std::filesystem::path& path);
  TemporaryFile::Over over() const noexcept {
    return fd_ ? TemporaryFile::Over::kAnything : TemporaryFile::Over::kNothing;
  }
  /// Unavailable when the file or its delta was replaced or written to all the same, by who takes no locks.
  Result<void> check() const;

 private:
  struct Seen {
    struct stat file, delta;  ///< st_mode is 0 where there is none
  };
  static Seen look(const std::filesystem::path& path);
  UpdateLock(std::filesystem::path path, Fd fd, const Seen& before)
      : path_(std::move(path)), fd_(std::move(fd)), before_(before) {}
  std::filesystem::path path_;
  Fd fd_;
  Seen before_;  ///< when it was locked
};

/// Writes the delta that turns the file on disk, of which `before` is the present state, into the next epoch:
/// TARGET.delta, written beside it, synced and renamed. Reads the chunks (1 MiB) that change, writes what has
/// changed since the file was built and 32 bytes for each MiB of it. `lock` is that of the file. Gives the
/// new content's version. Progress tells bytes written, and is called between all steps.
Result<Version> write_delta(const Database& before, const UpdateLock& lock, const RowChanges& changes,
                            const Progress& progress);

}  // namespace pirx::database
