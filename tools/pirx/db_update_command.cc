// SPDX-License-Identifier: Apache-2.0
// pirx db update and pirx db compact: records changed, appended and truncated, here and in encoded buckets.
#include <cinttypes>
#include <fstream>

#include "cli.h"
#include "pirx/base/json.h"
#include "pirx/base/small_file.h"
#include "pirx/batchcodes/encode_database.h"
#include "pirx/database/update.h"

namespace pirx::cli {
namespace {

namespace fs = std::filesystem;

struct DbUpdateArguments {
  std::string database, changes, buckets;
  std::vector<std::string> set, key, append;
  std::optional<std::uint64_t> truncate;
  int threads = 0;
};

/// A longer record fits no database whose records vary in length.
Result<std::string> read_record(const std::string& path) {
  return read_file(path, std::size_t{1} << 32, "record");
}

/// "WHAT=FILE" at its last '=' that leaves a file name.
Result<std::pair<std::string, std::string>> split(const std::string& option, const std::string& text) {
  const auto at = text.rfind('=');
  if (at == std::string::npos || at + 1 == text.size()) {
    return invalid(option + " wants '=' and a file with the record, not '" + text + "'");
  }
  return std::pair(text.substr(0, at), text.substr(at + 1));
}

/// The record with that key, or a new one.
Result<void> put(database::DatabaseUpdate& update, const std::string& key, ByteSpan data) {
  auto done = update.set(key, data);
  if (done || done.error().code() != ErrorCode::kOutOfRange) return done;
  return update.append(key, data);
}

/// {"position": N, "record": TEXT}, {"key": K, "record": TEXT}, {"record": TEXT} or {"truncate": N}.
Result<void> apply_line(database::DatabaseUpdate& update, const std::string& line) {
  PIRX_ASSIGN(const auto json,
              Json::parse(line, {.max_bytes = line.size(), .code = ErrorCode::kInvalidArgument}));
  PIRX_TRY(json.only({"position", "key", "record", "truncate"}));
  const auto position = json["position"], key = json["key"], truncate = json["truncate"];
  if (truncate.exists()) {
    if (!json.only({"truncate"})) return truncate.error("stands alone");
    PIRX_ASSIGN(const auto records, truncate.number());
    return update.truncate(records);
  }
  PIRX_ASSIGN(const auto record, json["record"].string());
  if (position.exists()) {
    if (key.exists()) return json.error("'position' and 'key' exclude each other");
    PIRX_ASSIGN(const auto at, position.number());
    return update.set(at, as_bytes(record));
  }
  if (!key.exists()) return update.append(as_bytes(record));
  PIRX_ASSIGN(const auto name, key.string());
  return put(update, name, as_bytes(record));
}

Result<void> apply_lines(database::DatabaseUpdate& update, const std::string& path) {
  std::ifstream in(path);
  std::string line;
  for (std::uint64_t number = 1; std::getline(in, line); ++number) {
    if (line.empty()) continue;
    if (auto applied = apply_line(update, line); !applied) {
      return fail(applied.error().code(),
                  path + " line " + std::to_string(number) + ": " + applied.error().message());
    }
  }
  if (!in.eof()) return fail(ErrorCode::kUnavailable, "cannot read " + path);
  return {};
}

Result<void> apply(const DbUpdateArguments& a, database::DatabaseUpdate& update) {
  if (a.truncate) PIRX_TRY(update.truncate(*a.truncate));
  for (const std::string& text : a.set) {
    PIRX_ASSIGN(const auto parts, split("--set", text));
    const auto position = parse_whole_number(parts.first, 0, ~std::uint64_t{0});
    if (!position) return invalid("--set wants a position before '=', not '" + parts.first + "'");
    PIRX_ASSIGN(const std::string record, read_record(parts.second));
    PIRX_TRY(update.set(*position, as_bytes(record)));
  }
  for (const std::string& text : a.key) {
    PIRX_ASSIGN(const auto parts, split("--key", text));
    PIRX_ASSIGN(const std::string record, read_record(parts.second));
    PIRX_TRY(put(update, parts.first, as_bytes(record)));
  }
  for (const std::string& path : a.append) {
    PIRX_ASSIGN(const std::string record, read_record(path));
    PIRX_TRY(update.append(as_bytes(record)));
  }
  if (!a.changes.empty()) PIRX_TRY(apply_lines(update, a.changes));
  return {};
}

/// PREFIX.1, PREFIX.2, ... as far as there are such files.
Result<std::vector<fs::path>> bucket_files(const std::string& prefix) {
  std::vector<fs::path> files;
  std::error_code ignored;
  for (std::size_t j = 1; fs::exists(prefix + "." + std::to_string(j), ignored); ++j) {
    files.emplace_back(prefix + "." + std::to_string(j));
  }
  if (files.empty()) return invalid("there is no bucket " + prefix + ".1");
  return files;
}

Result<void> update(const DbUpdateArguments& a) {
  const bool changes =
      a.truncate || !a.set.empty() || !a.key.empty() || !a.append.empty() || !a.changes.empty();
  if (!changes && a.buckets.empty()) {
    return invalid("nothing to do: give --set, --key, --append, --changes or --truncate, or --buckets");
  }
  std::vector<fs::path> files;
  if (!a.buckets.empty()) {
    PIRX_ASSIGN(files, bucket_files(a.buckets));
  }
  std::optional<database::UpdateReport> report;
  if (changes) {
    PIRX_ASSIGN(auto work, database::DatabaseUpdate::begin(a.database));
    PIRX_TRY(apply(a, work));
    PIRX_ASSIGN(report, work.commit());
    std::printf("%s: epoch %" PRIu64 ", %" PRIu64 " records, %zu rows changed, %s in %s.delta\n",
                a.database.c_str(), report->after.epoch, report->records, report->changed_rows.size(),
                human_bytes(report->delta_bytes).c_str(), a.database.c_str());
    std::printf("identity        %s\n", to_hex(report->after.identity).c_str());
  }
  if (files.empty()) return {};
  PIRX_ASSIGN(const auto plain, database::Database::open(a.database));
  PIRX_ASSIGN(const auto done,
              batchcodes::update_buckets(*plain, files, report ? &*report : nullptr, a.threads));
  for (std::size_t b = 0; b < files.size(); ++b) {
    std::printf("%s: epoch %" PRIu64 ", %" PRIu64 " rows encoded, %s in %s.delta\n", files[b].c_str(),
                done.version.epoch, done.rows, human_bytes(done.delta_bytes[b]).c_str(), files[b].c_str());
  }
  return {};
}

}  // namespace

void add_db_update(CLI::App& db) {
  {
    auto& command =
        *db.add_subcommand("update", "Change, append or truncate records, at the cost of the change");
    auto a = std::make_shared<DbUpdateArguments>();
    command.add_option("database", a->database, "The plain database file")->required();
    command.add_option("--set", a->set, "New record at a position, repeatable")
        ->type_name("POSITION=FILE")
        ->allow_extra_args(false);
    command.add_option("--key", a->key, "New record with a key; appended when no record has it; repeatable")
        ->type_name("KEY=FILE")
        ->allow_extra_args(false);
    command
        .add_option("--append", a->append, "New record at the end, of a database without keys; repeatable")
        ->type_name("FILE")
        ->allow_extra_args(false);
    command
        .add_option("--changes", a->changes,
                    "JSON lines: {\"position\":N,\"record\":TEXT}, {\"key\":K,\"record\":TEXT}, "
                    "{\"record\":TEXT}, {\"truncate\":N}")
        ->type_name("FILE");
    command.add_option("--truncate", a->truncate, "First of all, keep so many records")
        ->check(whole_number(1, ~std::uint64_t{0}));
    command
        .add_option(
            "--buckets", a->buckets,
            "Bring the buckets PREFIX.1, PREFIX.2, ... to the new epoch; without changes: those that lag")
        ->type_name("PREFIX");
    command.add_option("--threads", a->threads, "Threads; 0: one a core")
        ->capture_default_str()
        ->check(whole_number(0, 1024));
    command.footer(
        "Changes go to DATABASE.delta, which belongs to the file: copy both. Running servers keep their "
        "epoch\n"
        "until SIGHUP or --watch.\n"
        "Example:\n  pirx db update packages.pirx --key bash=bash.txt --buckets packages.bucket");
    set_action(command, [a] { return update(*a); });
  }
  {
    auto& command = *db.add_subcommand("compact", "Write a database and its delta as one file again");
    auto path = std::make_shared<std::string>();
    command.add_option("database", *path, "Database or bucket file")->required();
    command.footer("Example:\n  pirx db compact packages.pirx");
    set_action(command, [path]() -> Result<void> {
      ProgressLine line("pirx db compact");
      return database::compact_database(
          *path, [&line](std::uint64_t done, std::uint64_t total) { line.update(done, total); });
    });
  }
}

}  // namespace pirx::cli
