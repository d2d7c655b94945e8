// SPDX-License-Identifier: Apache-2.0
// Importers without columns: a folder of files, lines of text, and records of equal size.
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "text_input.h"

namespace pirx::database {
namespace {

namespace fs = std::filesystem;

Error folder_error(const fs::path& folder, const std::error_code& error) {
  return system_error("read", folder, error.value());
}

/// Relative paths of the regular files below `folder`, sorted by bytes. Links are not followed.
Result<std::vector<std::string>> list_files(const fs::path& folder, HiddenFiles hidden, LeftOut& left_out) {
  std::vector<std::string> names;
  std::error_code error;
  fs::recursive_directory_iterator files(folder, error);
  while (!error && files != fs::recursive_directory_iterator()) {
    const auto type = files->symlink_status(error).type();
    if (hidden == HiddenFiles::kLeaveOut && files->path().filename().native().starts_with('.')) {
      ++left_out.hidden;
      files.disable_recursion_pending();
    } else if (type == fs::file_type::regular) {
      names.push_back(files->path().lexically_relative(folder).native());
    } else if (type != fs::file_type::directory) {
      ++(type == fs::file_type::symlink ? left_out.links : left_out.others);
    }
    if (!error) files.increment(error);
  }
  if (error) return tl::unexpected(folder_error(folder, error));
  std::sort(names.begin(), names.end());
  return names;
}

Result<Fd> open_folder(const fs::path& folder) {
  Fd fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd) return tl::unexpected(system_error("read", folder, errno));
  return fd;
}

/// Opens a file that was listed, name by name from its folder on: what became a link since then is not
/// followed.
Result<OpenedFile> open_listed(const Fd& folder, const fs::path& name, const fs::path& file) {
  OpenedFile opened;
  for (auto part = name.begin(); part != name.end(); ++part) {
    const int at = opened.fd ? opened.fd.get() : folder.get();
    const int kind = std::next(part) == name.end() ? O_RDONLY | O_NONBLOCK : O_PATH | O_DIRECTORY;
    opened.fd = Fd(::openat(at, part->c_str(), kind | O_NOFOLLOW | O_CLOEXEC));
    if (!opened.fd) return tl::unexpected(system_error("open", file, errno));
  }
  if (::fstat(opened.fd.get(), &opened.status) != 0) return tl::unexpected(system_error("open", file, errno));
  if (S_ISREG(opened.status.st_mode)) return opened;
  return fail(ErrorCode::kUnavailable, "cannot read " + printable(file.native()) + ": not a regular file");
}

/// The whole file into `data`, if it has at most `limit` bytes.
Result<void> read_whole(const OpenedFile& opened, const fs::path& file, std::uint64_t limit, Bytes& data) {
  const std::uint64_t size = opened.bytes();
  if (size > limit) {
    return fail(ErrorCode::kResourceExhausted,
                printable(file.native()) + ": the file has " + std::to_string(size) +
                    " bytes, the limit of a record is " + std::to_string(limit));
  }
  data.resize(size + 1);  // One more, to see that the file ends.
  PIRX_ASSIGN(const std::size_t count, read_full(opened.fd.get(), data, file));
  data.resize(size);
  return check_unchanged(opened, count, file);
}

Result<LeftOut> add_folder(const fs::path& folder, DatabaseBuilder& builder, HiddenFiles hidden) {
  std::error_code error;
  const fs::path real_folder = fs::canonical(folder, error);
  if (error) return tl::unexpected(folder_error(folder, error));
  const fs::path target = fs::weakly_canonical(builder.target(), error);
  if (error) return tl::unexpected(folder_error(builder.target(), error));
  if (const fs::path inside = target.lexically_relative(real_folder);
      !inside.empty() && *inside.begin() != "..") {
    return invalid("the database " + printable(builder.target().native()) +
                   " would lie in the folder that it is made from, " + printable(folder.native()) +
                   "; write it elsewhere");
  }
  PIRX_ASSIGN(const Fd listed, open_folder(real_folder));
  LeftOut left_out;
  PIRX_ASSIGN(const std::vector<std::string> names, list_files(real_folder, hidden, left_out));
  Bytes data;
  for (const std::string& name : names) {
    const fs::path file = real_folder / name;
    PIRX_ASSIGN(const OpenedFile opened, open_listed(listed, name, file));
    PIRX_TRY(read_whole(opened, file, builder.options().max_record_bytes, data));
    if (auto added = builder.add(name, data); !added) {
      return with_path(file, added.error());
    }
  }
  return left_out;
}

Result<void> add_lines(const fs::path& file, DatabaseBuilder& builder, BadRows* bad) {
  PIRX_ASSIGN(TextInput input, TextInput::open(file, max_row_bytes(builder)));
  for (std::string line;; line.clear()) {
    PIRX_ASSIGN(const bool more, input.append_line(line));
    if (!more) return {};
    input.note_place(input.line(), builder);
    if (auto added = builder.add(as_bytes(without_newline(line))); !added) {
      PIRX_TRY(input.refuse_row(input.line(), added.error(), builder, bad));
    }
  }
}

Result<void> add_fixed(const fs::path& file, std::uint64_t record_bytes, DatabaseBuilder& builder) {
  if (record_bytes == 0) return invalid("records need a size of at least one byte");
  if (record_bytes > builder.options().max_record_bytes) {
    return fail(ErrorCode::kResourceExhausted, "records of " + std::to_string(record_bytes) +
                                                   " bytes are longer than the limit of " +
                                                   std::to_string(builder.options().max_record_bytes));
  }
  PIRX_ASSIGN(const OpenedFile opened, open_input(file));
  const auto wrong_size = [&](const std::string& bytes) {
    return fail(ErrorCode::kDataLoss, printable(file.native()) + ": " + bytes +
                                          " bytes are no multiple of the record size, " +
                                          std::to_string(record_bytes));
  };
  if (S_ISREG(opened.status.st_mode)) {
    const std::uint64_t size = opened.bytes();
    if (size % record_bytes != 0) return wrong_size(std::to_string(size));
    if (size == 0) return {};
  }
  Bytes buffer(std::max<std::uint64_t>(1, (std::uint64_t{1} << 20) / record_bytes) * record_bytes);
  for (std::uint64_t total = 0;;) {
    PIRX_ASSIGN(const std::size_t count, read_full(opened.fd.get(), buffer, file));
    total += count;
    if (S_ISREG(opened.status.st_mode)) builder.note_input(total, opened.bytes());
    if (count % record_bytes != 0) return wrong_size(std::to_string(total));
    for (std::size_t at = 0; at < count; at += record_bytes) {
      if (auto added = builder.add(ByteSpan(buffer).subspan(at, record_bytes)); !added) {
        return with_path(file, added.error());
      }
    }
    if (count < buffer.size()) return check_unchanged(opened, total, file);
  }
}

}  // namespace

Result<LeftOut> import_folder(const fs::path& folder, DatabaseBuilder& builder, HiddenFiles hidden) {
  return guarded([&] { return add_folder(folder, builder, hidden); });
}

Result<void> import_lines(const fs::path& file, DatabaseBuilder& builder, BadRows* bad) {
  return guarded([&] { return add_lines(file, builder, bad); });
}

Result<void> import_fixed(const fs::path& file, std::uint64_t record_bytes, DatabaseBuilder& builder) {
  return guarded([&] { return add_fixed(file, record_bytes, builder); });
}

}  // namespace pirx::database
