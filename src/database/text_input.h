// SPDX-License-Identifier: Apache-2.0
// TextInput: reads a file line by line with bounded memory. Its errors name the place in the file.
#pragma once

#include "input_stream.h"
#include "pirx/database/importers.h"
#include "src/base/guarded.h"

namespace pirx::database {

class TextInput {
 public:
  /// Lines of more than `max_line_bytes` are refused. Pipes are fine, and so is what gzip or zstd packed.
  static Result<TextInput> open(const std::filesystem::path& file, std::uint64_t max_line_bytes);

  /// Appends the next line, its newline included, to `text`. False at the end of the file. ResourceExhausted
  /// when `text` gets longer than the limit.
  Result<bool> append_line(std::string& text);
  /// Skips a byte order mark, before the first line.
  Result<void> skip_byte_order_mark();
  /// Number of the line read last, from 1.
  std::uint64_t line() const noexcept { return line_; }
  /// "FILE, line N: message".
  tl::unexpected<Error> fail_at(std::uint64_t line, const Error& error) const;
  tl::unexpected<Error> fail_here(std::string message) const {
    return fail_at(line_, Error(ErrorCode::kInvalidArgument, std::move(message)));
  }
  /// What the text that was read may become.
  std::uint64_t most_bytes() const noexcept { return stream_.most(); }
  /// Tells the builder at which line the next record begins, and how much of the file has been read.
  void note_place(std::uint64_t line, DatabaseBuilder& builder) const noexcept {
    builder.note_line(line);
    builder.note_input(stream_.consumed(), stream_.total(), stream_.most());
  }
  /// The row at `line` cannot be taken for `error`: refuse(), unless the builder is broken.
  Result<void> refuse_row(std::uint64_t line, const Error& error, const DatabaseBuilder& builder,
                          BadRows* bad) const;

 private:
  TextInput(InputStream stream, std::filesystem::path file, std::uint64_t max_line_bytes)
      : stream_(std::move(stream)), file_(std::move(file)), max_line_bytes_(max_line_bytes) {}
  Result<void> fill();

  InputStream stream_;
  std::filesystem::path file_;
  std::uint64_t max_line_bytes_;
  std::string buffer_;
  std::size_t used_ = 0;
  std::uint64_t line_ = 0;
};

/// Most bytes of one line or row that is read without a builder.
inline constexpr std::uint64_t kMaxRowBytes = std::uint64_t{128} << 20;
/// Most bytes of one line or row of input for that builder: a record and the columns beside it.
std::uint64_t max_row_bytes(const DatabaseBuilder& builder);
/// The line without "\n" or "\r\n" at its end.
std::string_view without_newline(std::string_view line);
/// Adds to the builder, with a key when `columns` names one.
Result<void> add_row(const Columns& columns, std::string_view key, std::string_view value,
                     DatabaseBuilder& builder);
/// A row cannot be taken for `error`, which names file and line: it ends the import, or with `bad` the row is
/// counted and left out.
Result<void> refuse(const tl::unexpected<Error>& error, BadRows* bad);
/// "a, b, c" for messages; long lists are cut.
std::string listed(const std::vector<std::string>& names);
/// Position of `column` among `names`: by name, or by number from 1 when no column has that name.
/// InvalidArgument lists what there is, or says that the name is not unique.
Result<std::size_t> find_column(const std::vector<std::string>& names, const std::string& column);

}  // namespace pirx::database
