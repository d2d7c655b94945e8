// SPDX-License-Identifier: Apache-2.0
// Reads a small file as a whole, with a limit on its length, and replaces a file in one step.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "pirx/base/result.h"

namespace pirx {

/// Reads a file. `what` names it in messages ("deployment file"). With `regular_only` it refuses everything
/// but regular files, and does not wait for the writer of a pipe. Unavailable: it cannot be opened or read.
/// DataLoss: it is longer than `limit` bytes.
Result<std::string> read_file(const std::filesystem::path& path, std::size_t limit,
                              std::string_view what = "file", bool regular_only = false);

/// Replaces the file at `path` by `text`, or a link there (see behind_links). Writes another file beside
/// it, syncs that and renames it, so that after any failure the file is the old one or the new one. `mode` is
/// that of open(2). Of an old file it is the most that the new one allows, whose access is otherwise the old
/// one's (give_access_of). ResourceExhausted: the disk is full. Unavailable: any other failure.
Result<void> replace_file(const std::filesystem::path& path, std::string_view text, unsigned mode = 0644);

/// The file that a link leads to, so that the link stays one when the file is replaced. The path itself if it
/// is no link, or one that leads nowhere. Unavailable: a link cannot be read.
Result<std::filesystem::path> behind_links(const std::filesystem::path& path);

/// Whether there is something at `path`, if only a link that leads nowhere. Unavailable: that cannot be told.
Result<bool> is_there(const std::filesystem::path& path);

/// Makes a folder, and those above it, if they do not exist. A failure shows when the folder is used next.
void make_folders(const std::filesystem::path& path) noexcept;

/// Locks the folder of `path`, or of the file to which that links, for this process until the result is
/// destroyed, so that a caller can read a file once more before replace_file(). Only callers of this function
/// respect the lock; on a file system without such locks it does nothing. Unavailable: another process has
/// held it for ten seconds.
Result<std::shared_ptr<void>> lock_folder(const std::filesystem::path& path);

/// Gives a file the permissions (of those in `most`), the access control list, the group and, for root, the
/// owner of the one at `other`. If the group or the list cannot be set, the group may do no more than
/// everybody. False: errno says why.
bool give_access_of(const std::filesystem::path& other, int fd, unsigned most = 0777) noexcept;

}  // namespace pirx
