// SPDX-License-Identifier: Apache-2.0
// Reads and writes lists of keys.
#include "key_list.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "cli.h"

namespace pirx::cli {
namespace {

constexpr std::string_view kHeader = "pirx key list 1";  // the first line, by which pirx knows its own file

std::string list_of(const std::string& database) { return database + ".keys"; }

/// Whether nothing is there, or a list that pirx wrote, which a crash may have left empty.
bool may_replace(const std::string& path) {
  std::error_code ignored;
  const auto there = std::filesystem::symlink_status(path, ignored);
  if (!std::filesystem::exists(there)) return true;
  if (!std::filesystem::is_regular_file(there)) return false;
  std::string line;
  std::ifstream in(path, std::ios::binary);
  return in && (!std::getline(in, line) || line == kHeader);
}

Result<void> read_list(const std::string& path, std::vector<std::string>& keys) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return fail(ErrorCode::kUnavailable, "cannot open the list of keys " + path);
  std::string line;
  for (std::uint64_t number = 1; std::getline(in, line); ++number) {
    if (number == 1 && line == kHeader) continue;
    auto key = unescape_key(line);
    if (!key) return invalid(path + ", line " + std::to_string(number) + ": " + key.error().message());
    keys.push_back(std::move(*key));
  }
  if (!in.eof()) return fail(ErrorCode::kUnavailable, "cannot read the list of keys " + path);
  return {};
}

}  // namespace

Error KeyListWriter::cannot_write() const {
  return Error(ErrorCode::kUnavailable,
               "cannot write the list of keys " + name_ + " (--no-key-list does without)");
}

Result<KeyListWriter> KeyListWriter::create(const std::string& database) {
  const auto name = list_of(database), made = name + ".new";
  for (const auto& path : {name, made}) {
    if (may_replace(path)) continue;
    return invalid(path + " exists and is no list of keys that pirx wrote: move it, or give --no-key-list");
  }
  std::error_code ignored;
  std::filesystem::remove(made, ignored);
  // Who may not read the database may not read its keys. A new database gets what the umask leaves.
  struct stat old {};
  const bool there = ::stat(database.c_str(), &old) == 0;
  const mode_t mode = there ? old.st_mode & 0777 : 0666;
  const int fd = ::open(made.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
  KeyListWriter writer(name, std::unique_ptr<std::FILE, Close>(fd < 0 ? nullptr : ::fdopen(fd, "wb")));
  if (!writer.file_ || (there && ::fchmod(fd, mode) != 0)) return tl::unexpected(writer.cannot_write());
  PIRX_TRY(writer.add(kHeader));
  return writer;
}

Result<void> KeyListWriter::add(std::string_view key) {
  const auto line = escape_key(key) + "\n";
  if (std::fwrite(line.data(), 1, line.size(), file_.get()) == line.size()) return {};
  return tl::unexpected(cannot_write());
}

Result<void> KeyListWriter::sync() {
  if (std::fflush(file_.get()) == 0 && ::fsync(::fileno(file_.get())) == 0) return {};
  return tl::unexpected(cannot_write());
}

Result<void> KeyListWriter::commit() {
  if (std::rename((name_ + ".new").c_str(), name_.c_str()) == 0) return {};
  return tl::unexpected(cannot_write());
}

Result<std::vector<std::string>> read_key_list(const std::string& database, const std::string& file) {
  std::vector<std::string> keys;
  if (!file.empty()) {
    PIRX_TRY(read_list(file, keys));
    return keys;
  }
  const auto name = list_of(database);
  std::error_code ignored;
  bool found = false;
  for (const auto& path : {name, name + ".new"}) {
    if (!std::filesystem::exists(path, ignored)) continue;
    // What a crash left may end in the middle of an escape.
    if (auto read = read_list(path, keys); !read && path == name) return tl::unexpected(read.error());
    found = true;
  }
  if (found) return keys;
  return fail(
      ErrorCode::kUnavailable,
      "to change " + database + " all of its keys must be known, and there is no " + name +
          " ('pirx db build --keyed' writes it): give --keys-from FILE, with one key a line, or build again");
}

}  // namespace pirx::cli
