// SPDX-License-Identifier: Apache-2.0
// pirx db encode: a plain database into one bucket file per server.
#include <algorithm>
#include <cinttypes>

#include "cli.h"
#include "pirx/base/bytes.h"
#include "pirx/base/small_file.h"
#include "pirx/batchcodes/encode_database.h"
#include "pirx/batchcodes/fields.h"
#include "pirx/protocol.h"

namespace pirx::cli {
namespace {

struct DbEncodeArguments {
  std::string database, prefix, field = "gf2_8", modulus;
  std::vector<std::uint64_t> coordinates, only;
  unsigned servers = 0, arity = 1, independence = 0;
  int threads = 0;
  bool quiet = false;
};

/// A number, "batch" (no two rows collide), or nothing: the arity.
Result<std::uint64_t> parse_modulus(const DbEncodeArguments& a, std::uint64_t rows) {
  if (a.modulus.empty()) return 0;
  if (a.modulus == "batch") return batchcodes::Encoding::batch_modulus(a.arity, rows);
  if (const auto value = parse_whole_number(a.modulus, 0, ~std::uint64_t{0})) return *value;
  return invalid("--modulus wants a whole number or 'batch', not '" + a.modulus + "'");
}

Result<void> encode(const DbEncodeArguments& a) {
  if ((a.servers != 0) == !a.coordinates.empty()) {
    return invalid("give either --servers, the number of servers, or --coordinates, one a server");
  }
  PIRX_ASSIGN(const auto plain, database::Database::open(a.database));
  batchcodes::Encoding::Spec spec;
  PIRX_ASSIGN(spec.field, batchcodes::field_by_name(a.field));
  spec.arity = a.arity;
  spec.independence = a.independence;
  PIRX_ASSIGN(spec.modulus, parse_modulus(a, plain->geometry().rows()));
  spec.coordinates = a.coordinates;
  if (a.servers != 0) {
    PIRX_ASSIGN(spec.coordinates, batchcodes::Encoding::suggested_coordinates(spec.field, a.servers));
  }
  PIRX_ASSIGN(const auto encoding, batchcodes::Encoding::create(std::move(spec)));

  ProgressLine line("pirx db encode");
  batchcodes::EncodeOptions options{
      .threads = a.threads,
      .progress = [&line](std::uint64_t done, std::uint64_t total) { line.update(done, total); }};
  for (const std::uint64_t j : a.only) {
    if (j < 1 || j > encoding.servers()) {
      return invalid("--only names servers from 1 to " + std::to_string(encoding.servers()));
    }
    if (std::ranges::count(a.only, j) > 1) return invalid("--only names a server twice");
    options.only.push_back(static_cast<std::size_t>(j - 1));
  }
  PIRX_ASSIGN(const auto report, batchcodes::encode_database(*plain, encoding, a.prefix, options));
  line.clear();
  if (report.again) warn_of_other_buckets(report.version.epoch);
  if (report.unlisted) {
    std::fprintf(stderr,
                 "pirx: %s.buckets cannot be written: these buckets can be served, but 'pirx db update "
                 "--buckets' will refuse them\n",
                 behind_links(a.database).value_or(a.database).c_str());
  }
  if (a.quiet) return {};
  std::printf("encoded %" PRIu64 " rows into %" PRIu64 " rows of u = %u, tau = %u, M = %" PRIu64 " over %s\n",
              plain->geometry().rows(), report.rows, encoding.spec().arity, encoding.spec().independence,
              encoding.spec().modulus, encoding.spec().field.name().c_str());
  for (std::size_t k = 0; k < report.files.size(); ++k) {
    const std::size_t j = options.only.empty() ? k : options.only[k];
    std::printf("%s (%s) for the server at coordinate %" PRIu64 "\n", report.files[k].c_str(),
                human_bytes(report.file_bytes).c_str(), encoding.spec().coordinates[j]);
  }
  if (a.independence > 0 && plain->geometry().keyed()) {
    std::printf(
        "keys            each file tells a hash of all records, but of a database built with "
        "--random-seed\n");
  }
  std::printf("epoch           %" PRIu64 "\n", report.version.epoch);
  std::printf("identity        %s\n", to_hex(report.version.identity).c_str());
  std::printf("a query with threshold t for q rows at once needs more than t + q + %u answers\n",
              encoding.spec().arity + encoding.spec().independence - 2);
  return {};
}

}  // namespace

void add_db_encode(CLI::App& db) {
  auto& command = *db.add_subcommand("encode", "Encode a database into one smaller bucket file per server");
  auto a = std::make_shared<DbEncodeArguments>();
  command.add_option("database", a->database, "The plain database file")->required();
  command.add_option("--out", a->prefix, "Buckets are written to PREFIX.1, PREFIX.2, ...")
      ->required()
      ->type_name("PREFIX");
  command.add_option("--servers", a->servers, "Number of servers; their coordinates are chosen")
      ->check(whole_number(1, kMaxServers));
  command.add_option("--coordinates", a->coordinates, "One coordinate a server instead, as 201,202,203")
      ->delimiter(',');
  command.add_option("--arity", a->arity, "u: rows of the database in one row of a bucket")
      ->capture_default_str()
      ->check(whole_number(1, kMaxServers));
  command
      .add_option("--independence", a->independence,
                  "tau: so many servers together learn nothing about the database")
      ->capture_default_str()
      ->check(whole_number(0, kMaxServers));
  command.add_option("--modulus", a->modulus,
                     "M: row i lies at coordinate i mod M; 'batch': any rows fit one query vector [arity]");
  command.add_option("--field", a->field, "gf2_8, gf2_16, w160, w48 or prime<bits>")->capture_default_str();
  command
      .add_option("--only", a->only,
                  "Make these servers' buckets only, as 1,3; not with --independence above 0")
      ->delimiter(',');
  command.add_flag("-q,--quiet", a->quiet, "No report");
  command.add_option("--threads", a->threads, "Threads; 0: one a core")
      ->capture_default_str()
      ->check(whole_number(0, 1024));
  command.footer(
      "Each server gets its file alone; with --independence above 0 it must not see the others.\n"
      "Example:\n"
      "  pirx db encode packages.pirx --servers 9 --arity 4 --out packages.bucket");
  set_action(command, [a] { return encode(*a); });
}

}  // namespace pirx::cli
