// SPDX-License-Identifier: Apache-2.0
// ct-log: the operator's side. Makes a log, appends certificates, signs, and builds the database of inclusion
// proofs that `pirx serve` serves.
#include "files.h"
#include "log.h"
#include "pirx/base/small_file.h"
#include "program.h"

namespace pirx::ct {
namespace {

struct Arguments {
  std::string log, database, certificate, old_head;
  std::vector<std::string> certificates;
  std::uint64_t fill = 0, time = 0, number = 0;
  unsigned levels = DatabaseOptions{}.levels;
  bool by_index = false, unexpired = false, unchecked = false;
};

std::string head_path(const Arguments& a) { return a.database + ".head.json"; }

/// Nothing but what an earlier run wrote is replaced.
Result<void> check_head(const Arguments& a) {
  PIRX_ASSIGN(const bool there, is_there(head_path(a)));
  if (!there) return {};
  const auto text = read_file(head_path(a), kMaxHeadBytes, "tree head", true);
  if (text && parse_publication(*text)) return {};
  return invalid(head_path(a) +
                 " exists and is no tree head of a log: choose another name, or remove it first");
}

unsigned long long number(std::uint64_t value) { return value; }

Result<int> create(const Arguments& a) {
  PIRX_TRY(Log::create(a.log));
  std::printf("made %s: entries, key.pem (keep it secret) and public.pem (give it to auditors)\n",
              a.log.c_str());
  return 0;
}

/// The time of the new entries. No later head may have an earlier one, so a time far ahead would end the log.
Result<std::uint64_t> time_of(const Arguments& a) {
  constexpr std::uint64_t kMostAhead = 24 * 60 * 60 * 1000;
  const auto now = milliseconds_since_1970();
  if (a.time == 0) return now;
  if (a.time <= now + kMostAhead) return a.time;
  return invalid(
      "--time " + std::to_string(a.time) +
      " is more than a day ahead of this machine's clock, and nothing could be appended until then");
}

Result<int> append(const Arguments& a) {
  PIRX_ASSIGN(const auto time, time_of(a));
  PIRX_ASSIGN(auto log, Log::open(a.log));
  std::vector<Certificate> certificates;
  for (const auto& path : a.certificates) {
    PIRX_ASSIGN(auto found, read_certificates(path));
    for (auto& certificate : found) certificates.push_back(std::move(certificate));
  }
  PIRX_ASSIGN(const auto report, log.append(certificates, a.fill, time));
  std::printf("appended %llu entries, %llu were there; tree head signed over %llu\n", number(report.added),
              number(report.known), number(log.head().tree_size));
  return 0;
}

Result<int> database(const Arguments& a) {
  PIRX_ASSIGN(const auto log, Log::open(a.log));
  PIRX_TRY(check_head(a));
  DatabaseOptions options{.levels = a.levels, .by_index = a.by_index};
  if (a.unexpired) options.unexpired_at = log.head().timestamp / 1000;
  PIRX_ASSIGN(const auto report, log.build_database(a.database, options));
  PIRX_TRY(replace_file(head_path(a), format_publication(report.publication)));
  const auto& geometry = report.publication.geometry;
  std::printf("%s: %llu proofs of %zu bytes, %llu expired left out, %llu written now\n", a.database.c_str(),
              number(report.records), proof_record_bytes(a.levels), number(report.left_out),
              number(report.changed));
  std::printf("%llu rows of %llu bytes, %llu bytes in all, epoch %llu\n", number(geometry.rows()),
              number(geometry.row_bytes()), number(report.file_bytes),
              number(report.publication.version.epoch));
  std::printf("%s: the tree head and %zu subtree roots, for auditors\n", head_path(a).c_str(),
              report.publication.roots.size());
  return 0;
}

Result<int> publish(const Arguments& a) {
  PIRX_ASSIGN(const auto log, Log::open(a.log));
  PIRX_TRY(check_head(a));
  PIRX_ASSIGN(const auto publication, log.publish(a.database, a.unchecked));
  PIRX_TRY(replace_file(head_path(a), format_publication(publication)));
  return 0;
}

Result<int> find(const Arguments& a) {
  PIRX_ASSIGN(const auto log, Log::open(a.log));
  PIRX_ASSIGN(const auto certificates, read_certificates(a.certificate));
  PIRX_ASSIGN(const auto index, log.find(sha256(certificates.front().der)));
  if (!index) return fail(ErrorCode::kOutOfRange, "the log has no such certificate");
  std::printf("%llu\n", number(*index));
  return 0;
}

Result<int> consistency(const Arguments& a) {
  PIRX_ASSIGN(const auto log, Log::open(a.log));
  PIRX_ASSIGN(const auto text, read_file(a.old_head, kMaxHeadBytes));
  PIRX_ASSIGN(const auto old_head, parse_tree_head(text));
  if (old_head.tree_size == 0 || old_head.tree_size > log.head().tree_size) {
    return invalid("the old tree head is of a larger tree, or of none");
  }
  PIRX_ASSIGN(const auto tree, log.tree());
  std::fputs(format_consistency(tree.consistency_proof(old_head.tree_size)).c_str(), stdout);
  return 0;
}

Result<int> generate(const Arguments& a) {
  PIRX_ASSIGN(const auto generator, CertificateGenerator::create());
  std::fputs(to_pem(generator.make(a.number)).c_str(), stdout);
  return 0;
}

int main_of(int argc, char** argv) {
  CLI::App app("ct-log: a Certificate Transparency log (RFC 6962) and its database of inclusion proofs");
  app.name("ct-log");
  app.require_subcommand(1);
  app.footer("docs/certificate_transparency.md has the whole path. Exit codes as in docs/cli.md.");
  Arguments a;
  Result<int> (*action)(const Arguments&) = nullptr;
  const auto add = [&](const char* name, const char* what,
                       Result<int> (*run)(const Arguments&)) -> CLI::App& {
    auto& command = *app.add_subcommand(name, what);
    command.callback([&action, run] { action = run; });
    return command;
  };
  const auto with_log = [&](CLI::App& command) {
    command.add_option("log", a.log, "The log's folder")->required();
  };
  const auto with_database = [&](CLI::App& command) {
    command
        .add_option("database", a.database, "The database of proofs; DATABASE.head.json is written beside it")
        ->required();
  };

  with_log(add("create", "Make an empty log with a P-256 key of its own", create));

  auto& append_command = add("append", "Append certificates and sign a new tree head", append);
  with_log(append_command);
  append_command.add_option("certificates", a.certificates,
                            "PEM files with any number of certificates, or DER");
  append_command.add_option("--fill", a.fill, "Then append generated entries until there are so many leaves")
      ->transform(whole_number());
  append_command.add_option("--time", a.time, "Milliseconds since 1970 of the new entries and head [now]")
      ->transform(whole_number());

  auto& database_command =
      add("database", "Build or update the database of proofs of the latest tree head", database);
  with_log(database_command);
  with_database(database_command);
  database_command
      .add_option("--levels", a.levels,
                  "Hashes of a proof that are fetched in private; above them every client gets all")
      ->capture_default_str()
      ->transform(whole_number());
  database_command.add_flag("--by-index", a.by_index,
                            "Proofs at their leaves' positions, not by certificate");
  database_command.add_flag("--unexpired", a.unexpired,
                            "Leave out certificates that expired before the tree head");

  auto& publish_command =
      add("publish", "Write DATABASE.head.json alone, for a database that is there", publish);
  with_log(publish_command);
  with_database(publish_command);
  publish_command.add_flag("--unchecked", a.unchecked,
                           "Take a keyed database, which does not say so, for one of the latest tree head");

  auto& find_command =
      add("find", "Print the index of a certificate: what a web server tells its clients", find);
  with_log(find_command);
  find_command.add_option("certificate", a.certificate, "PEM or DER")->required();

  auto& consistency_command =
      add("consistency", "Print the proof that the log only grew since a head", consistency);
  with_log(consistency_command);
  consistency_command.add_option("head", a.old_head, "An earlier head.json or DATABASE.head.json")
      ->required();

  add("generate", "Print certificate NUMBER of those that --fill appends, NUMBER being its index", generate)
      .add_option("number", a.number)
      ->required()
      ->transform(whole_number());

  return run_program(app, argc, argv, [&] { return action(a); });
}

}  // namespace
}  // namespace pirx::ct

int main(int argc, char** argv) { return pirx::ct::main_of(argc, argv); }
