// SPDX-License-Identifier: Apache-2.0
// Files: descriptors that close themselves, exact reads and writes, files that are replaced as a whole,
// and temporary files that are removed. Errors name the file and the cause.
#pragma once

#include <sys/stat.h>

#include <filesystem>

#include "pirx/base/buffer.h"

namespace pirx {

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

/// The error "cannot ACTION PATH: reason". ResourceExhausted, with advice, if the disk, a quota or a limit on
/// file sizes is full; otherwise Unavailable.
Error system_error(std::string_view action, const std::filesystem::path& path, int error_number);

/// "PATH: message".
tl::unexpected<Error> with_path(const std::filesystem::path& path, const Error& error);

/// The printable form of a path or of foreign text for messages: control bytes become '?', long text is cut.
std::string printable(std::string_view text);

/// A file that was opened, and what it was then.
struct OpenedFile {
  Fd fd;
  struct stat status {};
  std::uint64_t bytes() const noexcept { return static_cast<std::uint64_t>(status.st_size); }
};

/// Opens a file for reading. With `regular_only` it refuses everything but regular files, and does not wait
/// for the writer of a pipe.
Result<OpenedFile> open_for_reading(const std::filesystem::path& path, bool regular_only);
/// Reads up to buffer.size() bytes from the current position; fewer only at the end of the file.
Result<std::size_t> read_full(int fd, MutableByteSpan buffer, const std::filesystem::path& path);
/// What two looks at a place tell of the file there. Whoever writes to a file can set st_mtim back, as `cp
/// -p` does, but not st_ctim; chmod, chown, a rename and a link change that, too.
enum class Change : std::uint8_t {
  kNone,
  kLinks,    ///< st_ctim and the number of links, as when another file takes this one's name
  kTouched,  ///< st_ctim alone
  kWritten,  ///< st_mtim or the size, or it is another file or none
};
Change change_between(const struct stat& was, const struct stat& now) noexcept;
/// Of a file that was read to its end, `read` bytes. DataLoss: it is a regular file, and somebody wrote to it
/// or cut it meanwhile, so that what was read may be a part or a mixture.
Result<void> check_unchanged(const OpenedFile& input, std::uint64_t read, const std::filesystem::path& file);
/// Reads exactly buffer.size() bytes at `offset`. DataLoss: the file ends before.
Result<void> read_at(int fd, std::uint64_t offset, MutableByteSpan buffer, const std::filesystem::path& path);
/// Writes all bytes at `offset`.
Result<void> write_at(int fd, std::uint64_t offset, ByteSpan bytes, const std::filesystem::path& path);

/// Mapped memory, given back on destruction.
class FileMap {
 public:
  FileMap() = default;
  /// By mmap(2), anywhere. `path` is for messages.
  static Result<FileMap> create(std::uint64_t bytes, int protection, int flags, int fd,
                                const std::filesystem::path& path);
  FileMap(FileMap&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}
  FileMap& operator=(FileMap&& other) noexcept {
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~FileMap();
  MutableByteSpan bytes() const noexcept { return bytes_; }

 private:
  MutableByteSpan bytes_;
};

inline constexpr std::string_view kTemporaryMark = ".tmp-", kSpoolMark = ".spool-";

struct NamedFd {
  Fd fd;
  std::filesystem::path path;
};
/// A file that did not exist before, under the next free `TARGET<mark>PID-N`.
Result<NamedFd> create_named(const std::filesystem::path& target, std::string_view mark, mode_t mode);

/// A new file `TARGET.tmp-PID-N`, locked (flock) and removed on destruction unless kept. The lock tells the
/// next writer of the same target, in whatever process or container, that this one is alive.
class TemporaryFile {
 public:
  static Result<TemporaryFile> create(const std::filesystem::path& target, mode_t mode = 0666);
  TemporaryFile(TemporaryFile&&) noexcept = default;
  TemporaryFile& operator=(TemporaryFile&&) noexcept = delete;
  ~TemporaryFile();
  int fd() const noexcept { return fd_.get(); }
  const std::filesystem::path& path() const noexcept { return path_; }
  /// Takes the disk space at once, so that a disk too small is reported early and with the size.
  Result<void> reserve(std::uint64_t bytes) const;
  /// What may lie at the target of a commit.
  enum class Over : std::uint8_t { kAnything, kNothing };
  /// Waits until the disk has it, so that commit() does not. Who checks the target should do so after that.
  Result<void> sync();
  /// Syncs the file, renames it over the target and syncs the folder. The lock is held until destruction.
  /// Unavailable when there is a file where `over` allows nothing.
  Result<void> commit(const std::filesystem::path& target, Over over = Over::kAnything);

 private:
  TemporaryFile(Fd fd, std::filesystem::path path) : fd_(std::move(fd)), path_(std::move(path)) {}
  Fd fd_;
  std::filesystem::path path_;  ///< empty once it is the target
  bool synced_ = false;
};

/// Removes what killed writers of `target` left behind: spools, and temporaries whose lock nobody holds.
void remove_leftovers(const std::filesystem::path& target);

}  // namespace pirx
