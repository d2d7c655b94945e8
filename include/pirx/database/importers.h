// Importers: what people have (folders, CSV, JSON lines, text, binary, SQLite) into a DatabaseBuilder,
// streaming. A library of its own, pirx::importers. Every error names the file, and the line or row where
// there is one; the builder keeps what came before, so a failed import is a build to be dropped. A line or
// row has at most 64 MiB more than the builder's longest record (at least 128 MiB). ResourceExhausted also
// when memory runs out.
#pragma once

#include "pirx/database/builder.h"

namespace pirx::database {

/// Where a record's key and value come from in tabular input. Columns by header name, or by number from 1.
struct Columns {
  std::string key;                  ///< empty: no keys
  std::vector<std::string> values;  ///< empty: the whole line or row; several are joined with tabs
};

/// Files and folders whose names begin with a dot.
enum class HiddenFiles : std::uint8_t { kLeaveOut, kTake };

/// What an import of a folder left out. A hidden folder counts once, whatever is in it.
struct LeftOut {
  std::uint64_t hidden = 0, links = 0;
  std::uint64_t others = 0;  ///< pipes, sockets, devices
  friend bool operator==(const LeftOut&, const LeftOut&) = default;
};

/// Each regular file below `folder`, in sorted order of path (by bytes); the relative path is the key. Links
/// are not followed. InvalidArgument when the target lies in the folder.
Result<LeftOut> import_folder(const std::filesystem::path& folder, DatabaseBuilder& builder,
                              HiddenFiles hidden = HiddenFiles::kLeaveOut);
/// RFC 4180 with `separator` (',' or '\t'); quotes only for ','. The first line is a header when `header`.
/// A whole row is taken as it stands in the file, quotes included. A byte order mark is skipped.
/// InvalidArgument names line and cause: missing column, broken quote, row of another width.
/// ResourceExhausted: more than 4,096 columns.
Result<void> import_delimited(const std::filesystem::path& file, char separator, bool header,
                              const Columns& columns, DatabaseBuilder& builder);
/// One JSON object per line, of at most 65,536 values nested at most 64 levels; blank lines are skipped.
/// String values as they are, others as compact JSON with sorted members and numbers as 64-bit integers or
/// doubles; a whole line as it stands in the file. A null key or value is InvalidArgument: it is no text.
Result<void> import_json_lines(const std::filesystem::path& file, const Columns& columns,
                               DatabaseBuilder& builder);
/// One record per line, without the newline; "\r\n" counts as a newline. No keys.
Result<void> import_lines(const std::filesystem::path& file, DatabaseBuilder& builder);
/// Records of `record_bytes` bytes each. DataLoss when the file's size is no multiple. No keys.
Result<void> import_fixed(const std::filesystem::path& file, std::uint64_t record_bytes,
                          DatabaseBuilder& builder);
/// The rows of one SELECT over a file opened read-only. Text and blobs as they are, numbers as SQLite prints
/// them; a whole row is its columns joined with tabs. NULL is InvalidArgument: it is no text.
/// ResourceExhausted for a row that takes 10^9 steps of SQLite or more than 4 times the bytes of the longest
/// row; while it runs, the process has that as SQLite's hard heap limit unless it has one of its own. A view
/// in the file can make rows without end: with a stranger's file, watch the progress. Built where SQLite is
/// (PIRX_WITH_SQLITE), else InvalidArgument.
Result<void> import_sqlite(const std::filesystem::path& file, const std::string& query,
                           const Columns& columns, DatabaseBuilder& builder);

}  // namespace pirx::database
