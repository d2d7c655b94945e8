// One private retrieval and its judgement. The round is that of `pirx get`, whose code is no library.
#include "audit.h"

#include <algorithm>

#include "pirx/database/key_filter.h"

namespace pirx::ct {
namespace {

itpir::ServerStatus status_of(const Error& error) {
  switch (error.code()) {
    case ErrorCode::kStaleEpoch:
      return itpir::ServerStatus::kStaleEpoch;
    case ErrorCode::kUnavailable:
      return itpir::ServerStatus::kSilent;
    case ErrorCode::kDataLoss:
      return itpir::ServerStatus::kMalformed;
    default:
      return itpir::ServerStatus::kRefused;
  }
}

/// What is asked for: a position, or the rows of a key; and the record out of what comes back.
class Wish {
 public:
  static Result<Wish> create(const itpir::Client& client, const Certificate& certificate,
                             std::optional<std::uint64_t> index) {
    const auto& geometry = client.params().geometry();
    if (geometry.keyed() == index.has_value()) {
      return fail(ErrorCode::kInvalidArgument,
                  index
                      ? "the database is keyed: its proofs are found by certificate, leave --index away"
                      : "the database is not keyed: give the --index that the web server tells its clients");
    }
    Wish wish;
    wish.key_ = certificate_key(sha256(certificate.der));
    wish.index_ = Secret(index.value_or(0));
    if (geometry.keyed()) {
      PIRX_ASSIGN(wish.filter_, database::KeyFilter::create(geometry));
      wish.rows_ = Secret(wish.filter_->place(wish.key_).rows);
    }
    return wish;
  }
  itpir::QueryKind kind() const { return filter_ ? itpir::QueryKind::kRowSums : itpir::QueryKind::kRecords; }
  Result<itpir::Query> query(const itpir::Client& client, Rng& rng) const {
    if (filter_) return client.query_sums({&rows_.expose(), 1}, rng);
    return client.query({&index_.expose(), 1}, rng);
  }
  /// Nothing: there is none for this certificate.
  Result<std::optional<Bytes>> record(std::span<const Bytes> answer) const {
    if (filter_) return filter_->read(key_, answer.front());
    return std::optional(answer.front());
  }

 private:
  std::string key_;
  Secret<std::uint64_t> index_;
  Secret<std::array<std::uint64_t, itpir::kSummedRows>> rows_;
  std::optional<database::KeyFilter> filter_;
};

}  // namespace

Result<itpir::Client> make_client(const Publication& publication, const Servers& servers, bool seeded) {
  for (std::size_t i = 0; i < servers.endpoints.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (servers.endpoints[i].url == servers.endpoints[j].url) {
        return fail(ErrorCode::kInvalidArgument,
                    "a server is listed twice: it would hold two shares of every query");
      }
    }
  }
  if (servers.version && *servers.version != publication.version) {
    return fail(ErrorCode::kStaleEpoch,
                "the deployment file is about another database than the tree head (epochs " +
                    std::to_string(servers.version->epoch) + " and " +
                    std::to_string(publication.version.epoch) + "): fetch both anew");
  }
  if (publication.geometry.record_bytes() != proof_record_bytes(publication.levels)) {
    return fail(ErrorCode::kDataLoss, "tree head: the database's records have not the length of its proofs");
  }
  PIRX_ASSIGN(auto params, itpir::Params::create({.field = servers.field,
                                                  .geometry = publication.geometry,
                                                  .version = publication.version,
                                                  .coordinates = servers.coordinates,
                                                  .threshold = servers.threshold}));
  return itpir::Client(std::move(params), {.seeded = seeded});
}

Result<Audit> audit(const Publication& publication, const Certificate& certificate,
                    const itpir::Client& client, const Ask& ask, Rng& rng, const AuditOptions& options) {
  PIRX_ASSIGN(const auto wish, Wish::create(client, certificate, options.index));
  const auto& params = client.params();
  const unsigned redundant = params.servers() - params.needed();
  const unsigned liars = std::max(redundant / 2, std::min(redundant, 1u));

  // Where the replies do not settle the answer, only one whose proof is right can. Where they do, it is taken
  // as it is: what they agree on may be that there is no proof, or a forged one.
  bool agreed = false;
  const auto check = [&](std::span<const Bytes> answer) {
    if (agreed) return true;
    const auto record = wish.record(answer);
    return record && *record && check_proof_record(publication, certificate.der, **record).has_value();
  };

  Audit report;
  report.servers.resize(params.servers());
  report.request_bytes = client.request_bytes(1, wish.kind());
  const net::CallOptions call{
      .deadline = options.deadline,
      .connect_timeout = options.deadline,
      .max_reply_bytes = static_cast<std::size_t>(client.reply_bytes(1, wish.kind()))};
  std::optional<itpir::ReplyCollector> collector;
  for (unsigned round = 1;; ++round) {
    PIRX_ASSIGN(auto query, wish.query(client, rng));
    if (collector) {
      PIRX_TRY(collector->ask_again(std::move(query.state)));
    } else {
      collector.emplace(client.collect(std::move(query.state), {.liars = {}, .check = check}));
    }
    std::vector<bool> settled(params.servers(), false);
    const auto on_settled = [&](std::size_t server, const net::CallOutcome& outcome) {
      settled[server] = true;
      auto& account = report.servers[server];
      if (outcome.reply) {
        if (const auto added = collector->add(server, *outcome.reply); !added)
          account.error = added.error().to_string();
      } else {
        collector->set_missing(server, status_of(outcome.reply.error()));
        account.error = outcome.reply.error().to_string();
      }
      return !options.wait_for_all && collector->settled(liars);
    };
    const auto outcomes = ask(query.requests, call, on_settled);
    for (std::size_t i = 0; i < outcomes.size(); ++i) {
      auto& account = report.servers[i];
      account.milliseconds += outcomes[i].milliseconds;
      account.bytes_up += outcomes[i].bytes_up;
      account.bytes_down += outcomes[i].bytes_down;
      account.abandoned = !settled[i];
    }
    PIRX_ASSIGN(const auto decoded, collector->decode());
    agreed = decoded.status == itpir::DecodeStatus::kOk;
    if (decoded.status != itpir::DecodeStatus::kNeedMoreQueries || round >= options.rounds) break;
  }

  auto answer = std::move(*collector).finish();
  if (!answer) {
    std::string message = answer.error().message();
    for (std::size_t i = 0; i < report.servers.size(); ++i) {
      if (report.servers[i].error.empty()) continue;
      message += "\n  server at coordinate " + std::to_string(params.coordinates()[i]) + ": " +
                 report.servers[i].error;
    }
    return fail(answer.error().code(), std::move(message));
  }
  report.certainty = answer->certainty;
  report.proof_bound = answer->proof_bound;
  report.responders = answer->responders;
  report.rounds = answer->rounds;
  for (std::size_t i = 0; i < report.servers.size(); ++i) report.servers[i].status = answer->servers[i];

  PIRX_ASSIGN(const auto record, wish.record(answer->records));
  const bool proven = answer->certainty == itpir::Certainty::kProven && answer->proof_bound > 0;
  if (!record) {
    report.verdict = proven ? Verdict::kAbsent : Verdict::kUndecided;
    return report;
  }
  const auto inclusion = check_proof_record(publication, certificate.der, *record);
  if (inclusion) {
    report.verdict = Verdict::kIncluded;
    report.inclusion = *inclusion;
  } else {
    report.verdict = Verdict::kForged;
    report.reason = inclusion.error().message();
  }
  return report;
}

}  // namespace pirx::ct
