// SPDX-License-Identifier: Apache-2.0
// Locks by flock(2), and what was there when the lock was taken.
#include "replacement.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>

#include "pirx/base/small_file.h"

namespace pirx::database {
namespace {

bool same_file(const struct stat& a, const struct stat& b) {
  return a.st_mode != 0 && b.st_mode != 0 && a.st_ino == b.st_ino && a.st_dev == b.st_dev;
}

/// Of what look() saw: no file twice, or one that nobody wrote to.
bool unchanged(const struct stat& before, const struct stat& now) {
  if (before.st_mode == 0 || now.st_mode == 0) return before.st_mode == now.st_mode;
  return same_file(before, now) && before.st_size == now.st_size &&
         before.st_mtim.tv_sec == now.st_mtim.tv_sec && before.st_mtim.tv_nsec == now.st_mtim.tv_nsec;
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

}  // namespace

std::filesystem::path delta_path(const std::filesystem::path& database) {
  auto file = behind_links(database);
  file += ".delta";
  return file;
}

void remove_delta(const std::filesystem::path& database) noexcept {
  try {
    static_cast<void>(::unlink(delta_path(database).c_str()));
  } catch (const std::exception&) {  // no memory: the next open says what lies there
  }
}

UpdateLock::Seen UpdateLock::look(const std::filesystem::path& path) {
  Seen seen{};
  const auto stat_or_none = [](const std::filesystem::path& file, struct stat& status) {
    if (::stat(file.c_str(), &status) != 0) status = {};
  };
  stat_or_none(path, seen.file);
  stat_or_none(delta_path(path), seen.delta);
  return seen;
}

Result<UpdateLock> UpdateLock::take(const std::filesystem::path& path) {
  PIRX_ASSIGN(OpenedFile file, open_for_reading(path, true));
  const bool locked = ::flock(file.fd.get(), LOCK_EX | LOCK_NB) == 0;
  const Seen before = look(path);
  // A file that was replaced in between has another lock.
  if (!locked || !same_file(file.status, before.file)) {
    return fail(ErrorCode::kUnavailable,
                "another process is changing " + printable(path.native()) + ": try again when it is done");
  }
  return UpdateLock(path, std::move(file.fd), before);
}

Result<UpdateLock> UpdateLock::take_if_there(const std::filesystem::path& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0 && errno == ENOENT) return UpdateLock(path, Fd(), Seen{});
  return take(path);
}

Result<void> UpdateLock::check() const {
  const Seen now = look(path_);
  // Without a file, a delta that lies about belongs to none.
  if (unchanged(before_.file, now.file) && (!fd_ || unchanged(before_.delta, now.delta))) return {};
  return fail(ErrorCode::kUnavailable,
              printable(path_.native()) +
                  " was replaced or changed meanwhile, so it stays as it is now: do the same again");
}

Result<Replacement> Replacement::begin(const std::filesystem::path& name, const std::filesystem::path& like) {
  const auto target = behind_links(name);
  PIRX_ASSIGN(const bool there, check_target(target));
  PIRX_ASSIGN(UpdateLock lock, UpdateLock::take_if_there(target));
  remove_leftovers(target);
  remove_leftovers(delta_path(target));
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
  PIRX_TRY(old.check());
  PIRX_TRY(next.commit(target_, old.over()));
  remove_delta(target_);
  return {};
}

}  // namespace pirx::database
