// ContentWriter: writes the content of every database file. Rows, key index and padding go out in order.
// The checksums of the chunks are computed on the way and written last.
#pragma once

#include "delta.h"

namespace pirx::database {

/// A temporary file that will become `target`, with the permissions of the file it replaces, and the lock of
/// that file: until it is in place or given up, nobody else builds, updates or compacts `target`.
class Replacement {
 public:
  /// Removes what killed writers left. InvalidArgument or Unavailable when `target` is nothing that may be
  /// replaced; Unavailable when another process changes it.
  static Result<Replacement> begin(const std::filesystem::path& target);
  const TemporaryFile& file() const noexcept { return file_; }
  /// Renames it over the target and removes the delta of what was there; the lock passes from the old file to
  /// the new one and is let go. Unavailable when the target is not what it was at the beginning.
  Result<void> commit() &&;

 private:
  Replacement(std::filesystem::path target, UpdateLock lock, TemporaryFile file)
      : target_(std::move(target)), lock_(std::move(lock)), file_(std::move(file)) {}
  std::filesystem::path target_;
  UpdateLock lock_;
  TemporaryFile file_;
};

/// Writes the content of a file from kPageBytes on, chunk by chunk, and keeps the chunks' checksums. File,
/// layout and progress stay where they are while it lives.
class ContentWriter {
 public:
  ContentWriter(const TemporaryFile& file, const Layout& layout, const Progress& progress)
      : file_(file), layout_(layout), progress_(progress), chunk_(kChunkBytes) {}

  Result<void> append(ByteSpan bytes);
  template <class T>
  Result<void> put(T value) {
    return append(std::as_bytes(std::span(&value, 1)));
  }
  /// Zeros up to `offset` of the file.
  Result<void> pad_to(std::uint64_t offset);
  std::uint64_t at() const noexcept { return written_ + used_; }
  /// Writes the last chunk and the checksum section behind it, which it returns.
  Result<Bytes> finish();

 private:
  Result<void> advance(std::size_t count);
  Result<void> write_chunk();

  const TemporaryFile& file_;
  const Layout& layout_;
  const Progress& progress_;
  Bytes chunk_, checksums_;
  std::size_t used_ = 0;
  std::uint64_t written_ = kPageBytes;
};

}  // namespace pirx::database
