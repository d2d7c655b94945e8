// SPDX-License-Identifier: Apache-2.0
// Implements files with POSIX calls.
#include "src/base/file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <system_error>
#include <thread>

#include "pirx/base/printable.h"
#include "pirx/base/small_file.h"

namespace pirx {
namespace {

std::filesystem::path folder_of(const std::filesystem::path& target) {
  const auto folder = target.parent_path();
  return folder.empty() ? std::filesystem::path(".") : folder;
}

bool is_leftover_name(std::string_view name, std::string_view target_name) {
  if (!name.starts_with(target_name)) return false;
  name.remove_prefix(target_name.size());
  for (const std::string_view mark : {kTemporaryMark, kSpoolMark}) {
    if (!name.starts_with(mark)) continue;
    const std::string_view numbers = name.substr(mark.size());
    const auto dash = numbers.find('-');
    const auto digits = [](std::string_view text) {
      return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
    };
    return dash != std::string_view::npos && digits(numbers.substr(0, dash)) &&
           digits(numbers.substr(dash + 1));
  }
  return false;
}

}  // namespace

Fd::~Fd() {
  if (fd_ >= 0) ::close(fd_);
}

Error system_error(std::string_view action, const std::filesystem::path& path, int error_number) {
  std::string message = "cannot " + std::string(action) + " " + printable(path.native()) + ": " +
                        std::generic_category().message(error_number);
  switch (error_number) {
    case ENOSPC:
    case EDQUOT:
      return {ErrorCode::kResourceExhausted, message + "; free space on that disk or choose another folder"};
    case EFBIG:
      return {ErrorCode::kResourceExhausted, message + "; raise the file size limit (ulimit -f)"};
    default:
      return {ErrorCode::kUnavailable, std::move(message)};
  }
}

tl::unexpected<Error> with_path(const std::filesystem::path& path, const Error& error) {
  return fail(error.code(), printable(path.native()) + ": " + error.message());
}

std::string printable(std::string_view text) {
  constexpr std::size_t kMost = 300;
  return without_controls(std::string(text.substr(0, kMost))) + (text.size() > kMost ? "..." : "");
}

Result<OpenedFile> open_for_reading(const std::filesystem::path& path, bool regular_only) {
  OpenedFile file{Fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | (regular_only ? O_NONBLOCK : 0)))};
  if (!file.fd || ::fstat(file.fd.get(), &file.status) != 0) {
    return tl::unexpected(system_error("open", path, errno));
  }
  if (S_ISDIR(file.status.st_mode)) return tl::unexpected(system_error("read", path, EISDIR));
  if (regular_only && !S_ISREG(file.status.st_mode)) {
    return fail(ErrorCode::kUnavailable, "cannot read " + printable(path.native()) + ": not a regular file");
  }
  return file;
}

Result<FileMap> FileMap::create(std::uint64_t bytes, int protection, int flags, int fd,
                                const std::filesystem::path& path) {
  void* at = ::mmap(nullptr, bytes, protection, flags, fd, 0);
  if (at == MAP_FAILED) return tl::unexpected(system_error("map", path, errno));
  FileMap map;
  map.bytes_ = {static_cast<std::byte*>(at), static_cast<std::size_t>(bytes)};
  return map;
}

FileMap::~FileMap() {
  if (!bytes_.empty()) ::munmap(bytes_.data(), bytes_.size());
}

Result<std::size_t> read_full(int fd, MutableByteSpan buffer, const std::filesystem::path& path) {
  std::size_t done = 0;
  while (done < buffer.size()) {
    const ssize_t count = ::read(fd, buffer.data() + done, buffer.size() - done);
    if (count == 0) break;
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return tl::unexpected(system_error("read", path, errno));
    done += static_cast<std::size_t>(count);
  }
  return done;
}

Result<void> read_at(int fd, std::uint64_t offset, MutableByteSpan buffer,
                     const std::filesystem::path& path) {
  while (!buffer.empty()) {
    const ssize_t count = ::pread(fd, buffer.data(), buffer.size(), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return tl::unexpected(system_error("read", path, errno));
    if (count == 0) {
      return fail(ErrorCode::kDataLoss,
                  "cannot read " + printable(path.native()) + ": the file is shorter than it was");
    }
    buffer = buffer.subspan(static_cast<std::size_t>(count));
    offset += static_cast<std::uint64_t>(count);
  }
  return {};
}

Result<void> write_at(int fd, std::uint64_t offset, ByteSpan bytes, const std::filesystem::path& path) {
  while (!bytes.empty()) {
    const ssize_t count = ::pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return tl::unexpected(system_error("write", path, errno));
    bytes = bytes.subspan(static_cast<std::size_t>(count));
    offset += static_cast<std::uint64_t>(count);
  }
  return {};
}

Result<NamedFd> create_named(const std::filesystem::path& target, std::string_view mark, mode_t mode) {
  static std::atomic<unsigned> counter{0};
  for (;;) {
    std::filesystem::path path = target;
    path += std::string(mark) + std::to_string(::getpid()) + "-" + std::to_string(counter++);
    Fd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode));
    if (fd) return NamedFd{std::move(fd), std::move(path)};
    if (errno != EEXIST && errno != EINTR) return tl::unexpected(system_error("create", path, errno));
  }
}

bool give_access_of(const std::filesystem::path& other, int fd, unsigned most) noexcept {
  struct stat theirs {};
  struct stat own {};
  if (::stat(other.c_str(), &theirs) != 0 || ::fstat(fd, &own) != 0) return false;
  const mode_t mode = theirs.st_mode & most & 0777;
  const mode_t closed = mode & (~mode_t{070} | (mode & 07) << 3);
  // Some network file systems refuse to set any mode, so only another one is set.
  const auto set_mode = [fd](mode_t wanted) {
    struct stat now {};
    return (::fstat(fd, &now) == 0 && (now.st_mode & 07777) == wanted) || ::fchmod(fd, wanted) == 0;
  };
  const bool same = own.st_uid == theirs.st_uid && own.st_gid == theirs.st_gid;
  if (!same && ::fchown(fd, theirs.st_uid, theirs.st_gid) != 0 && own.st_gid != theirs.st_gid &&
      ::fchown(fd, own.st_uid, theirs.st_gid) != 0) {
    return set_mode(closed);
  }
  // Where there is a list, the group's permissions are the most that anybody whom it names gets. A folder's
  // default may have given the new file one of its own.
  static constexpr char kList[] = "system.posix_acl_access";
  char list[4096];
  const ssize_t size = ::getxattr(other.c_str(), kList, list, sizeof list);
  const auto is_none = [] { return errno == ENODATA || errno == ENOTSUP; };
  const bool done = size >= 0   ? ::fsetxattr(fd, kList, list, static_cast<std::size_t>(size), 0) == 0
                    : is_none() ? ::fremovexattr(fd, kList) == 0 || is_none()
                                : false;
  return set_mode(done ? mode : closed);
}

Result<TemporaryFile> TemporaryFile::create(const std::filesystem::path& target, mode_t mode) {
  for (;;) {
    PIRX_ASSIGN(NamedFd named, create_named(target, kTemporaryMark, mode));
    // A file system without locks leaves the file unlocked: the next writer then cannot lock it either and
    // leaves it alone.
    const bool contended = ::flock(named.fd.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    // Another writer's cleaning may have come between creation and lock: then the name is gone, or about to
    // be. Not every file system counts links.
    if (!contended && (::access(named.path.c_str(), F_OK) == 0 || errno != ENOENT)) {
      return TemporaryFile(std::move(named.fd), std::move(named.path));
    }
    ::unlink(named.path.c_str());
  }
}

TemporaryFile::~TemporaryFile() {
  if (fd_ && !path_.empty()) ::unlink(path_.c_str());
}

Result<void> TemporaryFile::reserve(std::uint64_t bytes) const {
  int result = 0;
  do {
    result = ::fallocate(fd_.get(), 0, 0, static_cast<off_t>(bytes));
  } while (result != 0 && errno == EINTR);
  if (result == 0 || (errno != ENOSPC && errno != EDQUOT && errno != EFBIG)) return {};
  const Error error = system_error("reserve space for", path_, errno);
  return fail(error.code(), error.message() + " (it needs " + std::to_string(bytes) + " bytes)");
}

Result<void> TemporaryFile::sync() {
  if (::fsync(fd_.get()) != 0) return tl::unexpected(system_error("sync", path_, errno));
  synced_ = true;
  return {};
}

Result<void> TemporaryFile::commit(const std::filesystem::path& target, Over over) {
  if (!synced_) PIRX_TRY(sync());
  const unsigned flags = over == Over::kNothing ? RENAME_NOREPLACE : 0;
  int renamed = ::renameat2(AT_FDCWD, path_.c_str(), AT_FDCWD, target.c_str(), flags);
  // Some network file systems know no flags.
  if (renamed != 0 && (errno == EINVAL || errno == ENOSYS)) renamed = ::rename(path_.c_str(), target.c_str());
  if (renamed != 0) return tl::unexpected(system_error("replace", target, errno));
  path_.clear();
  const std::filesystem::path folder = folder_of(target);
  const Fd folder_fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  // Who may write into a folder need not be allowed to read it.
  const int synced = folder_fd ? ::fsync(folder_fd.get()) : ::syncfs(fd_.get());
  if (synced != 0 && errno != EINVAL) {
    const Error error = system_error("sync", folder, errno);
    return fail(error.code(), "the file is in place, but a power failure may undo it: " + error.message());
  }
  return {};
}

Result<std::filesystem::path> behind_links(const std::filesystem::path& path) {
  constexpr int kMostLinks = 40;  // as many as Linux follows
  auto file = path;
  // Not canonical(), which needs more than to open the file does: it looks at every folder above.
  for (int i = 0; i < kMostLinks; ++i) {
    std::error_code error;
    const auto next = std::filesystem::read_symlink(file, error);
    if (error == std::errc::invalid_argument) return file;  // no link
    if (error == std::errc::no_such_file_or_directory || error == std::errc::not_a_directory) return path;
    if (error) return tl::unexpected(system_error("read the link", file, error.value()));
    file = file.parent_path() / next;
  }
  return tl::unexpected(system_error("follow the link", path, ELOOP));
}

Result<bool> is_there(const std::filesystem::path& path) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) == 0) return true;
  if (errno == ENOENT || errno == ENOTDIR) return false;
  return tl::unexpected(system_error("look for", path, errno));
}

Change change_between(const struct stat& was, const struct stat& now) noexcept {
  const auto same = [](const timespec& a, const timespec& b) {
    return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
  };
  if (was.st_ino != now.st_ino || was.st_dev != now.st_dev || was.st_size != now.st_size ||
      !same(was.st_mtim, now.st_mtim)) {
    return Change::kWritten;
  }
  if (same(was.st_ctim, now.st_ctim)) return Change::kNone;
  return was.st_nlink != now.st_nlink ? Change::kLinks : Change::kTouched;
}

Result<void> check_unchanged(const OpenedFile& input, std::uint64_t read, const std::filesystem::path& file) {
  if (!S_ISREG(input.status.st_mode)) return {};
  struct stat now {};
  if (::fstat(input.fd.get(), &now) != 0) return tl::unexpected(system_error("read", file, errno));
  now.st_size = input.status.st_size;  // standard input's, less what was read before; `read` says more
  // Files in /proc tell no size.
  if (change_between(input.status, now) <= Change::kLinks && (read == input.bytes() || input.bytes() == 0)) {
    return {};
  }
  return fail(ErrorCode::kDataLoss, printable(file.native()) +
                                        ": the file changed while it was read: do the same again when "
                                        "nothing writes to it");
}

Result<std::string> read_file(const std::filesystem::path& path, std::size_t limit, std::string_view what,
                              bool regular_only) {
  const auto opened = open_for_reading(path, regular_only);
  if (!opened) {
    return fail(opened.error().code(), std::string(what) + ": " + opened.error().message());
  }
  std::string text;
  for (std::size_t read = 0; read == text.size();) {
    if (read > limit) {
      return fail(ErrorCode::kDataLoss, std::string(what) + " " + printable(path.native()) +
                                            " is longer than the " + std::to_string(limit) +
                                            " bytes that it may have");
    }
    text.resize(std::min(std::max<std::size_t>(2 * read, 4096), limit + 1));
    PIRX_ASSIGN(const auto more, read_full(opened->fd.get(),
                                           MutableByteSpan(reinterpret_cast<std::byte*>(text.data()) + read,
                                                           text.size() - read),
                                           path));
    read += more;
    if (read < text.size()) {
      text.resize(read);
      PIRX_TRY(check_unchanged(*opened, read, path));
      break;
    }
  }
  return text;
}

void make_folders(const std::filesystem::path& path) noexcept {
  std::error_code seen_later;
  std::filesystem::create_directories(path, seen_later);
}

Result<void> replace_file(const std::filesystem::path& path, std::string_view text, unsigned mode) {
  struct stat old {};
  const bool there = ::lstat(path.c_str(), &old) == 0 && S_ISREG(old.st_mode);
  PIRX_ASSIGN(auto file, TemporaryFile::create(path, there ? 0600 : mode));
  if (there && !give_access_of(path, file.fd(), mode)) {
    return tl::unexpected(system_error("set the permissions of", file.path(), errno));
  }
  PIRX_TRY(write_at(file.fd(), 0, as_bytes(text), file.path()));
  return file.commit(path);
}

Result<std::shared_ptr<void>> lock_folder(const std::filesystem::path& path) {
  PIRX_ASSIGN(const auto file, behind_links(path));
  const auto folder = folder_of(file);
  auto fd = std::make_shared<Fd>(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  for (int i = 0; *fd && ::flock(fd->get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK; ++i) {
    if (i == 1000) {
      return fail(ErrorCode::kUnavailable, "another program keeps the folder " + printable(folder.native()) +
                                               " locked: try again when it has ended");
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return fd;
}

void remove_leftovers(const std::filesystem::path& target) {
  std::error_code error;
  std::filesystem::directory_iterator files(folder_of(target), error);
  for (; !error && files != std::filesystem::directory_iterator(); files.increment(error)) {
    const auto& path = files->path();
    if (!is_leftover_name(path.filename().native(), target.filename().native())) continue;
    const Fd fd(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    struct stat status {};
    if (!fd || ::fstat(fd.get(), &status) != 0 || !S_ISREG(status.st_mode)) continue;
    if (::flock(fd.get(), LOCK_EX | LOCK_NB) == 0) ::unlink(path.c_str());
  }
}

}  // namespace pirx
