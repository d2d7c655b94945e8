// SPDX-License-Identifier: Apache-2.0
// The list of a keyed database's keys, in DATABASE.keys beside it: one a line, escaped as `pirx db list`
// writes keys. Servers and clients need no such list; `pirx db update` does.
#pragma once

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "pirx/base/result.h"

namespace pirx::cli {

/// Writes DATABASE.keys.new, and gives it its name after the database is in place. It is on disk before that,
/// so that after a crash in between read_key_list() finds the keys in either file.
class KeyListWriter {
 public:
  /// InvalidArgument: DATABASE.keys is a file of another kind, which must not be lost. Unavailable: it cannot
  /// be written.
  static Result<KeyListWriter> create(const std::string& database);
  Result<void> add(std::string_view key);
  /// Brings it to disk; before the database takes its place.
  Result<void> sync();
  Result<void> commit();

 private:
  struct Close {
    void operator()(std::FILE* file) const noexcept { std::fclose(file); }
  };
  KeyListWriter(std::string name, std::unique_ptr<std::FILE, Close> file)
      : name_(std::move(name)), file_(std::move(file)) {}
  Error cannot_write() const;
  std::string name_;
  std::unique_ptr<std::FILE, Close> file_;
};

/// The keys in `file`, which a person wrote; or if that is empty in DATABASE.keys and DATABASE.keys.new.
/// Unavailable: there is no such list. InvalidArgument names the file and line that is no key.
Result<std::vector<std::string>> read_key_list(const std::string& database, const std::string& file);

}  // namespace pirx::cli
