// SPDX-License-Identifier: Apache-2.0
// Importers: add what people have (folders, CSV, JSON lines, text, binary) to a DatabaseBuilder, as a stream.
// They are a library of their own, pirx::importers. Every error names the file, and the line or row
// if there is one. After an error the builder still holds what came before, so drop the build. The
// limit for a line or row is 64 MiB more than the builder's longest record, and at least 128 MiB.
// ResourceExhausted: a line or row is longer, or memory runs out.
//
// Text (CSV, JSON lines, lines) may be packed by gzip or zstd, which its first bytes tell. DataLoss: packed
// data is damaged or cut off. It is unpacked as a stream, so the limits hold for what comes out.
//
// With a BadRows, rows that cannot be taken are counted there and left out. What is wrong with the file and
// not with a row still ends the import: a column that the header lacks, a quote that is never closed, a
// longer line than the limit.
#pragma once

#include <functional>
#include <span>
#include <utility>

#include "pirx/database/builder.h"

namespace pirx::database {

/// Where key and value of a record come from in a table. Columns are given by their name in the header, or by
/// number from 1.
struct Columns {
  std::string key;                  ///< empty: there are no keys
  std::vector<std::string> values;  ///< empty: the whole line or row; several columns are joined with tabs
};

/// The rows that an import left out because they cannot be taken: a row of another width, a line that is no
/// JSON, a member that is not there, a record that is too long.
struct BadRows {
  static constexpr std::size_t kMostReasons = 5;
  std::uint64_t count = 0;
  std::vector<std::string> reasons;  ///< of the first ones: file, line and cause
};

/// Files and folders whose names begin with a dot.
enum class HiddenFiles : std::uint8_t { kLeaveOut, kTake };

/// What an import of a folder left out. A hidden folder counts once, whatever is in it.
struct LeftOut {
  std::uint64_t hidden = 0, links = 0;
  std::uint64_t others = 0;  ///< pipes, sockets, devices
  friend bool operator==(const LeftOut&, const LeftOut&) = default;
};

/// Adds each regular file below `folder`, sorted by the bytes of its path. The relative path is the key.
/// Links are not followed. InvalidArgument: the database being built lies in the folder.
Result<LeftOut> import_folder(const std::filesystem::path& folder, DatabaseBuilder& builder,
                              HiddenFiles hidden = HiddenFiles::kLeaveOut);
/// Adds the rows of an RFC 4180 file with the given separator; with a tab, a quote is a letter like others.
/// With `header` the first line is a header. A whole row is added as it stands in the file, with its quotes.
/// A byte order mark is skipped. InvalidArgument names line and cause: a missing column, a broken quote, a
/// row of another width. ResourceExhausted: more than 4,096 columns.
Result<void> import_delimited(const std::filesystem::path& file, char separator, bool header,
                              const Columns& columns, DatabaseBuilder& builder, BadRows* bad = nullptr);
/// Adds one record for each line with a JSON object, of at most 65,536 values nested at most 64 levels deep.
/// Blank lines are skipped. The lines may be one JSON array, with the bracket on the first and the last
/// object's line and a comma behind the others, as `sqlite3 -json` prints it. A string value is added as it
/// is, another value as compact JSON with sorted members and with numbers as 64-bit integers or doubles, a
/// whole line as it stands in the file. InvalidArgument: a key or value is null, which is no text, or a key
/// is or holds a number that is not an integer of 64 bits. DataLoss: an array that does not end.
Result<void> import_json_lines(const std::filesystem::path& file, const Columns& columns,
                               DatabaseBuilder& builder, BadRows* bad = nullptr);
/// Calls `row` with the values of each row of such a file, the header's first, until it returns false. For
/// looking at a file before it is imported. Errors are those of import_delimited.
Result<void> read_delimited(const std::filesystem::path& file, char separator,
                            const std::function<bool(std::span<const std::string> values)>& row,
                            BadRows* bad = nullptr);
/// The names and values of an object, in their order.
using JsonMembers = std::vector<std::pair<std::string, std::string>>;
/// Calls `object` with the members of each object of such a file, until it returns
/// false. Members that are null, objects, arrays or numbers read as doubles are left out. Errors are those of
/// import_json_lines.
Result<void> read_json_lines(const std::filesystem::path& file,
                             const std::function<bool(const JsonMembers& members)>& object,
                             BadRows* bad = nullptr);
/// Calls `object` with the text of each object of such a file, of at most 128 MiB, until it gives an error.
/// That one, and others, name file and line. `most_bytes` is what the input may become: no bound if it is not
/// packed.
Result<void> read_json_objects(
    const std::filesystem::path& file,
    const std::function<Result<void>(std::string_view object, std::uint64_t most_bytes)>& object);
/// Adds one record for each line, without the newline; "\r\n" counts as a newline. There are no keys.
Result<void> import_lines(const std::filesystem::path& file, DatabaseBuilder& builder,
                          BadRows* bad = nullptr);
/// Adds records of `record_bytes` bytes each. There are no keys. DataLoss: the file's size is not a multiple
/// of it.
Result<void> import_fixed(const std::filesystem::path& file, std::uint64_t record_bytes,
                          DatabaseBuilder& builder);

}  // namespace pirx::database
