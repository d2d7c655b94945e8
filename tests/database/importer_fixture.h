// SPDX-License-Identifier: Apache-2.0
// Runs an importer over text and gives back what it made.
#pragma once

#include "database_fixture.h"
#include "pirx/database/importers.h"

namespace pirx::database {

/// Key (empty without keys) and data of every record, in order of position.
using Rows = std::vector<std::pair<std::string, std::string>>;

/// What `import` (given a builder) makes.
template <class Import>
Result<Rows> imported(const TemporaryFolder& folder, const Import& import, const BuildOptions& options = {}) {
  const auto target = folder / "imported.db";
  PIRX_ASSIGN(auto builder, DatabaseBuilder::create(target, options));
  PIRX_TRY(import(builder));
  PIRX_TRY(builder.finish());
  PIRX_ASSIGN(const auto database, pirx::testing::open_verified(target));
  Rows rows(database->geometry().records());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    PIRX_ASSIGN(const ByteSpan record, database->record(i));
    rows[i].second = as_text(record);
  }
  PIRX_TRY(database->for_each_key([&rows](std::string_view key, std::uint64_t position) {
    rows[position].first = key;
    return true;
  }));
  return rows;
}

/// `text` in a file, then imported by `import(file, builder)`.
template <class Import>
Result<Rows> imported_text(std::string_view text, const Import& import, const BuildOptions& options = {}) {
  const TemporaryFolder folder;
  write_file(folder / "input", as_bytes(text));
  return imported(
      folder, [&](DatabaseBuilder& builder) { return import(folder / "input", builder); }, options);
}

/// Runs `import(file, builder)` over `text` for its errors alone: no database is finished. True when it went
/// well.
template <class Import>
bool survives(const TemporaryFolder& folder, std::string_view text, const Import& import) {
  // A new file each time: some file systems sync a file that is truncated and written again.
  std::filesystem::remove(folder / "input");
  write_file(folder / "input", as_bytes(text));
  auto builder = DatabaseBuilder::create(folder / "dropped.db", {});
  return good(builder) && import(folder / "input", *builder).has_value();
}

/// Text of `size` characters out of `alphabet`.
inline std::string random_text(std::mt19937_64& engine, std::string_view alphabet, std::size_t size) {
  std::string text(size, ' ');
  for (char& c : text) c = alphabet[engine() % alphabet.size()];
  return text;
}

}  // namespace pirx::database
