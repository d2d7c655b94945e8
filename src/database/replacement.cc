// SPDX-License-Identifier: Apache-2.0
// Locks by flock(2), and what was there when the lock was taken.
#include "replacement.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>

#include "delta.h"
#include "pirx/base/small_file.h"

namespace pirx::database {
namespace {

constexpr std::string_view kDeltaSuffix = ".delta";

std::optional<Digest> seal_at(int fd, std::uint64_t end) noexcept {
  Digest seal;
  if (end < sizeof seal) return {};
  const auto count = ::pread(fd, seal.data(), sizeof seal, static_cast<off_t>(end - sizeof seal));
  return count == sizeof seal ? std::optional(seal) : std::nullopt;
}

/// A file that may be read, and what it is now. No file: no descriptor, and a status of zeros.
Result<OpenedFile> open_or_none(const std::filesystem::path& path) {
  OpenedFile file{Fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK))};
  if (!file.fd && (errno == ENOENT || errno == ENOTDIR)) return file;
  if (file.fd && ::fstat(file.fd.get(), &file.status) == 0) return file;
  return tl::unexpected(system_error("look at", path, errno));
}

Result<Seen> see_delta(const std::filesystem::path& path) {
  PIRX_ASSIGN(const OpenedFile file, open_or_none(path));
  return Seen{file.status, seal_at(file.fd.get(), file.bytes())};
}

/// A new file takes the permissions of the one that was seen, and would undo a change of them.
Result<bool> is_as_before(const Seen& was, const std::filesystem::path& path, std::uint64_t end) {
  PIRX_ASSIGN(const OpenedFile file, open_or_none(path));
  const auto& now = file.status;
  return !written_since(was, now, file.fd.get(), end) && was.status.st_mode == now.st_mode &&
         was.status.st_uid == now.st_uid && was.status.st_gid == now.st_gid;
}

/// What a file may be built over: nothing yet, or a regular file that may be written.
Result<bool> check_target(const std::filesystem::path& target) {
  const auto refuse = [&target](ErrorCode code, const std::string& cause) {
    return fail(code, "cannot build " + printable(target.native()) + ": " + cause);
  };
  if (target.filename().empty() || target.filename() == "." || target.filename() == "..") {
    return refuse(ErrorCode::kInvalidArgument, "not a file name");
  }
  struct stat status {};
  if (::stat(target.c_str(), &status) != 0) {
    if (errno == ENOENT) return false;
    return tl::unexpected(system_error("build", target, errno));
  }
  if (S_ISDIR(status.st_mode))
    return refuse(ErrorCode::kInvalidArgument, "it is a folder; name a file in it");
  if (!S_ISREG(status.st_mode)) return refuse(ErrorCode::kInvalidArgument, "it is not a regular file");
  if (::access(target.c_str(), W_OK) != 0) return tl::unexpected(system_error("replace", target, errno));
  return true;
}

Result<bool> begins_with(const std::filesystem::path& file, std::string_view magic) {
  PIRX_ASSIGN(const OpenedFile opened, open_for_reading(file, true));
  Bytes head(magic.size());
  PIRX_ASSIGN(const std::size_t count, read_full(opened.fd.get(), head, file));
  return count == head.size() && as_text(head) == magic;
}

/// What lies at TARGET.delta goes with the file that is replaced; so it must be a delta.
Result<void> check_delta(const std::filesystem::path& target, const std::filesystem::path& delta,
                         bool there) {
  PIRX_ASSIGN(const bool changes, is_there(delta));
  if (!changes) return {};
  if (!there) {
    return invalid(printable(delta.native()) +
                   " has changes of a database that is not there: put that back, or move this file away");
  }
  PIRX_ASSIGN(const bool is_delta, begins_with(delta, kDeltaMagic));
  if (is_delta) return {};
  return invalid(printable(delta.native()) + " is no pirx delta, but lies where that of " +
                 printable(target.native()) + " would: move it away");
}

/// Over X.delta nothing else is built while X is a database.
Result<void> check_is_no_delta(std::filesystem::path target) {
  if (target.extension() != kDeltaSuffix) return {};
  const std::string name = printable(target.native());
  target.replace_extension();
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(target, ignored)) return {};
  PIRX_ASSIGN(const bool is_database, begins_with(target, kMagic));
  if (!is_database) return {};
  return invalid("cannot build " + name + ": changes of the database " + printable(target.native()) +
                 " have that name; choose another one");
}

}  // namespace

Result<std::filesystem::path> delta_path(const std::filesystem::path& database) {
  PIRX_ASSIGN(auto file, behind_links(database));
  file += kDeltaSuffix;
  return file;
}

bool written_since(const Seen& was, const struct stat& now, int fd, std::uint64_t end) noexcept {
  const Change change = change_between(was.status, now);
  if (change == Change::kNone || change == Change::kWritten) return change == Change::kWritten;
  return !was.seal || seal_at(fd, end) != was.seal;
}

Result<UpdateLock> UpdateLock::take(const std::filesystem::path& path) {
  PIRX_ASSIGN(OpenedFile file, open_for_reading(path, true));
  PIRX_ASSIGN(auto delta, delta_path(path));
  UpdateLock lock(path, std::move(delta));
  bool locked = ::flock(file.fd.get(), LOCK_EX | LOCK_NB) == 0;
  if (!locked && errno == EBADF) {  // NFS locks what is open for writing
    const auto same = "/proc/self/fd/" + std::to_string(file.fd.get());
    file.fd = Fd(::open(same.c_str(), O_RDWR | O_CLOEXEC));
    locked = file.fd && ::flock(file.fd.get(), LOCK_EX | LOCK_NB) == 0;
  }
  if (!locked && errno != EWOULDBLOCK) return tl::unexpected(system_error("lock", path, errno));
  PIRX_ASSIGN(const OpenedFile now, open_or_none(path));
  PIRX_ASSIGN(const bool is_database, begins_with(path, kMagic));
  lock.file_before_.status = now.status;
  if (is_database) lock.file_before_.seal = seal_at(now.fd.get(), kPageBytes);
  PIRX_ASSIGN(lock.delta_before_, see_delta(lock.delta_));
  // A file that was replaced in between has another lock.
  if (!locked || change_between(file.status, now.status) == Change::kWritten) {
    return fail(ErrorCode::kUnavailable,
                "another process is changing " + printable(path.native()) + ": try again when it is done");
  }
  lock.fd_ = std::move(file.fd);
  return lock;
}

Result<UpdateLock> UpdateLock::take_if_there(const std::filesystem::path& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0 && errno == ENOENT) return UpdateLock(path, {});
  return take(path);
}

Result<void> UpdateLock::check() const {
  PIRX_ASSIGN(bool same, is_as_before(file_before_, path_, kPageBytes));
  // Without a file, a delta that lies about belongs to none.
  if (same && fd_) {
    const auto end = static_cast<std::uint64_t>(delta_before_.status.st_size);
    PIRX_ASSIGN(same, is_as_before(delta_before_, delta_, end));
  }
  if (same) return {};
  return fail(ErrorCode::kUnavailable,
              printable(path_.native()) +
                  " was replaced or changed meanwhile, so it stays as it is now: do the same again");
}

Result<Replacement> Replacement::begin(const std::filesystem::path& name, const std::filesystem::path& like) {
  PIRX_ASSIGN(const auto target, behind_links(name));
  PIRX_ASSIGN(const auto delta, delta_path(target));
  PIRX_ASSIGN(const bool there, check_target(target));
  PIRX_TRY(check_is_no_delta(target));
  PIRX_TRY(check_delta(target, delta, there));
  PIRX_ASSIGN(UpdateLock lock, UpdateLock::take_if_there(target));
  remove_leftovers(target);
  remove_leftovers(delta);
  const auto& model = there ? target : like;  // a database that only its owner could read stays so
  PIRX_ASSIGN(TemporaryFile file, TemporaryFile::create(target, model.empty() ? 0666 : 0600));
  if (!model.empty() && !give_access_of(model, file.fd())) {
    return tl::unexpected(system_error("set the permissions of", file.path(), errno));
  }
  return Replacement(target, std::move(lock), std::move(file));
}

Result<void> Replacement::commit() && {
  // Both are locked until the end of this function.
  const UpdateLock old = std::move(lock_);
  TemporaryFile next = std::move(file_);
  PIRX_TRY(next.sync());
  PIRX_TRY(old.check());
  PIRX_ASSIGN(const auto delta, delta_path(target_));
  PIRX_TRY(check_delta(target_, delta, old.over() == TemporaryFile::Over::kAnything));
  PIRX_TRY(next.commit(target_, old.over()));
  static_cast<void>(::unlink(delta.c_str()));  // no newer than the file, it is out of use if it stays
  return {};
}

}  // namespace pirx::database
