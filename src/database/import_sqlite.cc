// Imports the rows of one SELECT over an SQLite file that is opened read-only. In a build without SQLite
// it refuses.
#include "import_sqlite.h"

#include "text_input.h"

#if defined(PIRX_WITH_SQLITE)

#include <sqlite3.h>

#include <algorithm>
#include <limits>

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

/// Ends a row that takes too many steps: a view of a hostile file may never come to one.
struct StepBound {
  static constexpr int kPeriod = 1000;
  std::uint64_t most = 0, steps = 0;

  /// For sqlite3_progress_handler: every kPeriod steps.
  static int count(void* bound) {
    auto& self = *static_cast<StepBound*>(bound);
    self.steps += kPeriod;
    return self.steps > self.most ? 1 : 0;
  }
};

/// Bounds SQLite's memory while it lives: the length of a value is limited, but one row can make thousands.
/// The limit is the process's (there is no other), above what is in use now, and a host's own one stays.
class HeapBound {
 public:
  explicit HeapBound(std::uint64_t bytes) : host_soft_limit_(sqlite3_soft_heap_limit64(-1)) {
    constexpr std::uint64_t kMost = std::uint64_t{1} << 62;
    if (!ours_) return;
    sqlite3_hard_heap_limit64(sqlite3_memory_used() + static_cast<sqlite3_int64>(std::min(bytes, kMost)));
  }
  ~HeapBound() {
    if (!ours_) return;
    sqlite3_hard_heap_limit64(0);  // Takes the soft limit with it.
    sqlite3_soft_heap_limit64(host_soft_limit_);
  }
  HeapBound(const HeapBound&) = delete;
  HeapBound& operator=(const HeapBound&) = delete;

 private:
  bool ours_ = sqlite3_hard_heap_limit64(-1) == 0;
  sqlite3_int64 host_soft_limit_;
};

/// What a failed call of SQLite means, when it says nothing of its own about the file or the query.
ErrorCode code_of(int result, ErrorCode otherwise) {
  switch (result) {
    case SQLITE_NOMEM:
    case SQLITE_TOOBIG:
      return ErrorCode::kResourceExhausted;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return ErrorCode::kUnavailable;
    case SQLITE_NOTADB:
    case SQLITE_CORRUPT:
      return ErrorCode::kDataLoss;
    default:
      return otherwise;
  }
}

/// The column as bytes: blobs and text as they are, numbers as SQLite prints them. Valid until the next step.
/// InvalidArgument for NULL.
Result<std::string_view> column_bytes(sqlite3_stmt* row, std::size_t column, const std::string& name) {
  const int i = static_cast<int>(column);
  if (sqlite3_column_type(row, i) == SQLITE_NULL) {
    return fail(ErrorCode::kInvalidArgument,
                "column \"" + printable(name) +
                    "\" is NULL, which is no text: leave such rows out (WHERE ... IS NOT NULL), or say what "
                    "stands for it (coalesce)");
  }
  const void* data = sqlite3_column_blob(row, i);  // First: it settles the type that the size is for.
  return std::string_view(static_cast<const char*>(data),
                          data == nullptr ? 0 : static_cast<std::size_t>(sqlite3_column_bytes(row, i)));
}

Result<void> import_query(const std::filesystem::path& file, const std::string& query, const Columns& columns,
                          std::uint64_t max_steps_per_row, DatabaseBuilder& builder) {
  const std::string where = printable(file.native()) + ": ";
  bool denied = false;
  StepBound bound{max_steps_per_row};
  // A row, and what SQLite copies of it while it sorts or converts.
  const HeapBound heap(4 * max_row_bytes(builder));
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
  // An expression may be short and its value huge.
  constexpr std::uint64_t kMostInt = std::numeric_limits<int>::max();
  sqlite3_limit(database.get(), SQLITE_LIMIT_LENGTH,
                static_cast<int>(std::min(max_row_bytes(builder), kMostInt)));
  sqlite3_progress_handler(database.get(), StepBound::kPeriod, &StepBound::count, &bound);

  const auto prepare = [&](const char* text, SqlitePtr<sqlite3_stmt>& statement, const char** rest) {
    sqlite3_stmt* made = nullptr;
    const int result = sqlite3_prepare_v2(database.get(), text, -1, &made, rest);
    statement.reset(made);
    return result;
  };
  SqlitePtr<sqlite3_stmt> rows, behind;
  const char* rest = nullptr;
  if (const int prepared = prepare(query.c_str(), rows, &rest); prepared != SQLITE_OK) {
    return sqlite_error(code_of(prepared, ErrorCode::kInvalidArgument));
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

  const std::uint64_t most_bytes = builder.options().max_record_bytes;
  std::string value, key_text;
  for (std::uint64_t row = 1;; ++row) {
    const auto refuse_row = [&](ErrorCode code, const std::string& cause) {
      return fail(code, where + "row " + std::to_string(row) + " of the query: " + cause);
    };
    bound.steps = 0;
    const int stepped = sqlite3_step(rows.get());
    if (stepped == SQLITE_DONE) return {};
    if (stepped == SQLITE_INTERRUPT) {
      return refuse_row(ErrorCode::kResourceExhausted,
                        "took more than " + std::to_string(max_steps_per_row) +
                            " steps of SQLite; it, or a view in the file, may never end");
    }
    if (stepped != SQLITE_ROW) return sqlite_error(code_of(stepped, ErrorCode::kDataLoss));
    value.clear();
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (i != 0) value += '\t';
      const auto bytes = column_bytes(rows.get(), values[i], names[values[i]]);
      if (!bytes) return refuse_row(bytes.error().code(), bytes.error().message());
      value += *bytes;
      // At once, before the next column takes its memory.
      if (value.size() > most_bytes) {
        return refuse_row(ErrorCode::kResourceExhausted,
                          "a record longer than the limit of " + std::to_string(most_bytes) + " bytes");
      }
    }
    if (!columns.key.empty()) {
      const auto bytes = column_bytes(rows.get(), key, names[key]);
      if (!bytes) return refuse_row(bytes.error().code(), bytes.error().message());
      key_text = *bytes;
    }
    // A column that SQLite had no memory for reads as an empty one.
    if (sqlite3_errcode(database.get()) == SQLITE_NOMEM) return sqlite_error(ErrorCode::kResourceExhausted);
    if (auto added = add_row(columns, key_text, value, builder); !added) {
      return refuse_row(added.error().code(), added.error().message());
    }
  }
}

}  // namespace

Result<void> import_sqlite_bounded(const std::filesystem::path& file, const std::string& query,
                                   const Columns& columns, std::uint64_t max_steps_per_row,
                                   DatabaseBuilder& builder) {
  return guarded([&] { return import_query(file, query, columns, max_steps_per_row, builder); });
}

Result<void> import_sqlite(const std::filesystem::path& file, const std::string& query,
                           const Columns& columns, DatabaseBuilder& builder) {
  return import_sqlite_bounded(file, query, columns, kMaxStepsPerRow, builder);
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
