// A round: query, send to all, collect until nothing more is needed, decode; more rounds where liars are not
// told apart; and an account of every server.
#include "pirx/client/fetch.h"

#include <algorithm>

#include "stand_in.h"

namespace pirx::client {
namespace {

using Clock = std::chrono::steady_clock;

double milliseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

/// As many as unique decoding corrects, and at least one where one can be noticed at all.
unsigned default_liars(const itpir::Params& params) {
  const unsigned redundant = params.servers() - params.needed();
  return std::max(redundant / 2, std::min(redundant, 1u));
}

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

Result<void> check_count(std::size_t records) {
  if (records <= kMaxRecordsPerRound) return {};
  return fail(ErrorCode::kInvalidArgument, std::to_string(records) +
                                               " records are too many for a round: ask for at most " +
                                               std::to_string(kMaxRecordsPerRound) + " at a time");
}

}  // namespace

Fetcher::Fetcher(std::vector<http::Endpoint> endpoints, itpir::Client client,
                 std::optional<itpir::VerticalClient> vertical, Ask ask, Rng rng)
    : endpoints_(std::move(endpoints)),
      client_(std::move(client)),
      vertical_(std::move(vertical)),
      ask_(std::move(ask)),
      rng_(std::move(rng)) {}

Result<Fetcher> Fetcher::create(Deployment deployment, const itpir::ClientOptions& options, Ask ask) {
  if (!ask) {
    PIRX_ASSIGN(auto transport, http::HttpTransport::create(deployment.servers));
    ask = [http = std::make_shared<http::HttpTransport>(std::move(transport))](
              const auto& requests, const auto& call, const auto& on_settled) {
      auto outcomes = http->query_all(requests, call, on_settled);
      // When a connection ends must not tell how long decoding took, or writing what was found.
      http->close();
      return outcomes;
    };
  }
  PIRX_ASSIGN(auto rng, Rng::from_os());
  std::optional<itpir::VerticalClient> vertical;
  if (!deployment.code.empty()) {
    PIRX_ASSIGN(vertical, itpir::VerticalClient::create(deployment.params, deployment.code, options));
  }
  auto client = vertical ? vertical->client() : itpir::Client(std::move(deployment.params), options);
  return Fetcher(std::move(deployment.servers), std::move(client), std::move(vertical), std::move(ask),
                 std::move(rng));
}

Result<FetchReport> Fetcher::fetch(std::span<const std::uint64_t> records, const FetchOptions& options) {
  const auto& geometry = vertical_ ? vertical_->layout().plain : client_.params().geometry();
  const auto positions = with_stand_ins(records, geometry);
  itpir::RecordCheck evidence;
  if (options.believe) {
    evidence = [&](std::span<const Bytes> found) {
      return options.believe(std::vector<std::optional<Bytes>>(found.begin(), found.end()));
    };
  }
  if (!vertical_) {
    const auto query = [&] { return client_.query(positions.expose(), rng_); };
    PIRX_ASSIGN(auto report,
                run({records.size(), itpir::QueryKind::kRecords, query, {.liars = {}, .evidence = evidence}},
                    options));
    PIRX_TRY(check_in_range(records, geometry));
    return report;
  }
  PIRX_TRY(check_count(records.size()));
  PIRX_ASSIGN(const auto wish, vertical_->plan(positions.expose()));
  const auto query = [&] { return client_.query(wish.rows(), rng_); };
  itpir::DecodeOptions decode{.liars = {}, .check = vertical_->check(wish)};
  if (evidence) decode.evidence = vertical_->check(wish, evidence);
  PIRX_ASSIGN(auto report,
              run({wish.rows().size(), itpir::QueryKind::kRecords, query, std::move(decode)}, options));
  PIRX_TRY(check_in_range(records, geometry));
  PIRX_ASSIGN(report.answer.records, vertical_->records(wish, report.answer.records));
  return report;
}

Result<FetchReport> Fetcher::run(const Request& request, const FetchOptions& options) {
  const auto& params = client_.params();
  const unsigned redundant = params.servers() - params.needed();
  if (options.liars && *options.liars > redundant) {
    return fail(ErrorCode::kInvalidArgument,
                "of " + std::to_string(params.servers()) + " servers, of which " +
                    std::to_string(params.needed()) + " must answer, at most " + std::to_string(redundant) +
                    " liars can be noticed, not " + std::to_string(*options.liars));
  }
  if (!vertical_) PIRX_TRY(check_count(request.wishes));
  FetchReport report;
  report.servers.resize(params.servers());
  const unsigned liars = options.liars.value_or(default_liars(params));
  const http::CallOptions call{
      .deadline = options.deadline,
      .connect_timeout = options.deadline,
      .max_reply_bytes = static_cast<std::size_t>(client_.reply_bytes(request.wishes, request.kind)),
  };
  std::optional<itpir::ReplyCollector> collector;
  std::size_t usable = 0, locked_out = 0;  // in the last round: good replies; servers we may not ask
  const auto ask = [&]() -> Result<void> {
    auto start = Clock::now();
    PIRX_ASSIGN(auto query, request.query());
    if (collector) {
      PIRX_TRY(collector->ask_again(std::move(query.state)));
    } else {
      auto decode = request.decode;
      decode.liars = options.liars;
      collector.emplace(client_.collect(std::move(query.state), std::move(decode)));
    }
    report.query_milliseconds += milliseconds_since(start);

    usable = locked_out = 0;
    std::vector<bool> settled(params.servers(), false);
    const auto on_settled = [&](std::size_t server, const http::CallOutcome& outcome) {
      settled[server] = true;
      if (outcome.reply) {
        const auto added = collector->add(server, *outcome.reply);
        if (!added) report.servers[server].error = added.error().to_string();
        if (added) ++usable;
      } else {
        if (outcome.reply.error().code() == ErrorCode::kUnauthenticated) ++locked_out;
        collector->set_missing(server, status_of(outcome.reply.error()));
        report.servers[server].error = outcome.reply.error().to_string();
      }
      return !options.wait_for_all && collector->settled(liars);
    };
    start = Clock::now();
    const auto outcomes = ask_(query.requests, call, on_settled);
    report.network_milliseconds += milliseconds_since(start);
    for (std::size_t i = 0; i < outcomes.size(); ++i) {
      auto& server = report.servers[i];
      server.milliseconds += outcomes[i].milliseconds;
      server.bytes_up += outcomes[i].bytes_up;
      server.bytes_down += outcomes[i].bytes_down;
      server.abandoned = !settled[i];
      if (!settled[i] && !outcomes[i].reply) server.error = outcomes[i].reply.error().to_string();
      if (outcomes[i].same_as) {
        server.error = "names the same instance as " + endpoints_[*outcomes[i].same_as].url +
                       ": one server that got two servers' shares, or one that claims to be the other";
      }
    }
    return {};
  };

  for (unsigned round = 1;; ++round) {
    PIRX_TRY(ask());
    const auto start = Clock::now();
    PIRX_ASSIGN(const auto decoded, collector->decode());
    report.decode_milliseconds += milliseconds_since(start);
    if (decoded.status != itpir::DecodeStatus::kNeedMoreQueries || round >= options.rounds) break;
  }

  const auto start = Clock::now();
  auto answer = std::move(*collector).finish();
  if (!answer) {
    auto code = answer.error().code();
    std::string message = answer.error().message();
    if (code == ErrorCode::kUndecodable && usable < params.needed() &&
        usable + locked_out >= params.needed()) {
      code = ErrorCode::kUnauthenticated;
      message =
          std::to_string(usable) + " usable replies of " + std::to_string(params.servers()) +
          " servers, at least " + std::to_string(params.needed()) + " are needed, and " +
          std::to_string(locked_out) +
          " are not trusted or do not trust this client: check the trust anchors (ca_file), the tokens and "
          "the client's certificate";
    }
    for (std::size_t i = 0; i < report.servers.size(); ++i) {
      if (!report.servers[i].error.empty())
        message += "\n  " + endpoints_[i].url + ": " + report.servers[i].error;
    }
    return fail(code, std::move(message));
  }
  report.answer = std::move(*answer);
  report.decode_milliseconds += milliseconds_since(start);
  for (std::size_t i = 0; i < report.servers.size(); ++i) report.servers[i].status = report.answer.servers[i];
  return report;
}

}  // namespace pirx::client
