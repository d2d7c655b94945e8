// SPDX-License-Identifier: Apache-2.0
// Importers: any bytes as a table, lines, records or packed data, and any names in a folder. What they take
// becomes a database that is whole.
#include "pirx/database/importers.h"
#include "world.h"

namespace pirx::fuzz {
namespace {

using database::DatabaseBuilder;

database::BuildOptions options_of(unsigned choice, bool keys) {
  database::BuildOptions options;
  options.keyed = keys && (choice & 1) != 0;
  options.duplicates = static_cast<database::Duplicates>(choice / 2 % 4);
  options.records_per_row = choice & 8 ? 2 : 0;
  options.max_record_bytes = 1 << 12;
  options.sort_memory_bytes = choice & 16 ? 1 << 10 : 1 << 20;
  return options;
}

/// Ends the build; what came of it is as sound as any database.
void finish(DatabaseBuilder& builder) {
  const auto report = builder.finish();
  if (!report) return;
  const auto database = database::Database::open(builder.target());
  expect(database && (*database)->verify().has_value(), "what was imported is a sound database");
  expect(report->records > 0, "a database has records");
}

DatabaseBuilder start(unsigned choice, bool keys) {
  std::filesystem::remove(scratch() / "imported.db");
  return DatabaseBuilder::create(scratch() / "imported.db", options_of(choice, keys)).value();
}

Seeds tables() {
  using namespace std::string_view_literals;
  return texts({"\x00\x07\x01k\x01v\x00k,v\n1,one\n2,\"tw\"\"o\"\n"sv,
                "\x01\x03\x01k\x00k,v\r\n1,one\r\n1,two\r\n"sv,
                "\x00\x02\x00\x00\xEF\xBB\xBF"
                "a,b\n\"c\nd\",e\n"sv,
                "\x00\x0f\x01"
                "2\x01"
                "1\x00"
                "a\tb\nc\td\n"sv,
                "\x09\x16\x01"
                "1\x00x;y\nz;\n;\n"sv,
                "\x02\x07\x01v\x01k\x01v\n\"k\",\"v\"\n"sv});
}
Seeds objects() {
  using namespace std::string_view_literals;
  return texts({"\x00\x03\x01k\x01v\x00{\"k\":\"a\",\"v\":\"b\"}\n{\"k\":\"c\",\"v\":[1,2.5,null]}\n"sv,
                "\x00\x02\x00\x00[{\"a\":1},\n{\"a\":2}]\n"sv,
                "\x01\x03\x01k\x00{\"k\":\"\\ud83d\\ude00\"}"sv,
                "\x00\x03\x01k\x00{\"k\":18446744073709551615}\n\n{\"k\":-1e308}\n"sv,
                "\x00\x03\x01k\x01v\x00{\"k\":\"a\",\"v\":{\"z\":1,\"a\":{\"b\":[[[]]]}}}"sv});
}

/// Options, then columns, then the file.
template <class Import>
void table(ByteSpan input, const Import& import) {
  Script script(input);
  const auto choice = script.byte(), how = script.byte();
  database::Columns columns;
  columns.key = script.text();
  for (auto value = script.text(); !value.empty() && columns.values.size() < 8; value = script.text()) {
    columns.values.push_back(value);
  }
  const auto path = write_scratch("table", script.rest());
  auto builder = start(choice, !columns.key.empty());
  database::BadRows bad;
  const auto done = import(path, columns, how, builder, how & 4 ? &bad : nullptr);
  expect(bad.reasons.size() <= database::BadRows::kMostReasons && bad.count >= bad.reasons.size(),
         "bad rows are counted");
  if (done) finish(builder);
}

char separator(unsigned how) { return how & 8 ? '\t' : how & 16 ? ';' : ','; }

}  // namespace

PIRX_FUZZ(import_delimited, tables) {
  table(input, [](const auto& path, const auto& columns, unsigned how, auto& builder, auto* bad) {
    std::size_t rows = 0;
    static_cast<void>(database::read_delimited(
        path, separator(how), [&](auto) { return ++rows < 100; }, nullptr));
    return database::import_delimited(path, separator(how), (how & 2) != 0, columns, builder, bad);
  });
}

PIRX_FUZZ(import_json_lines, objects) {
  table(input, [](const auto& path, const auto& columns, unsigned, auto& builder, auto* bad) {
    std::size_t rows = 0;
    static_cast<void>(database::read_json_lines(
        path, [&](const auto&) { return ++rows < 100; }, nullptr));
    return database::import_json_lines(path, columns, builder, bad);
  });
}

PIRX_FUZZ(import_lines, [] {
  using namespace std::string_view_literals;
  return texts({"\x00\x00one\ntwo\r\nthree"sv, "\x08\x04line\n\n\nline\n"sv,
                "\x00\x23"
                "abcdef"sv});
}) {
  Script script(input);
  const auto choice = script.byte(), how = script.byte();
  const auto path = write_scratch("lines", script.rest());
  auto builder = start(choice, false);
  database::BadRows bad;
  const auto done = how & 1 ? database::import_fixed(path, how / 2 % 64, builder)
                            : database::import_lines(path, builder, how & 4 ? &bad : nullptr);
  if (done) finish(builder);
}

/// gzip or zstd, by the first bytes or by the name.
PIRX_FUZZ(import_packed, [] {
  const char* const packed[] = {"1f8b08000000000002034b54c8c9cc4be54a82500050d3b3860e000000",
                                "28b52ffd045871000061206c696e650a62206c696e650a0c052907",
                                "1f8b0800000000000203000000000000000000", "28b52ffd2000010000"};
  Seeds seeds;
  for (const auto* text : packed) {
    seeds.push_back(from_hex(text).value());
    seeds.back().insert(seeds.back().begin(), std::byte{0});
  }
  return seeds;
}) {
  Script script(input);
  const auto how = script.byte();
  const auto path = write_scratch(how & 1 ? "packed.gz" : how & 2 ? "packed.zst" : "packed", script.rest());
  auto builder = start(0, false);
  if (database::import_lines(path, builder)) finish(builder);
}

PIRX_FUZZ(import_folder, [] {
  using namespace std::string_view_literals;
  return texts(
      {"\x00\x01"
       "a\x02hi\x03"
       "b/c\x03"
       "abc"sv,
       "\x01\x05.hidx\x01x\x04"
       "d/.e\x01y"sv,
       "\x01\x03\xff\xfe\n\x01x\x02"
       "a/\x01z"sv});
}) {
  Script script(input);
  const auto choice = script.byte();
  const auto folder = scratch() / "folder";
  std::error_code error;
  std::filesystem::remove_all(folder, error);
  std::filesystem::create_directory(folder);
  for (unsigned files = 0; files < 20 && !script.empty(); ++files) {
    auto name = script.text();
    const auto content = script.piece();
    name.resize(std::min<std::size_t>(name.find('\0'), name.size()));
    if (name.empty() || name.front() == '/' || name.find("..") != std::string::npos) continue;
    const auto path = folder / name;
    std::filesystem::create_directories(path.parent_path(), error);
    if (error || !path.has_filename() || std::filesystem::is_directory(path, error)) continue;
    if (choice & 64 && files % 4 == 3) {
      std::filesystem::create_symlink("loop", path, error);
      continue;
    }
    write_scratch(std::string("folder/") + name, content);
  }
  auto builder = start(choice, true);
  const auto hidden = choice & 32 ? database::HiddenFiles::kTake : database::HiddenFiles::kLeaveOut;
  if (database::import_folder(folder, builder, hidden)) finish(builder);
}

}  // namespace pirx::fuzz
