// Files of the builder and the importers: descriptors that close themselves, errors that name file and cause,
// exact reads and writes, temporaries that never outlive their build for long.
#pragma once

#include <sys/types.h>

#include <filesystem>

#include "pirx/base/buffer.h"

namespace pirx::database {

/// Owns a descriptor.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) noexcept : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  ~Fd();
  int get() const noexcept { return fd_; }
  explicit operator bool() const noexcept { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

/// "cannot ACTION PATH: reason". ResourceExhausted with what to do when the disk, a quota or a file size
/// limit is full, else Unavailable.
Error system_error(std::string_view action, const std::filesystem::path& path, int error_number);

/// The printable form of a path or of foreign text for messages: control bytes become '?', long text is cut.
std::string printable(std::string_view text);

/// Opens for reading, without waiting for the writer of a pipe when `regular_only`, which refuses all but
/// regular files.
Result<Fd> open_for_reading(const std::filesystem::path& path, bool regular_only);
/// Up to buffer.size() bytes from the current position; fewer only at the end of the file.
Result<std::size_t> read_full(int fd, MutableByteSpan buffer, const std::filesystem::path& path);
/// Exactly buffer.size() bytes at `offset`. DataLoss when the file ends before.
Result<void> read_at(int fd, std::uint64_t offset, MutableByteSpan buffer, const std::filesystem::path& path);
/// All bytes at `offset`.
Result<void> write_at(int fd, std::uint64_t offset, ByteSpan bytes, const std::filesystem::path& path);

/// A new file `TARGET.tmp-PID-N`, locked (flock) and removed on destruction unless kept. The lock tells the
/// next build of the same target, in whatever process or container, that this one is alive.
class TemporaryFile {
 public:
  static Result<TemporaryFile> create(const std::filesystem::path& target);
  TemporaryFile(TemporaryFile&&) noexcept = default;
  TemporaryFile& operator=(TemporaryFile&&) noexcept = delete;
  ~TemporaryFile();
  int fd() const noexcept { return fd_.get(); }
  const std::filesystem::path& path() const noexcept { return path_; }
  /// Syncs the file, renames it over the target and syncs the folder.
  Result<void> commit(const std::filesystem::path& target);

 private:
  TemporaryFile(Fd fd, std::filesystem::path path) : fd_(std::move(fd)), path_(std::move(path)) {}
  Fd fd_;
  std::filesystem::path path_;
};

/// A nameless scratch file beside the target (`TARGET.spool-PID-N` for the instant between its creation and
/// its removal), appended to through a buffer and then read back.
class Spool {
 public:
  static Result<Spool> create(const std::filesystem::path& target);
  Result<void> append(ByteSpan bytes);
  /// Writes what is buffered; before reading.
  Result<void> flush();
  std::uint64_t size() const noexcept { return written_ + buffer_.size(); }
  int fd() const noexcept { return fd_.get(); }
  const std::filesystem::path& path() const noexcept { return path_; }

 private:
  Spool(Fd fd, std::filesystem::path path) : fd_(std::move(fd)), path_(std::move(path)) {}
  Fd fd_;
  std::filesystem::path path_;
  Bytes buffer_;
  std::uint64_t written_ = 0;
};

/// Reads [begin, end) of a flushed spool in order.
class SpoolReader {
 public:
  SpoolReader(const Spool& spool, std::uint64_t begin, std::uint64_t end, std::size_t buffer_bytes)
      : spool_(&spool), at_(begin), end_(end), buffer_bytes_(buffer_bytes) {}
  bool done() const noexcept { return at_ == end_ && used_ == buffer_.size(); }
  Result<void> read(MutableByteSpan out);
  template <class T>
  Result<T> get() {
    T value;
    PIRX_TRY(read(std::as_writable_bytes(std::span(&value, 1))));
    return value;
  }

 private:
  const Spool* spool_;
  std::uint64_t at_, end_;
  std::size_t buffer_bytes_, used_ = 0;
  Bytes buffer_;
};

/// Removes what killed builds of `target` left behind: spools, and temporaries whose lock nobody holds.
void remove_leftovers(const std::filesystem::path& target);

}  // namespace pirx::database
