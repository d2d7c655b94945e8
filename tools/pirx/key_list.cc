// SPDX-License-Identifier: Apache-2.0
// Reads and writes lists of keys.
#include "key_list.h"

#include <fcntl.h>
#include <stdio_ext.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "cli.h"
#include "pirx/base/small_file.h"

namespace pirx::cli {
namespace {

// The first line, by which pirx knows its own file, and that of lists without an end.
constexpr std::string_view kHeader = "pirx key list 2", kOldHeader = "pirx key list 1";
constexpr std::string_view kEnd = "\\end";  // after the last key, and no key: what follows may be cut short

Result<std::string> list_of(const std::string& database) {
  PIRX_ASSIGN(const auto file, behind_links(database));
  return file.native() + ".keys";
}

/// Whether nothing is there, or a list that pirx wrote, which a crash may have left empty.
bool may_replace(const std::string& path) {
  std::error_code ignored;
  const auto there = std::filesystem::symlink_status(path, ignored);
  if (there.type() == std::filesystem::file_type::not_found) return true;
  if (!std::filesystem::is_regular_file(there)) return false;
  std::string line;
  std::ifstream in(path, std::ios::binary);
  return in && (!std::getline(in, line) || line == kHeader || line == kOldHeader);
}

Result<void> check_may_replace(const std::string& name) {
  for (const auto& path : {name, name + ".new"}) {
    if (may_replace(path)) continue;
    if (::access(path.c_str(), R_OK) != 0) {
      return fail(ErrorCode::kUnavailable,
                  "cannot open the list of keys " + path + ": " + std::generic_category().message(errno));
    }
    return invalid(path + " exists and is no list of keys that pirx wrote: move it, or give --no-key-list");
  }
  return {};
}

/// Of a list that pirx wrote (`own`), lines that are no keys are left out: a crash cut them short.
Result<void> read_list(const std::string& path, bool own, std::vector<std::string>& keys) {
  std::error_code ignored;
  std::ifstream in;  // a pipe in place of our list would never end
  if (!own || std::filesystem::is_regular_file(path, ignored)) in.open(path, std::ios::binary);
  if (!in.is_open()) return fail(ErrorCode::kUnavailable, "cannot open the list of keys " + path);
  KeyLines lines(in, "the list of keys " + path);
  std::string line;
  for (std::uint64_t number = 1;; ++number) {
    PIRX_ASSIGN(const bool more, lines.next(line));
    if (!more) break;
    if (number == 1 && (line == kHeader || line == kOldHeader)) continue;
    if (!own) trim_line(line, number == 1);
    if (line == kEnd) continue;
    auto key = unescape_key(line);
    if (!key && own) continue;
    if (!key) return invalid(path + ", line " + std::to_string(number) + ": " + key.error().message());
    keys.push_back(std::move(*key));
  }
  return {};
}

/// How many bytes whole lists take in a file of this size. Builds that were killed left the rest.
Result<off_t> whole_lists(const std::string& path, off_t size) {
  std::ifstream in(path, std::ios::binary);
  if (!in.is_open()) return fail(ErrorCode::kUnavailable, "cannot open the list of keys " + path);
  KeyLines lines(in, "the list of keys " + path);
  std::string line;
  for (off_t at = 0, whole = 0;;) {
    const auto more = lines.next(line);
    if (!more && more.error().code() != ErrorCode::kInvalidArgument) return tl::unexpected(more.error());
    if (!more || !*more) return whole;
    if (at == 0 && line == kOldHeader) whole = size;
    at = std::min(size, at + static_cast<off_t>(line.size()) + 1);
    if (line == kEnd) whole = std::max(whole, at);
  }
}

}  // namespace

void KeyListWriter::Close::operator()(std::FILE* file) const noexcept {
  if (!unfinished.empty() && before == 0) std::remove(unfinished.c_str());
  if (!unfinished.empty() && before != 0) {
    ::__fpurge(file);
    // If this fails, keys that are nobody's stay: read_key_list() takes too many, not too few.
    static_cast<void>(::ftruncate(::fileno(file), before) == 0);
  }
  std::fclose(file);
}

Error KeyListWriter::cannot_write() const {
  return Error(ErrorCode::kUnavailable,
               "cannot write the list of keys " + list_ + " (--no-key-list does without)");
}

Result<KeyListWriter> KeyListWriter::create(const std::string& database) {
  PIRX_ASSIGN(auto list, list_of(database));
  PIRX_TRY(check_may_replace(list));
  return KeyListWriter(database, std::move(list));
}

Result<void> KeyListWriter::open() {
  PIRX_TRY(check_may_replace(list_));
  // Who may not read the database, or the list that was there, may not read its keys. Those of a new database
  // get what the umask leaves.
  struct stat database {};
  const bool there = ::stat(database_.c_str(), &database) == 0;
  const auto made = list_ + ".new";
  struct stat list {};
  const bool listed = ::stat(list_.c_str(), &list) == 0;
  const mode_t mode = there || listed ? 0600 : 0666;
  constexpr int kHow = O_WRONLY | O_APPEND | O_NOFOLLOW | O_CLOEXEC;
  int fd = ::open(made.c_str(), kHow | O_CREAT | O_EXCL, mode);
  const bool left = fd < 0 && errno == EEXIST;
  if (left) fd = ::open(made.c_str(), kHow);
  std::unique_ptr<std::FILE, Close> file(fd < 0 ? nullptr : ::fdopen(fd, "ab"));
  if (!file) return tl::unexpected(cannot_write());
  const bool locked = ::flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
  struct stat mine {};
  struct stat named {};
  // Who had it locked until now has given it another name.
  if (!locked || ::fstat(fd, &mine) != 0 || ::stat(made.c_str(), &named) != 0 ||
      mine.st_ino != named.st_ino) {
    return fail(ErrorCode::kUnavailable,
                "another process is changing " + database_ + ": try again when it is done");
  }
  // Who made a file may have it open. A list of ours may have the owner of what was there when it was made.
  if (left && mine.st_uid != ::geteuid() && !(there && mine.st_uid == database.st_uid) &&
      !(listed && mine.st_uid == list.st_uid)) {
    return invalid(made +
                   " belongs to another user, who could read all keys: move it, or give --no-key-list");
  }
  PIRX_ASSIGN(const off_t whole, whole_lists(made, mine.st_size));
  if (::ftruncate(fd, whole) != 0) return tl::unexpected(cannot_write());
  file.get_deleter() = {made, whole};
  if ((there || listed) && (!give_access_of(listed ? list_ : database_, fd) || ::fstat(fd, &list) != 0)) {
    return tl::unexpected(cannot_write());
  }
  // What a crash left may be open to more than the umask allows now.
  if (left && !there && !listed && ::fchmod(fd, 0600) != 0) return tl::unexpected(cannot_write());
  if (there && ::fchmod(fd, list.st_mode & database.st_mode & 0777) != 0)
    return tl::unexpected(cannot_write());
  file_ = std::move(file);
  // What a crash left may be the only list of what is there: it stays.
  return add(whole == 0 ? kHeader : "");
}

Result<void> KeyListWriter::add(std::string_view key) {
  if (!file_) PIRX_TRY(open());
  const auto line = escape_key(key) + "\n";
  if (std::fwrite(line.data(), 1, line.size(), file_.get()) == line.size()) return {};
  return tl::unexpected(cannot_write());
}

Result<void> KeyListWriter::sync() {
  if (std::fprintf(file_.get(), "%s\n", kEnd.data()) < 0 || std::fflush(file_.get()) != 0 ||
      ::fsync(::fileno(file_.get())) != 0) {
    return tl::unexpected(cannot_write());
  }
  file_.get_deleter().unfinished.clear();
  return {};
}

Result<void> KeyListWriter::commit() {
  if (std::rename((list_ + ".new").c_str(), list_.c_str()) == 0) return {};
  return tl::unexpected(cannot_write());
}

Result<std::vector<std::string>> read_key_list(const std::string& database, const std::string& file) {
  std::vector<std::string> keys;
  if (!file.empty()) {
    PIRX_TRY(read_list(file, false, keys));
    return keys;
  }
  PIRX_ASSIGN(const auto name, list_of(database));
  bool found = false;
  // In this order, since the first may become the second meanwhile.
  for (const auto& path : {name + ".new", name}) {
    PIRX_ASSIGN(const bool there, is_there(path));
    if (!there) continue;
    if (auto read = read_list(path, true, keys); !read && path == name) return tl::unexpected(read.error());
    found = true;
  }
  if (found) return keys;
  return fail(
      ErrorCode::kUnavailable,
      "to change " + database + " all of its keys must be known, and there is no " + name +
          " ('pirx db build --keyed' writes it): give --keys-from FILE, with one key a line, or build again");
}

}  // namespace pirx::cli
