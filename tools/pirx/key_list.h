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
/// so that after a crash in between read_key_list() finds the keys in either file. It is opened with the
/// first key, which comes when the build has the database to itself, and locked (flock) from then on, for
/// databases that are not there yet. To a whole list that a crash left it adds, since that may be the only
/// one of what is there. What was written of others goes.
class KeyListWriter {
 public:
  /// InvalidArgument: DATABASE.keys is a file of another kind, which must not be lost.
  static Result<KeyListWriter> create(const std::string& database);
  /// Unavailable: the list cannot be written, or another process writes it.
  Result<void> add(std::string_view key);
  /// Brings it to disk; before the database takes its place. Of a list that does not get so far
  /// nothing stays.
  Result<void> sync();
  Result<void> commit();

 private:
  struct Close {
    std::string unfinished;  ///< the file's name until sync()
    off_t before;            ///< its size when it was opened
    void operator()(std::FILE* file) const noexcept;
  };
  KeyListWriter(std::string database, std::string list)
      : database_(std::move(database)), list_(std::move(list)) {}
  Result<void> open();
  Error cannot_write() const;
  std::string database_, list_;
  std::unique_ptr<std::FILE, Close> file_;
};

/// The keys in `file`, which a person wrote; or if that is empty in DATABASE.keys and DATABASE.keys.new.
/// Unavailable: there is no such list. InvalidArgument names the file and line that is no key.
Result<std::vector<std::string>> read_key_list(const std::string& database, const std::string& file);

}  // namespace pirx::cli
