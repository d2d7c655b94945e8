// SPDX-License-Identifier: Apache-2.0
// Who may change a database file, and the file that a new one replaces.
#pragma once

#include <optional>

#include "pirx/base/sha256.h"
#include "src/base/file.h"

namespace pirx::database {

/// Where the delta of a database lies: beside the file, behind a link.
Result<std::filesystem::path> delta_path(const std::filesystem::path& database);

/// What is remembered of a database file or a delta, so that a later look can tell whether it is the same.
struct Seen {
  struct stat status {};  ///< all zero where there is none
  /// The SHA-256 with which a delta ends, or a database's header page. It covers all of the content; that of
  /// the header page does by the content's identity. Nothing: it cannot be read, or it is no such file.
  std::optional<Digest> seal = {};
};
/// Whether the file `fd`, of this status now, may have another content than the one that was seen. Where
/// st_ctim alone differs, as after a link, `touch -a` or chmod, the seal that ends at `end` decides.
bool written_since(const Seen& was, const struct stat& now, int fd, std::uint64_t end) noexcept;

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
  /// Unavailable when the file or its delta was replaced or written to all the same, by who takes no locks,
  /// or has another owner, group or mode than when it was locked.
  Result<void> check() const;
  /// delta_path() of the file.
  const std::filesystem::path& delta() const noexcept { return delta_; }

 private:
  UpdateLock(std::filesystem::path path, std::filesystem::path delta)
      : path_(std::move(path)), delta_(std::move(delta)) {}
  std::filesystem::path path_, delta_;
  Fd fd_;
  Seen file_before_, delta_before_;  ///< when it was locked
};

/// A temporary file that will become `target`, with the permissions of the file it replaces, and the lock of
/// that file: until it is in place or given up, nobody else builds, updates or compacts `target`.
class Replacement {
 public:
  /// The target is `name`, or the file to which that links. Removes what killed writers left. InvalidArgument
  /// or Unavailable when the target is nothing that may be replaced, where a delta of another database would
  /// lie, or beside a foreign file that has the name of its delta; Unavailable when another process changes
  /// it. A new file may be read by whoever may read `like`; if that is empty, by what the umask leaves.
  static Result<Replacement> begin(const std::filesystem::path& name, const std::filesystem::path& like = {});
  const TemporaryFile& file() const noexcept { return file_; }
  /// Unavailable when the target is not what it was at the beginning.
  Result<void> check() const { return lock_.check(); }
  /// Renames it over the target and removes the delta of what was there; the lock passes from the old file to
  /// the new one and is let go. Errors of check().
  Result<void> commit() &&;

 private:
  Replacement(std::filesystem::path target, UpdateLock lock, TemporaryFile file)
      : target_(std::move(target)), lock_(std::move(lock)), file_(std::move(file)) {}
  std::filesystem::path target_;
  UpdateLock lock_;
  TemporaryFile file_;
};

}  // namespace pirx::database
