// import_sqlite() with the limit on the work of one row as an argument, for the tests.
#pragma once

#include "pirx/database/importers.h"

namespace pirx::database {

/// Instructions of SQLite's virtual machine for one row: some ten seconds of work. Sorting or grouping is
/// work for the first row.
inline constexpr std::uint64_t kMaxStepsPerRow = 1'000'000'000;

/// As import_sqlite(). ResourceExhausted when a row takes more than about `max_steps_per_row`.
Result<void> import_sqlite_bounded(const std::filesystem::path& file, const std::string& query,
                                   const Columns& columns, std::uint64_t max_steps_per_row,
                                   DatabaseBuilder& builder);

}  // namespace pirx::database
