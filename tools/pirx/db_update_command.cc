// SPDX-License-Identifier: Apache-2.0
// pirx db update and pirx db compact: records changed, appended and truncated, here and in encoded buckets.
#include <cinttypes>

#include "cli.h"
#include "key_list.h"
#include "pirx/base/json.h"
#include "pirx/base/small_file.h"
#include "pirx/batchcodes/encode_database.h"
#include "pirx/database/importers.h"
#include "pirx/database/keyed_update.h"
#include "served_database.h"

namespace pirx::cli {
namespace {

namespace fs = std::filesystem;

struct DbUpdateArguments {
  std::string database, changes, buckets, keys_file;
  std::vector<std::string> set, key, append, remove;
  std::optional<std::uint64_t> truncate;
  std::uint64_t max_record_bytes = 0;
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

/// Takes the changes of `--changes` lines, in order.
using TakeLine = std::function<Result<void>(const Json& line, std::uint64_t most_bytes)>;

Result<void> read_lines(const std::string& path, const TakeLine& take) {
  return database::read_json_objects(
      path == "-" ? "/dev/stdin" : path,
      [&take](std::string_view line, std::uint64_t most_bytes) -> Result<void> {
        PIRX_ASSIGN(const auto json,
                    Json::parse(line, {.max_bytes = line.size(), .code = ErrorCode::kInvalidArgument}));
        return take(json, most_bytes);
      });
}

/// {"position": N, "record": TEXT}, {"key": K, "record": TEXT}, {"record": TEXT} or {"truncate": N}.
Result<void> apply_line(database::DatabaseUpdate& update, const Json& json) {
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
  if (a.changes.empty()) return {};
  return read_lines(a.changes, [&update](const Json& line, std::uint64_t most_bytes) -> Result<void> {
    PIRX_TRY(apply_line(update, line));
    if (update.changed_bytes() <= most_bytes) return {};
    return fail(ErrorCode::kResourceExhausted, "the packed changes would make more than " +
                                                   std::to_string(most_bytes >> 20) +
                                                   " MiB of new rows: unpack them yourself if that is meant");
  });
}

/// {"key": K, "record": TEXT} or {"key": K, "remove": true}.
Result<void> take_keyed_line(database::KeyedChanges& changes, const Json& json) {
  PIRX_TRY(json.only({"key", "record", "remove"}));
  PIRX_ASSIGN(const auto key, json["key"].string());
  if (const auto remove = json["remove"]; remove.exists()) {
    if (json["record"].exists()) return json.error("'record' and 'remove' exclude each other");
    PIRX_ASSIGN(const auto really, remove.boolean());
    if (!really) return remove.error("is not true");
    changes[key] = std::nullopt;
    return {};
  }
  PIRX_ASSIGN(const auto record, json["record"].string());
  const auto bytes = as_bytes(record);
  changes[key] = Bytes(bytes.begin(), bytes.end());
  return {};
}

/// `most_bytes`: what they may make of a database, if they are packed.
Result<database::KeyedChanges> keyed_changes(const DbUpdateArguments& a, std::uint64_t& most_bytes) {
  if (a.truncate || !a.append.empty()) {
    return invalid(a.database +
                   " is keyed: its records have no order, so --truncate and --append have no meaning; give "
                   "--key KEY=FILE or --remove KEY");
  }
  if (!a.set.empty()) {
    return invalid(a.database +
                   " is keyed: its records have no positions; give --key KEY=FILE in place of --set");
  }
  database::KeyedChanges changes;
  for (const std::string& text : a.key) {
    PIRX_ASSIGN(const auto parts, split("--key", text));
    PIRX_ASSIGN(const std::string record, read_record(parts.second));
    const auto bytes = as_bytes(record);
    changes[parts.first] = Bytes(bytes.begin(), bytes.end());
  }
  for (const std::string& key : a.remove) changes[key] = std::nullopt;
  if (!a.changes.empty()) {
    PIRX_TRY(read_lines(a.changes, [&](const Json& line, std::uint64_t most) {
      most_bytes = most;
      return take_keyed_line(changes, line);
    }));
  }
  for (const auto& [key, record] : changes) {
    if (a.max_record_bytes != 0 && record && record->size() > a.max_record_bytes) {
      return invalid("the record of key '" + escape_key(key) + "' has " + std::to_string(record->size()) +
                     " bytes, the limit is " + std::to_string(a.max_record_bytes));
    }
  }
  return changes;
}

/// Changes a keyed database, by its list of keys. `before`: what there was before the list is read.
Result<Digest> update_by_key(const DbUpdateArguments& a, const database::Version& before) {
  if (!a.buckets.empty()) {
    return invalid(
        "a keyed database is built anew, and then its buckets, too: leave out --buckets, and run "
        "'pirx db encode " +
        a.database + " ... --out " + a.buckets + "' afterwards");
  }
  database::KeyedUpdateOptions options{.replaces = before};
  PIRX_ASSIGN(const auto changes, keyed_changes(a, options.most_growth_bytes));
  PIRX_ASSIGN(auto keys, read_key_list(a.database, a.keys_file));
  std::optional<KeyListWriter> list;
  std::optional<ProgressLine> line;
  std::chrono::steady_clock::time_point start;
  options.rebuilding = [&](std::uint64_t records, double seconds) -> Result<void> {
    PIRX_ASSIGN(list, KeyListWriter::create(a.database));
    std::fprintf(stderr, "rebuilding %" PRIu64 " records, about %.*f s\n", records, seconds < 10 ? 1 : 0,
                 std::max(seconds, 0.1));
    line.emplace("pirx db update");
    start = std::chrono::steady_clock::now();
    return {};
  };
  options.each_key = [&list](std::string_view key) { return list->add(key); };
  options.before_commit = [&list] { return list->sync(); };
  options.progress = [&line](std::uint64_t done, std::uint64_t total) {
    if (line) line->update(done, total);
  };
  auto done = database::update_keyed(a.database, std::move(keys), changes, options);
  if (!done) {
    const auto& message = done.error().message();
    const bool of_list = message.starts_with("the list of keys");
    return fail(
        done.error().code(),
        (!of_list ? "" : (a.keys_file.empty() ? a.database + ".keys" : a.keys_file) + ": ") + message);
  }
  PIRX_TRY(list->commit());
  line.reset();
  warn_of_long_rows(a.database);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  std::fprintf(stderr, "rebuilt in %.1f s\n", took.count());
  std::printf("%s: epoch %" PRIu64 ", %" PRIu64 " records, built anew\n", a.database.c_str(),
              done->after.epoch, done->records);
  std::printf("%" PRIu64 " added, %" PRIu64 " changed, %" PRIu64 " removed\n", done->added, done->replaced,
              done->removed);
  return done->after.identity;
}

/// Changes a database by position, or by its index of keys.
Result<database::UpdateReport> update_by_position(const DbUpdateArguments& a) {
  if (!a.remove.empty() || !a.keys_file.empty()) {
    return invalid(a.database +
                   " is not keyed: --remove and --keys-from are for keyed databases (--truncate "
                   "removes the last records)");
  }
  PIRX_ASSIGN(auto work, database::DatabaseUpdate::begin(a.database));
  PIRX_TRY(apply(a, work));
  PIRX_ASSIGN(auto report, work.commit());
  std::printf("%s: epoch %" PRIu64 ", %" PRIu64 " records, %zu rows changed, %s in %s.delta\n",
              a.database.c_str(), report.after.epoch, report.records, report.changed_rows.size(),
              human_bytes(report.delta_bytes).c_str(), behind_links(a.database).value_or(a.database).c_str());
  return report;
}

/// PREFIX.1, PREFIX.2, ... as far as there are such files.
Result<std::vector<fs::path>> bucket_files(const std::string& prefix) {
  std::vector<fs::path> files;
  for (;;) {
    fs::path file = prefix + "." + std::to_string(files.size() + 1);
    PIRX_ASSIGN(const bool there, is_there(file));
    if (!there) break;
    files.push_back(std::move(file));
  }
  if (files.empty()) return invalid("there is no bucket " + prefix + ".1");
  constexpr std::size_t kWidestGap = 64;
  for (std::size_t n = files.size() + 2; n < files.size() + 2 + kWidestGap; ++n) {
    const std::string beyond = prefix + "." + std::to_string(n);
    if (is_there(beyond).value_or(false))
      return invalid("there is " + beyond + ", but no " + prefix + "." + std::to_string(files.size() + 1));
  }
  for (const auto& file : files) {  // before the plain database changes
    PIRX_ASSIGN(const auto opened, database::Database::open(file));
    if (opened->bucket() == nullptr) return invalid(file.native() + " is no bucket");
  }
  return files;
}

Result<void> update(const DbUpdateArguments& a) {
  const bool changes = a.truncate || !a.set.empty() || !a.key.empty() || !a.append.empty() ||
                       !a.remove.empty() || !a.changes.empty();
  if (!changes && a.buckets.empty()) {
    return invalid(
        "nothing to do: give --set, --key, --append, --remove, --changes or --truncate, or --buckets");
  }
  std::vector<fs::path> files;
  if (!a.buckets.empty()) {
    PIRX_ASSIGN(files, bucket_files(a.buckets));
  }
  std::optional<database::UpdateReport> report;
  if (changes) {
    PIRX_ASSIGN(const auto before, database::Database::open(a.database));
    if (!files.empty()) PIRX_TRY(batchcodes::check_buckets(*before, files));
    Digest identity{};
    if (before->geometry().keyed() && before->bucket() == nullptr) {
      PIRX_ASSIGN(identity, update_by_key(a, before->version()));
    } else {
      PIRX_ASSIGN(report, update_by_position(a));
      identity = report->after.identity;
    }
    std::printf("identity        %s\n", to_hex(identity).c_str());
  }
  if (files.empty()) return {};
  PIRX_ASSIGN(const auto plain, database::Database::open(a.database));
  const auto encoded = batchcodes::update_buckets(*plain, files, report ? &*report : nullptr, a.threads);
  if (!encoded) {
    const bool again = encoded.error().code() != ErrorCode::kInvalidArgument;
    const std::string then = !report ? ""
                                     : "; " + a.database + " has changed already" +
                                           (again ? ": run 'pirx db update " + a.database + " --buckets " +
                                                        a.buckets + "', without the changes"
                                                  : "");
    return fail(encoded.error().code(), encoded.error().message() + then);
  }
  const auto& done = *encoded;
  if (done.again) warn_of_other_buckets(done.version.epoch);
  for (std::size_t b = 0; b < files.size(); ++b) {
    std::printf("%s: epoch %" PRIu64 ", %" PRIu64 " rows encoded, %s in %s.delta\n", files[b].c_str(),
                done.version.epoch, done.rows, human_bytes(done.delta_bytes[b]).c_str(),
                behind_links(files[b]).value_or(files[b]).c_str());
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
    command.add_option("--set", a->set, "New record at a position; repeatable")
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
                    "{\"record\":TEXT}, {\"truncate\":N}; {\"key\":K,\"remove\":true} of a keyed database")
        ->type_name("FILE");
    command.add_option("--remove", a->remove, "Remove a key from a keyed database, repeatable")
        ->type_name("KEY")
        ->allow_extra_args(false);
    command
        .add_option("--keys-from", a->keys_file,
                    "All keys of a keyed database, one a line, if there is no DATABASE.keys beside it")
        ->type_name("FILE");
    add_size(command, "--max-record-bytes", a->max_record_bytes,
             "Longer records of a keyed database are refused: one that is much longer than all others makes "
             "rows that no server takes by default");
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
        "until SIGHUP or --watch. A keyed database is built anew.\n"
        "Example:\n  pirx db update packages.pirx --key bash=bash.txt");
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
