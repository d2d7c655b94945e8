// Writes chunks and their checksums, and locks the file that a new one may replace.
#include "content_writer.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace pirx::database {
namespace {

/// What a file may be built over: nothing yet, or a regular file that may be written. Gives its permissions.
Result<std::optional<mode_t>> check_target(const std::filesystem::path& target) {
  const auto refuse = [&target](ErrorCode code, const std::string& cause) {
    return fail(code, "cannot build " + printable(target.native()) + ": " + cause);
  };
  if (target.filename().empty() || target.filename() == "." || target.filename() == "..") {
    return refuse(ErrorCode::kInvalidArgument, "not a file name");
  }
  struct stat status {};
  if (::stat(target.c_str(), &status) != 0) {
    if (errno == ENOENT) return std::optional<mode_t>();
    return tl::unexpected(system_error("build", target, errno));
  }
  if (S_ISDIR(status.st_mode))
    return refuse(ErrorCode::kInvalidArgument, "it is a folder; name a file in it");
  if (!S_ISREG(status.st_mode)) return refuse(ErrorCode::kInvalidArgument, "it is not a regular file");
  if (::access(target.c_str(), W_OK) != 0) return tl::unexpected(system_error("replace", target, errno));
  return std::optional<mode_t>(status.st_mode & 0777);
}

}  // namespace

Result<Replacement> Replacement::begin(const std::filesystem::path& target) {
  PIRX_ASSIGN(const std::optional<mode_t> old_mode, check_target(target));
  PIRX_ASSIGN(UpdateLock lock, UpdateLock::take_if_there(target));
  remove_leftovers(target);
  PIRX_ASSIGN(TemporaryFile file, TemporaryFile::create(target));
  // A database that only its owner could read stays so.
  if (old_mode && ::fchmod(file.fd(), *old_mode) != 0) {
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

Result<void> ContentWriter::append(ByteSpan bytes) {
  while (!bytes.empty()) {
    const std::size_t count = std::min(bytes.size(), chunk_.size() - used_);
    std::memcpy(chunk_.data() + used_, bytes.data(), count);
    PIRX_TRY(advance(count));
    bytes = bytes.subspan(count);
  }
  return {};
}

Result<void> ContentWriter::pad_to(std::uint64_t offset) {
  while (at() < offset) {
    const auto count =
        static_cast<std::size_t>(std::min<std::uint64_t>(offset - at(), chunk_.size() - used_));
    std::memset(chunk_.data() + used_, 0, count);
    PIRX_TRY(advance(count));
  }
  return {};
}

Result<Bytes> ContentWriter::finish() {
  PIRX_TRY(pad_to(layout_.checksums.offset));
  if (used_ != 0) PIRX_TRY(write_chunk());
  PIRX_CHECK(written_ == layout_.checksums.offset && checksums_.size() == layout_.checksums.length);
  PIRX_TRY(write_at(file_.fd(), written_, checksums_, file_.path()));
  return std::move(checksums_);
}

Result<void> ContentWriter::advance(std::size_t count) {
  used_ += count;
  return used_ == chunk_.size() ? write_chunk() : Result<void>();
}

Result<void> ContentWriter::write_chunk() {
  const ByteSpan bytes = ByteSpan(chunk_).first(used_);
  const Digest digest = sha256(bytes);
  checksums_.insert(checksums_.end(), digest.begin(), digest.end());
  PIRX_TRY(write_at(file_.fd(), written_, bytes, file_.path()));
  // A hint: the disk works while the next chunk is made, and the sync at the end is short.
  static_cast<void>(::sync_file_range(file_.fd(), static_cast<off_t>(written_), static_cast<off_t>(used_),
                                      SYNC_FILE_RANGE_WRITE));
  written_ += used_;
  used_ = 0;
  if (progress_) progress_(written_, layout_.file_bytes());
  return {};
}

}  // namespace pirx::database
