// SPDX-License-Identifier: Apache-2.0
// One private retrieval and its judgement.
#include "audit.h"

#include "certificate.h"

namespace pirx::ct {

Result<client::Fetcher> make_client(const Publication& publication, const client::Deployment& deployment,
                                    bool seeded, client::Ask ask) {
  const auto& plan = *deployment.plan;
  if (!plan.protocol().several || plan.members().count("code") > 0) {
    return invalid("an audit asks several servers, without a batch code: use another deployment file");
  }
  if (plan.version() != publication.version) {
    return fail(ErrorCode::kStaleEpoch,
                "the deployment file is about another database than the tree head (epochs " +
                    std::to_string(plan.version().epoch) + " and " +
                    std::to_string(publication.version.epoch) + "): fetch both anew");
  }
  if (publication.geometry.record_bytes() != proof_record_bytes(publication.levels)) {
    return fail(ErrorCode::kDataLoss, "tree head: the database's records have not the length of its proofs");
  }
  if (plan.geometry() != publication.geometry) {
    return fail(ErrorCode::kDataLoss,
                "tree head and deployment file tell the database's shape differently: fetch both anew");
  }
  return client::Fetcher::create(deployment, seeded ? Texts{{"seeded", "on"}} : Texts(), std::move(ask));
}

Result<client::Deployment> make_deployment(const Publication& publication,
                                           const std::vector<std::string>& urls, unsigned threshold) {
  std::vector<http::Endpoint> endpoints;
  std::vector<std::uint64_t> coordinates;
  for (const auto& url : urls) {
    for (const auto& other : endpoints) {
      if (other.url == url) {
        return invalid("a server is listed twice: it would hold two shares of every query");
      }
    }
    endpoints.push_back({.url = url, .ca_file = {}});
    coordinates.push_back(endpoints.size());
  }
  PIRX_ASSIGN(const auto* protocol, find_protocol("goldberg"));
  PIRX_ASSIGN(auto members, Options::create(protocol->members,
                                            {{"field", "gf2_8"}, {"threshold", std::to_string(threshold)}},
                                            protocol->name));
  PIRX_ASSIGN(auto plan, protocol->plan({std::move(members), publication.geometry, publication.version,
                                         std::move(coordinates)}));
  return client::Deployment{std::move(plan), std::move(endpoints)};
}

Result<Audit> audit(const Publication& publication, const Certificate& certificate, client::Fetcher& fetcher,
                    const AuditOptions& options) {
  const bool keyed = publication.geometry.keyed();
  if (keyed == options.index.has_value()) {
    return invalid(keyed
                       ? "the database is keyed: its proofs are found by certificate, leave --index away"
                       : "the database is not keyed: give the --index that the web server tells its clients");
  }
  // Where the replies do not settle the answer, only one whose proof is right can.
  const auto believe = [&](std::span<const std::optional<Bytes>> found) {
    const auto& record = found.front();
    return record && check_proof_record(publication, certificate.der, *record).has_value();
  };
  const client::FetchOptions how{.deadline = options.deadline,
                                 .liars = {},
                                 .wait_for_all = options.wait_for_all,
                                 .rounds = options.rounds,
                                 .believe = believe};
  const auto key = certificate_key(sha256(certificate.der));
  const std::uint64_t index = options.index.value_or(0);
  PIRX_ASSIGN(auto found, keyed ? fetcher.fetch_keys({&key, 1}, how) : fetcher.fetch({&index, 1}, how));

  Audit report;
  report.request_bytes = found.request_bytes;
  report.certainty = found.answer.certainty;
  report.proof_bound = found.answer.proof_bound;
  report.responders = found.answer.responders;
  report.rounds = found.answer.rounds;
  report.servers = std::move(found.servers);
  const bool proven = report.certainty == Certainty::kProven && report.proof_bound > 0;
  if (!found.answer.missing.empty()) {
    report.verdict = proven ? Verdict::kAbsent : Verdict::kUndecided;
    return report;
  }
  const auto inclusion = check_proof_record(publication, certificate.der, found.answer.records.front());
  if (inclusion) {
    report.verdict = Verdict::kIncluded;
    report.inclusion = *inclusion;
  } else {
    report.verdict = proven ? Verdict::kForged : Verdict::kUndecided;
    report.reason = inclusion.error().message();
  }
  return report;
}

}  // namespace pirx::ct
