// SPDX-License-Identifier: Apache-2.0
// ct-audit: the auditor's side. Checks whether a certificate is in the log, so that no t servers learn which
// certificate it is, and prints what each server could see.
#include "audit.h"
#include "files.h"
#include "merkle.h"
#include "program.h"

namespace pirx::ct {
namespace {

constexpr std::size_t kMaxSmallFileBytes = std::size_t{1} << 20;

// Beside those of docs/cli.md.
constexpr int kAbsentExitCode = 3, kUndecidedExitCode = 9, kForgedExitCode = 11, kForkedExitCode = 12;

struct Arguments {
  std::string certificate, head, key, deployment, old_head, consistency;
  std::vector<std::string> urls;
  std::optional<std::uint64_t> index;
  unsigned threshold = 1;
  std::uint64_t deadline_ms = 10'000;
  bool seeded = false, wait_for_all = false;
};

Result<client::Deployment> servers_of(const Arguments& a, const Publication& publication) {
  if (a.deployment.empty() == a.urls.empty()) {
    return invalid("give --deployment, or --server for each server");
  }
  if (!a.deployment.empty()) return client::load_deployment(a.deployment);
  return make_deployment(publication, a.urls, a.threshold);
}

/// Whether the log has not signed two trees of one size, and only grew since a.old_head as far as a proof
/// shows; true when nothing was asked. DataLoss: the proof shows nothing, which is no word of the log's.
Result<bool> only_grew(const Arguments& a, const LogKey& key, const TreeHead& head) {
  if (a.old_head.empty()) return true;
  PIRX_ASSIGN(const auto old_text, read_file(a.old_head, kMaxHeadBytes));
  PIRX_ASSIGN(const auto old_head, parse_tree_head(old_text));
  PIRX_TRY(key.verify(old_head));
  if (old_head.tree_size == head.tree_size) return old_head.root == head.root;
  if (old_head.tree_size > head.tree_size) {
    return invalid(
        "the head of --since has more leaves than that of --head: give the earlier one as --since");
  }
  PIRX_ASSIGN(const auto text, read_file(a.consistency, kMaxSmallFileBytes));
  PIRX_ASSIGN(const auto proof, parse_consistency(text));
  if (verify_consistency(old_head.tree_size, old_head.root, head.tree_size, head.root, proof)) return true;
  return fail(ErrorCode::kDataLoss,
              a.consistency +
                  " does not show that the log only grew since --since: ask for another "
                  "proof. A log that has none rewrote its past");
}

void print_servers(const Audit& audit, const client::Deployment& deployment) {
  const auto coordinates = deployment.plan->coordinates();
  std::printf("\nWhat the servers could see:\n");
  for (std::size_t i = 0; i < audit.servers.size(); ++i) {
    const auto& server = audit.servers[i];
    const auto status = std::string(server.abandoned ? std::string_view("not waited for")
                                                     : server_status_name(server.status));
    std::printf("  %-28s x=%-3llu %-14s %8.1f ms  %8llu bytes up %8llu down\n",
                deployment.servers[i].url.c_str(), static_cast<unsigned long long>(coordinates[i]),
                status.c_str(), server.milliseconds, static_cast<unsigned long long>(server.bytes_up),
                static_cast<unsigned long long>(server.bytes_down));
    if (!server.error.empty() && !server.abandoned) std::printf("    %s\n", server.error.c_str());
  }
  const auto t = static_cast<unsigned>(std::stoul(deployment.plan->members().at("threshold")));
  const auto l = static_cast<unsigned>(deployment.servers.size());
  std::printf(
      "  each: that this address audits some certificate of this log, now, in %u round%s; and %llu "
      "bytes that\n"
      "  look random, for every certificate alike, in the log or not.\n"
      "  any %u of the %u together: no more than that. Any %u who compare notes: the certificate.\n"
      "  (Those not waited for may have got the query, too.)\n",
      audit.rounds, audit.rounds == 1 ? "" : "s", static_cast<unsigned long long>(audit.request_bytes), t, l,
      t + 1);
}

Result<int> run(const Arguments& a) {
  PIRX_ASSIGN(const auto certificates, read_certificates(a.certificate));
  const auto& certificate = certificates.front();
  PIRX_ASSIGN(const auto key, LogKey::load(a.key));
  PIRX_ASSIGN(const auto text, read_file(a.head, kMaxHeadBytes));
  PIRX_ASSIGN(const auto publication, parse_publication(text));
  PIRX_TRY(key.verify(publication.head));
  PIRX_ASSIGN(const bool grew, only_grew(a, key, publication.head));
  if (!grew) {
    std::printf(
        "FORKED: two tree heads that this log signed, of one size and with other leaves. Keep both:\n"
        "they show that the log rewrote its past, or shows you another one than others.\n");
    return kForkedExitCode;
  }
  PIRX_ASSIGN(const auto deployment, servers_of(a, publication));
  PIRX_ASSIGN(auto fetcher, make_client(publication, deployment, a.seeded));
  PIRX_ASSIGN(const auto report, audit(publication, certificate, fetcher,
                                       {.index = a.index,
                                        .deadline = std::chrono::milliseconds(a.deadline_ms),
                                        .wait_for_all = a.wait_for_all}));

  const auto size = static_cast<unsigned long long>(publication.head.tree_size);
  const std::string signed_at = format_time(publication.head.timestamp);
  int code = 0;
  std::printf("%s\n  SHA-256 %s\n", certificate.subject.c_str(),
              certificate_key(sha256(certificate.der)).c_str());
  switch (report.verdict) {
    case Verdict::kIncluded:
      std::printf(
          "VERIFIED: leaf %llu of %llu, logged %s. %zu fetched hashes and %zu public subtree roots lead to\n"
          "the root that log %s... signed at %s.\n",
          static_cast<unsigned long long>(report.inclusion.index), size,
          format_time(report.inclusion.timestamp).c_str(), report.inclusion.hashes, publication.roots.size(),
          to_hex(key.log_id()).substr(0, 16).c_str(), signed_at.c_str());
      break;
    case Verdict::kAbsent:
      std::printf(
          "NOT IN THE LOG as of %s (%llu leaves): the database of proofs has none for it, unless more than "
          "%u of\n"
          "the %u servers that answered lied, or the database is not that tree's (who wrote the head file "
          "says so;\n"
          "the log signed the tree alone).\n",
          signed_at.c_str(), size, report.proof_bound, report.responders);
      code = kAbsentExitCode;
      break;
    case Verdict::kForged:
      std::printf(
          "FORGED: the database holds a proof, and %s,\nunless more than %u of the %u servers that answered "
          "lied, or the database is not\nthat tree's (who wrote the head file says so; the log signed the "
          "tree alone).\n",
          report.reason.c_str(), report.proof_bound, report.responders);
      if (a.index) std::printf("Or --index is another certificate's.\n");
      code = kForgedExitCode;
      break;
    case Verdict::kUndecided:
      std::printf(
          "UNDECIDED: %s; but of the %u servers that answered, one liar could have done that.\n"
          "Ask when more servers answer.\n",
          report.reason.empty() ? "no proof came" : ("a proof came, and " + report.reason).c_str(),
          report.responders);
      code = kUndecidedExitCode;
      break;
  }
  print_servers(report, deployment);
  return code;
}

int main_of(int argc, char** argv) {
  CLI::App app("ct-audit: checks in private that a certificate is in a log");
  app.name("ct-audit");
  Arguments a;
  app.add_option("certificate", a.certificate, "PEM (its first certificate) or DER")->required();
  app.add_option("--head", a.head,
                 "The log's tree head and subtree roots: DATABASE.head.json of 'ct-log database'")
      ->required();
  app.add_option("--key", a.key, "The log's public key, PEM")->required();
  app.add_option("--deployment", a.deployment, "The servers, as 'pirx deploy' wrote them down");
  app.add_option("--server", a.urls, "Or the URL of each, repeatable: coordinates 1, 2, ... in this order")
      ->allow_extra_args(false);
  app.add_option("-t,--threshold", a.threshold, "So many of them together must learn nothing, with --server")
      ->capture_default_str()
      ->transform(whole_number());
  app.add_option("--index", a.index,
                 "Index of the certificate, for databases by index: the web server knows it")
      ->transform(whole_number());
  app.add_option("--deadline", a.deadline_ms, "Milliseconds of each round")
      ->capture_default_str()
      ->transform(whole_number());
  app.add_flag("--wait-for-all", a.wait_for_all, "Wait for slow servers too, so that all are reported");
  app.add_flag("--seeded", a.seeded,
               "Seeds in place of t of the query vectors: smaller, and privacy rests on AES too");
  auto* since = app.add_option("--since", a.old_head, "An earlier head: check that the log only grew since");
  app.add_option("--consistency", a.consistency, "Proof for --since, as 'ct-log consistency' prints it")
      ->needs(since);
  app.footer(
      "Exit codes: 0 verified, 3 not in the log (proven), 9 servers lie or too few answer, 11 forged proof, "
      "12 forked\n"
      "log; 1 wrong command line, 2 wrong input, 4 damaged file, 5 unavailable, 7 tree head of another key,\n"
      "8 servers or deployment of another database than the tree head, 10 internal.");
  return run_program(app, argc, argv, [&] { return run(a); });
}

}  // namespace
}  // namespace pirx::ct

int main(int argc, char** argv) { return pirx::ct::main_of(argc, argv); }
