// SPDX-License-Identifier: Apache-2.0
// pirx db: build, info, verify, get, list.
#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <fstream>
#include <iostream>

#include "cli.h"
#include "db_build.h"
#include "key_list.h"
#include "pirx/base/json.h"
#include "pirx/base/small_file.h"
#include "pirx/batchcodes/encode_database.h"
#include "pirx/database/database.h"
#include "pirx/database/importers.h"
#include "served_database.h"

namespace pirx::cli {
namespace {

namespace fs = std::filesystem;

struct Epoch {
  std::uint64_t number;
  std::optional<database::Version> replaces;  ///< as in BuildOptions; nothing where the old file is damaged
};

/// The epoch of the new file: `wanted`, or one more than that of the database it replaces, or 1.
/// InvalidArgument when the target is a file of another kind, which must not be lost, or when epochs would
/// not grow.
Result<Epoch> choose_epoch(const std::string& target, std::uint64_t wanted) {
  const auto old = database::Database::open_if_there(target);
  if (old && *old == nullptr) return Epoch{std::max<std::uint64_t>(wanted, 1), database::Version()};
  if (old) {
    const std::uint64_t before = (*old)->version().epoch;
    if (before == ~std::uint64_t{0}) {
      return invalid(
          "the file to replace has the last epoch that there can be: choose another name, or remove it");
    }
    if (wanted != 0 && wanted <= before) {
      return invalid("--epoch " + std::to_string(wanted) + " does not follow epoch " +
                     std::to_string(before) + " of the file to replace: epochs only grow");
    }
    return Epoch{std::max(wanted, before + 1), (*old)->version()};
  }
  constexpr std::string_view kMagic = "PIRXDB\r\n";
  char head[kMagic.size()] = {};
  std::error_code ignored;
  const auto status = std::filesystem::status(target, ignored);
  if (is_regular_file(status)) std::ifstream(target, std::ios::binary).read(head, sizeof head);
  if (std::string_view(head, sizeof head) != kMagic) {
    // It may be one that this user may not read, or on a disk that is not there.
    const bool known = is_directory(status) || is_other(status);
    if (!known && old.error().code() == ErrorCode::kUnavailable) return tl::unexpected(old.error());
    return invalid(target + " exists and is no pirx database: choose another name, or remove it first");
  }
  if (wanted == 0) {
    return invalid("the database to replace cannot be read, so its epoch is not known (" +
                   old.error().message() + "): give --epoch, above every one that it had");
  }
  return Epoch{wanted, std::nullopt};
}

/// Says what was left out at once, since nothing may be left.
Result<void> import_folder(const BuildArguments& a, database::DatabaseBuilder& builder) {
  const auto hidden = a.hidden ? database::HiddenFiles::kTake : database::HiddenFiles::kLeaveOut;
  PIRX_ASSIGN(const auto left_out, database::import_folder(a.input, builder, hidden));
  if (left_out == database::LeftOut()) return {};
  std::fprintf(stderr,
               "pirx: left out of %s: %" PRIu64 " hidden files or folders (--hidden takes them), %" PRIu64
               " links, %" PRIu64 " pipes, sockets or devices\n",
               a.input.c_str(), left_out.hidden, left_out.links, left_out.others);
  return {};
}

/// Says which rows --skip-bad-rows left out: never in silence.
void print_bad_rows(const database::BadRows& bad) {
  if (bad.count == 0) return;
  std::fprintf(stderr, "pirx: left out %" PRIu64 " %s that cannot be taken (--skip-bad-rows):\n", bad.count,
               bad.count == 1 ? "row" : "rows");
  for (const auto& reason : bad.reasons) std::fprintf(stderr, "  %s\n", reason.c_str());
  if (bad.count > bad.reasons.size()) {
    std::fprintf(stderr, "  and %" PRIu64 " more\n", bad.count - bad.reasons.size());
  }
}

Result<void> import(const BuildArguments& a, database::DatabaseBuilder& builder, database::BadRows* bad) {
  const database::Columns columns{.key = a.key, .values = a.values};
  if (a.format == "folder") return import_folder(a, builder);
  const std::string input = a.input == "-" ? "/dev/stdin" : a.input;
  if (a.format == "csv" || a.format == "tsv") {
    PIRX_ASSIGN(const char separator, separator_of(a));
    return database::import_delimited(input, separator, !a.no_header, columns, builder, bad);
  }
  if (a.format == "jsonl") return database::import_json_lines(input, columns, builder, bad);
  if (a.format == "lines") return database::import_lines(input, builder, bad);
  return database::import_fixed(input, a.record_bytes, builder);
}

double slots_per_key(const database::Geometry& geometry) {
  return static_cast<double>(geometry.rows()) * static_cast<double>(geometry.spec().records_per_row) /
         static_cast<double>(geometry.records());
}

void print_geometry(const database::Geometry& geometry, const database::Version& version) {
  std::printf("records         %" PRIu64 "\n", geometry.records());
  std::printf("record length   %s%" PRIu64 " bytes\n", geometry.spec().variable_length ? "up to " : "",
              geometry.record_bytes());
  std::printf("rows            %" PRIu64 " x %" PRIu64 " bytes, %" PRIu64 " %s each\n", geometry.rows(),
              geometry.row_bytes(), geometry.spec().records_per_row, geometry.keyed() ? "slots" : "records");
  if (geometry.keyed()) {
    std::printf("keyed           yes, %.3f slots a key\n", slots_per_key(geometry));
  }
  std::printf("record digests  %s\n", geometry.spec().digests ? "yes" : "no");
  std::printf("epoch           %" PRIu64 "\n", version.epoch);
  std::printf("identity        %s\n", to_hex(version.identity).c_str());
}

}  // namespace

Result<std::string> format_of(const std::string& input) {
  std::error_code ignored;
  if (fs::is_directory(input, ignored)) return std::string("folder");
  static constexpr std::pair<const char*, const char*> kSuffixes[] = {
      {".csv", "csv"},      {".tsv", "tsv"},    {".tab", "tsv"},  {".jsonl", "jsonl"},
      {".ndjson", "jsonl"}, {".json", "jsonl"}, {".txt", "lines"}};
  const auto suffix_of = [](const fs::path& path) {
    auto suffix = path.extension().string();
    for (char& c : suffix) {
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    }
    return suffix;
  };
  auto suffix = suffix_of(input);
  if (suffix == ".gz" || suffix == ".zst") suffix = suffix_of(fs::path(input).stem());
  for (const auto& [end, format] : kSuffixes) {
    if (suffix == end) return std::string(format);
  }
  if (input == "-") return invalid("'-' is standard input: say by --from what is in it");
  return invalid("the name of " + input +
                 " does not say what is in it: give --from folder, csv, tsv, jsonl, lines or fixed");
}

Result<char> separator_of(const BuildArguments& a) {
  if (a.separator.empty()) return a.format == "tsv" ? '\t' : ',';
  if (a.format != "csv") return invalid("--separator goes with --from csv only");
  if (a.separator == "tab" || a.separator == "\\t") return '\t';
  if (a.separator.size() == 1 && a.separator[0] != '\0') return a.separator[0];
  return invalid("--separator takes one character of one byte, or tab");
}

void add_table_options(CLI::App& command, BuildArguments& a, const std::string& key_help) {
  command
      .add_option("--from", a.format,
                  "What the input is; default: what its name ends with (.csv, .tsv, .jsonl, .json, .txt), "
                  "before a .gz or .zst; or folder")
      ->check(CLI::IsMember({"folder", "csv", "tsv", "jsonl", "lines", "fixed"}));
  command.add_option("--key", a.key, key_help);
  command
      .add_option("--value", a.values,
                  "Column of the record, repeatable (joined by tabs); default: the whole row")
      ->allow_extra_args(false);
  command.add_option("--separator", a.separator,
                     "Character between the columns of a CSV file, such as ';', or tab [,]");
  command.add_flag("--no-header", a.no_header, "The first CSV or TSV line is data, columns are numbers");
  command.add_flag("--skip-bad-rows", a.skip_bad_rows,
                   "Leave out rows that cannot be taken, and say how many and why");
}

Result<database::BuildReport> build_database(const BuildArguments& a, const std::string& who,
                                             std::uint64_t* skipped) {
  if (a.format == "fixed" && a.record_bytes == 0) {
    return invalid("--from fixed needs --record-bytes above 0");
  }
  if (a.format != "fixed" && a.record_bytes != 0) {
    return invalid("--record-bytes goes with --from fixed only");
  }
  PIRX_TRY(separator_of(a));
  if (a.hidden && a.format != "folder") {
    return invalid("--hidden goes with --from folder only");
  }
  if (a.skip_bad_rows && (a.format == "folder" || a.format == "fixed")) {
    return invalid("--skip-bad-rows goes with --from csv, tsv, jsonl and lines only");
  }
  if (a.random_seed && !a.keyed) {
    return invalid("--random-seed goes with --keyed only: other databases have no seed");
  }
  if (!a.duplicates.empty() && !a.keyed) {
    return invalid("--duplicates goes with --keyed only: other databases keep all records of a key");
  }
  PIRX_ASSIGN(const Epoch epoch, choose_epoch(a.target, a.epoch));
  ProgressLine line(who);
  const database::BuildOptions options{
      .epoch = epoch.number,
      .replaces = epoch.replaces,
      .records_per_row = a.records_per_row,
      .fixed_record_bytes = a.record_bytes,
      .digests = !a.no_digests,
      .keyed = a.keyed,
      .random_seed = a.random_seed,
      .duplicates = a.duplicates == "first"  ? database::Duplicates::kFirst
                    : a.duplicates == "last" ? database::Duplicates::kLast
                    : a.duplicates == "join" ? database::Duplicates::kJoin
                                             : database::Duplicates::kRefuse,
      .max_record_bytes = a.max_record_bytes != 0 ? a.max_record_bytes : std::uint64_t{1} << 30,
      .long_records = a.max_record_bytes != 0,
      .progress = [&line](std::uint64_t done, std::uint64_t total) { line.update(done, total); },
      .each_key = a.each_key,
      .before_commit = a.before_commit,
  };
  PIRX_ASSIGN(auto builder, database::DatabaseBuilder::create(a.target, options));
  database::BadRows bad;
  const auto imported = import(a, builder, a.skip_bad_rows ? &bad : nullptr);
  line.clear();
  print_bad_rows(bad);
  PIRX_TRY(imported);
  if (skipped != nullptr) *skipped = bad.count;
  return builder.finish();
}

namespace {

Result<void> build(BuildArguments a) {
  if (a.format.empty()) {
    PIRX_ASSIGN(a.format, format_of(a.input));
  }
  std::optional<KeyListWriter> list;
  if (a.keyed && !a.no_key_list) {
    PIRX_ASSIGN(list, KeyListWriter::create(a.target));
    a.each_key = [&list](std::string_view key) { return list->add(key); };
    a.before_commit = [&list] { return list->sync(); };
  }
  std::uint64_t skipped = 0;
  PIRX_ASSIGN(const auto report, build_database(a, "pirx db build", &skipped));
  if (list) PIRX_TRY(list->commit());
  warn_of_long_rows(a.target);
  const double padding = 100.0 * static_cast<double>(report.padding_bytes) /
                         static_cast<double>(report.padding_bytes + report.payload_bytes);
  if (a.quiet) return {};
  if (a.json) {
    const OutJson json = {{"records", report.records},
                          {"longest_record", report.longest_record},
                          {"longest_position", report.longest_position},
                          {"payload_bytes", report.payload_bytes},
                          {"padding_bytes", report.padding_bytes},
                          {"keys", report.keys},
                          {"duplicate_keys", report.duplicate_keys},
                          {"file_bytes", report.file_bytes},
                          {"records_per_row", report.geometry.records_per_row},
                          {"keyed", a.keyed},
                          {"skipped_rows", skipped},
                          {"identity", to_hex(report.version.identity)},
                          {"epoch", report.version.epoch}};
    std::printf("%s\n", json.dump().c_str());
    return {};
  }
  PIRX_ASSIGN(const auto geometry, database::Geometry::create(report.geometry));
  std::printf("built %s (%s)\n", a.target.c_str(), human_bytes(report.file_bytes).c_str());
  print_geometry(geometry, report.version);
  std::printf("longest record  %" PRIu64 " bytes, at position %" PRIu64 "\n", report.longest_record,
              report.longest_position);
  std::printf("payload         %s; padding, lengths and digests %s (%.0f%% of the rows)\n",
              human_bytes(report.payload_bytes).c_str(), human_bytes(report.padding_bytes).c_str(), padding);
  if (skipped > 0) std::printf("bad rows        %" PRIu64 " left out\n", skipped);
  if (report.keys > 0) {
    std::printf(
        a.duplicates == "join" ? "keys            %" PRIu64 "; %" PRIu64 " records were joined to others\n"
        : a.keyed ? "keys            %" PRIu64 "; %" PRIu64 " records with a repeated key were left out\n"
                  : "keys            %" PRIu64 ", %" PRIu64 " of them repeated\n",
        report.keys, report.duplicate_keys);
  }
  return {};
}

Result<void> info(const std::string& path, bool json) {
  PIRX_ASSIGN(const auto db, database::Database::open(path));
  const auto& geometry = db->geometry();
  if (!json) {
    print_geometry(geometry, db->version());
    if (const auto* bucket = db->bucket(); bucket != nullptr) {
      std::printf("bucket          of the server at coordinate %" PRIu64 ": u = %u, tau = %u, M = %" PRIu64
                  " over %s\n",
                  bucket->coordinate, bucket->arity, bucket->independence, bucket->modulus,
                  bucket->field.name().c_str());
    }
    std::printf("keys            %s\n", geometry.keyed() ? "yes, in the rows: nobody can list them"
                                        : db->has_keys() ? "yes"
                                                         : "no");
    std::printf("file            %s\n", human_bytes(db->file_bytes()).c_str());
    if (db->delta_bytes() != 0) {
      std::printf("changes         %s in %s.delta\n", human_bytes(db->delta_bytes()).c_str(),
                  behind_links(path).value_or(path).c_str());
    }
    return {};
  }
  const OutJson object = {{"records", geometry.records()},
                          {"record_bytes", geometry.record_bytes()},
                          {"records_per_row", geometry.spec().records_per_row},
                          {"rows", geometry.rows()},
                          {"row_bytes", geometry.row_bytes()},
                          {"variable_length", geometry.spec().variable_length},
                          {"digests", geometry.spec().digests},
                          {"keys", db->has_keys()},
                          {"keyed", geometry.keyed()},
                          {"file_bytes", db->file_bytes()},
                          {"delta_bytes", db->delta_bytes()},
                          {"bucket", db->bucket() != nullptr},
                          {"epoch", db->version().epoch},
                          {"identity", to_hex(db->version().identity)}};
  std::printf("%s\n", object.dump().c_str());
  return {};
}

std::shared_ptr<std::string> add_database(CLI::App& command) {
  auto path = std::make_shared<std::string>();
  command.add_option("database", *path, "Database file")->required();
  return path;
}

Result<void> verify(const std::string& path, bool quiet) {
  PIRX_ASSIGN(const auto db, database::Database::open(path));
  {
    ProgressLine line("pirx db verify");
    PIRX_TRY(db->verify([&line](std::uint64_t done, std::uint64_t total) { line.update(done, total); }));
  }
  if (quiet) return {};
  std::printf("%s is sound: %s, every checksum right\n", path.c_str(), human_bytes(db->file_bytes()).c_str());
  return {};
}

void write_out(ByteSpan bytes, bool newline) {
  std::fwrite(bytes.data(), 1, bytes.size(), stdout);
  if (newline) std::fputc('\n', stdout);
}

Result<void> get(const std::string& path, std::optional<std::uint64_t> position, const std::string& key,
                 bool by_key, bool raw) {
  PIRX_ASSIGN(const auto db, database::Database::open(path));
  if (by_key && db->geometry().keyed()) {
    PIRX_ASSIGN(const auto record, db->lookup(key));
    if (!record) {
      return fail(ErrorCode::kOutOfRange,
                  "no record has that key, if the file is sound ('pirx db verify' tells)");
    }
    write_out(*record, !raw);
    return {};
  }
  if (by_key) {
    if (!db->has_keys()) return invalid(path + " was built without keys");
    PIRX_TRY(db->check_keys());
    PIRX_ASSIGN(position, db->find(key));
    if (!position) return fail(ErrorCode::kOutOfRange, "no record has that key");
  }
  if (!position) return invalid("give a position or --key");
  PIRX_ASSIGN(const auto record, db->record(*position));
  PIRX_TRY(db->check_record(*position));
  write_out(record, !raw);
  return {};
}

/// The version that the clients of these buckets have. InvalidArgument: they are of another database or of
/// another version of it.
Result<database::Version> version_of_buckets(const database::Database& db, const std::string& bucket) {
  PIRX_ASSIGN(const auto opened, database::Database::open(bucket));
  const auto of = batchcodes::plain_version(db, *opened);
  if (!of) return fail(of.error().code(), bucket + ": " + of.error().message());
  if (*of != db.version() || !(opened->geometry() == db.geometry())) {
    return invalid(bucket + " is a bucket of another database or epoch");
  }
  return opened->version();
}

Result<void> list(const std::string& path, const std::string& bucket, std::uint64_t limit) {
  PIRX_ASSIGN(const auto db, database::Database::open(path));
  if (db->geometry().keyed()) {
    return invalid(path + " is keyed: it holds no list of its keys, and clients need none (pirx get --key)");
  }
  if (!db->has_keys()) return invalid(path + " was built without keys");
  auto version = db->version();
  if (!bucket.empty()) {
    PIRX_ASSIGN(version, version_of_buckets(*db, bucket));
  }
  PIRX_TRY(db->check_keys());
  Sha256 printed;
  const auto print = [&printed](const std::string& line) {
    printed.update(as_bytes(line));
    std::cout << line;
  };
  print(position_list_header(version) + '\n');
  std::uint64_t left = limit;
  PIRX_TRY(db->for_each_key([&](std::string_view key, std::uint64_t position) {
    print(std::to_string(position) + '\t' + escape_key(key) + '\n');
    return limit == 0 || --left > 0;
  }));
  const auto still = db->check_keys();  // whoever reads the lines may take long
  if (!still) return fail(still.error().code(), still.error().message() + ". Do not use what was printed");
  std::cout << position_list_end(std::move(printed).finish()) << '\n';
  return {};
}

void add_build(CLI::App& db) {
  auto& command = *db.add_subcommand("build", "Build a database file from what you have");
  auto a = std::make_shared<BuildArguments>();
  command
      .add_option("target", a->target,
                  "The database file to write; an old one is replaced only once all is well")
      ->required();
  command
      .add_option("input", a->input,
                  "File or folder; '-' is standard input. Text may be packed by gzip or zstd")
      ->required();
  add_table_options(command, *a, "Column of the key: a name of the header, or a number from 1");
  command.add_flag("--hidden", a->hidden,
                   "Take files and folders whose names begin with a dot, too, with --from folder");
  add_size(command, "--record-bytes", a->record_bytes, "Length of every record of --from fixed");
  add_size(
      command, "--max-record-bytes", a->max_record_bytes,
      "Longer records are refused [1GiB]. Without this option so is a database of more than 1GiB that is "
      "20 times as large as its records, or one that is 1,100 times as large as its packed input");
  command.add_option("--records-per-row", a->records_per_row, "Slots in a row; 0 balances query and reply")
      ->capture_default_str()
      ->check(whole_number(0, std::uint64_t{1} << 40));
  command
      .add_option("--epoch", a->epoch,
                  "Epoch of this content; default: one more than the file replaced, or 1")
      ->check(whole_number(1, std::uint64_t{1} << 62));
  command.add_flag("--no-digests", a->no_digests,
                   "Save 16 bytes a record; beyond unique decoding nothing can be settled");
  command.add_flag(
      "--keyed", a->keyed,
      "Records are fetched by key in one query, without a list of positions, from about 1.2 times "
      "the rows; over gf2_8 and gf2_16");
  command
      .add_option(
          "--duplicates", a->duplicates,
          "Of several records with one key, with --keyed: refuse the input [default], keep the first or "
          "the last, or join all, with newlines between them")
      ->check(CLI::IsMember({"refuse", "first", "last", "join"}));
  command.add_flag(
      "--random-seed", a->random_seed,
      "With --keyed: draw the filter's seed instead of computing it from the records, so that the file's "
      "header tells nothing of them ('pirx db encode --independence'); two builds differ then");
  command.add_flag("--no-key-list", a->no_key_list,
                   "With --keyed: do not keep the keys in TARGET.keys, which 'pirx db update' needs");
  command.add_flag("--json", a->json, "Report as JSON");
  command.add_flag("-q,--quiet", a->quiet, "No report");
  command.footer(
      "Examples:\n"
      "  pirx db build packages.pirx packages.jsonl --from jsonl --key name --value record --keyed\n"
      "  pirx db build packages.pirx packages.csv --from csv --key name --value description\n"
      "  pirx db build pages.pirx site/ --from folder\n"
      "  pirx db build proofs.pirx proofs.bin --from fixed --record-bytes 704\n"
      "  sqlite3 -readonly -json app.db 'SELECT id, profile FROM users' |\n"
      "    pirx db build users.pirx - --from jsonl --key id --value profile");
  set_action(command, [a] { return build(*a); });
}

}  // namespace

void add_db_command(CLI::App& app) {
  auto& db = *app.add_subcommand("db", "Build, inspect and check database files");
  db.require_subcommand(1);
  db.footer(
      "Examples:\n"
      "  pirx db build packages.pirx packages.jsonl --from jsonl --key name --value record\n"
      "  pirx db info packages.pirx");
  add_build(db);
  add_db_encode(db);
  add_db_update(db);

  {
    auto& command = *db.add_subcommand("info", "Geometry, epoch and identity of a database");
    auto path = add_database(command);
    auto json = std::make_shared<bool>(false);
    command.add_flag("--json", *json, "As JSON");
    command.footer("Example:\n  pirx db info packages.pirx");
    set_action(command, [path, json] { return info(*path, *json); });
  }
  {
    auto& command = *db.add_subcommand("verify", "Read every byte and check every checksum");
    auto path = add_database(command);
    auto quiet = std::make_shared<bool>(false);
    command.add_flag("-q,--quiet", *quiet, "No report: the exit code says it");
    command.footer("Example:\n  pirx db verify packages.pirx");
    set_action(command, [path, quiet] { return verify(*path, *quiet); });
  }
  {
    auto& command = *db.add_subcommand("get", "Print a record of a local file (nothing private about it)");
    struct Arguments {
      std::string path, key;
      std::optional<std::uint64_t> position;
      bool raw = false;
    };
    auto a = std::make_shared<Arguments>();
    command.add_option("database", a->path, "Database file")->required();
    auto* position = command.add_option("position", a->position, "Position from 0")
                         ->check(whole_number(0, ~std::uint64_t{0}));
    auto* key = command.add_option("--key", a->key, "Key instead of a position")->excludes(position);
    command.add_flag("--raw", a->raw, "No newline after the record");
    command.footer("Examples:\n  pirx db get packages.pirx 17\n  pirx db get packages.pirx --key bash");
    set_action(command, [a, key] { return get(a->path, a->position, a->key, key->count() > 0, a->raw); });
  }
  {
    auto& command = *db.add_subcommand(
        "list", "Print 'position TAB key' in key order: the list that clients need, for this epoch");
    auto path = add_database(command);
    auto limit = std::make_shared<std::uint64_t>(0);
    command.add_option("--limit", *limit, "Stop after so many; 0: all")
        ->capture_default_str()
        ->check(whole_number(0, ~std::uint64_t{0}));
    auto bucket = std::make_shared<std::string>();
    command.add_option(
        "--bucket", *bucket,
        "For clients of buckets with random rows (pirx db encode --independence): one of them, "
        "whose version the list is to name");
    command.footer("Example:\n  pirx db list packages.pirx > positions.tsv");
    set_action(command, [path, bucket, limit] { return list(*path, *bucket, *limit); });
  }
}

}  // namespace pirx::cli
