// The rows of one SELECT over an SQLite file that is opened read-only. Built without SQLite, it says so.
#include "text_input.h"

#if defined(PIRX_WITH_SQLITE)

#include <sqlite3.h>

namespace pirx::database {
namespace {

struct CloseSqlite {
  void operator()(sqlite3* database) const noexcept { sqlite3_close(database); }
  void operator()(sqlite3_stmt* statement) const noexcept { sqlite3_finalize(statement); }
};
template <class T>
using SqlitePtr = std::unique_ptr<T, CloseSqlite>;

/// Nothing but reading: no ATTACH, no PRAGMA, no writing, whatever the query says. `denied` is a bool that
/// remembers.
int allow_reading_only(void* denied, int action, const char*, const char*, const char*, const char*) {
  switch (action) {
    case SQLITE_SELECT:
    case SQLITE_READ:
    case SQLITE_FUNCTION:
    case SQLITE_RECURSIVE:
      return SQLITE_OK;
    default:
      *static_cast<bool*>(denied) = true;
      return SQLITE_DENY;
  }
}

/// The column as bytes: blobs and text as they are, numbers as SQLite prints them, NULL as nothing. Valid
/// until the next step.
std::string_view column_bytes(sqlite3_stmt* row, std::size_t column) {
  const int i = static_cast<int>(column);
  const void* data = sqlite3_column_blob(row, i);  // First: it settles the type that the size is for.
  return {static_cast<const char*>(data),
          data == nullptr ? 0 : static_cast<std::size_t>(sqlite3_column_bytes(row, i))};
}

}  // namespace

Result<void> import_sqlite(const std::filesystem::path& file, const std::string& query,
                           const Columns& columns, DatabaseBuilder& builder) {
  const std::string where = printable(file.native()) + ": ";
  bool denied = false;
  sqlite3* opened = nullptr;
  const int open_result = sqlite3_open_v2(file.c_str(), &opened, SQLITE_OPEN_READONLY, nullptr);
  const SqlitePtr<sqlite3> database(opened);
  const auto sqlite_error = [&](ErrorCode code) {
    if (denied)
      return fail(ErrorCode::kInvalidArgument, where + "only a query that reads (SELECT) is allowed");
    return fail(code, where + printable(database ? sqlite3_errmsg(database.get()) : "out of memory"));
  };
  const auto invalid = [&](const std::string& message) {
    return fail(ErrorCode::kInvalidArgument, where + message);
  };
  if (open_result != SQLITE_OK) return sqlite_error(ErrorCode::kUnavailable);
  // The file may be hostile: its schema is not trusted to call anything.
  sqlite3_db_config(database.get(), SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(database.get(), SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_set_authorizer(database.get(), &allow_reading_only, &denied);

  const auto prepare = [&](const char* text, SqlitePtr<sqlite3_stmt>& statement, const char** rest) {
    sqlite3_stmt* made = nullptr;
    const int result = sqlite3_prepare_v2(database.get(), text, -1, &made, rest);
    statement.reset(made);
    return result;
  };
  SqlitePtr<sqlite3_stmt> rows, behind;
  const char* rest = nullptr;
  switch (prepare(query.c_str(), rows, &rest)) {
    case SQLITE_OK:
      break;
    case SQLITE_NOTADB:
    case SQLITE_CORRUPT:
      return sqlite_error(ErrorCode::kDataLoss);
    default:
      return sqlite_error(ErrorCode::kInvalidArgument);
  }
  if (!rows) return invalid("the query is empty");
  // What follows may be blank or a comment, which prepares to nothing.
  if (prepare(rest, behind, nullptr) != SQLITE_OK || behind) return invalid("only one query is allowed");

  std::vector<std::string> names;
  for (int i = 0; i < sqlite3_column_count(rows.get()); ++i) {
    const char* name = sqlite3_column_name(rows.get(), i);
    names.emplace_back(name == nullptr ? "" : name);
  }
  const auto column_of = [&](const std::string& column) -> Result<std::size_t> {
    auto found = find_column(names, column);
    if (!found) return invalid(found.error().message());
    return found;
  };
  std::size_t key = 0;
  if (!columns.key.empty()) {
    PIRX_ASSIGN(key, column_of(columns.key));
  }
  std::vector<std::size_t> values;
  for (const std::string& column : columns.values) {
    PIRX_ASSIGN(const std::size_t value, column_of(column));
    values.push_back(value);
  }
  for (std::size_t i = 0; columns.values.empty() && i < names.size(); ++i) values.push_back(i);

  std::string value, key_text;
  for (std::uint64_t row = 1;; ++row) {
    const int stepped = sqlite3_step(rows.get());
    if (stepped == SQLITE_DONE) return {};
    if (stepped == SQLITE_BUSY || stepped == SQLITE_LOCKED) return sqlite_error(ErrorCode::kUnavailable);
    if (stepped != SQLITE_ROW) return sqlite_error(ErrorCode::kDataLoss);
    value.clear();
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (i != 0) value += '\t';
      value += column_bytes(rows.get(), values[i]);
    }
    if (!columns.key.empty()) key_text = column_bytes(rows.get(), key);
    if (auto added = add_row(columns, key_text, value, builder); !added) {
      return fail(added.error().code(),
                  where + "row " + std::to_string(row) + " of the query: " + added.error().message());
    }
  }
}

}  // namespace pirx::database

#else

namespace pirx::database {

Result<void> import_sqlite(const std::filesystem::path& file, const std::string&, const Columns&,
                           DatabaseBuilder&) {
  return fail(ErrorCode::kInvalidArgument, "cannot read " + printable(file.native()) +
                                               ": this pirx was built without SQLite (PIRX_WITH_SQLITE)");
}

}  // namespace pirx::database

#endif
