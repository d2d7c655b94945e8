// SPDX-License-Identifier: Apache-2.0
// Drives a retrieval over a transport, and keeps an account of every server.
#include "pirx/client/fetch.h"

#include <algorithm>
#include <atomic>
#include <thread>

namespace pirx::client {
namespace {

using Clock = std::chrono::steady_clock;
using Milliseconds = std::chrono::milliseconds;

constexpr char kEnded[] = "the look-up was ended by its caller";

double milliseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

/// Adds what each of several servers answered.
Error explain(const Error& error, const std::vector<std::string>& urls,
              const std::vector<ServerOutcome>& servers) {
  std::string message = error.message();
  for (std::size_t i = 0; servers.size() > 1 && i < servers.size(); ++i) {
    if (!servers[i].error.empty() && !servers[i].abandoned)
      message += "\n  " + urls[i] + ": " + servers[i].error;
  }
  return Error(error.code(), std::move(message));
}

/// A caller's Stop, as often as it can afford: it is asked every 20 ms, by the thread that made this object,
/// and other threads are told what it has said.
class PacedStop {
 public:
  explicit PacedStop(Stop stop) : stop_(std::move(stop)) {}
  bool operator()() {
    if (!stop_ || stopped_ || std::this_thread::get_id() != thread_) return stopped_;
    if (const auto now = Clock::now(); now >= next_) {
      next_ = now + Milliseconds(20);
      stopped_ = stop_();
    }
    return stopped_;
  }
  bool stopped() const { return stopped_; }

 private:
  const Stop stop_;
  const std::thread::id thread_ = std::this_thread::get_id();
  Clock::time_point next_ = Clock::now() + Milliseconds(20);  // most look-ups have ended by then
  std::atomic<bool> stopped_ = false;
};

/// Sends a wave of messages, at most one to each server, and gives their replies to the retrieval.
/// InvalidArgument: nothing can be sent, by a mistake of the caller.
Result<void> exchange(Retrieval& retrieval, std::vector<Message> wave, const Deployment& deployment,
                      const Ask& ask, Milliseconds left, Milliseconds deadline, const Stop& stopped,
                      std::vector<ServerOutcome>& servers) {
  std::vector<Bytes> requests(servers.size());  // empty: the server is not asked
  std::vector<MessageId> ids(servers.size());
  std::uint64_t reply_bytes = 0;
  for (auto& message : wave) {
    requests.at(message.server) = std::move(message.bytes);
    ids[message.server] = message.id;
    reply_bytes = std::max(reply_bytes, message.reply_bytes);
  }
  for (std::size_t i = 0; i < servers.size(); ++i) {
    if (servers[i].abandoned) servers[i].error.clear();
    if (requests[i].empty() && servers[i].error.empty()) servers[i].abandoned = true;
  }
  std::vector<bool> settled(servers.size(), false);
  const auto on_settled = [&](std::size_t i, const http::CallOutcome& outcome) {
    settled[i] = true;
    const auto taken = outcome.reply ? retrieval.receive(ids[i], *outcome.reply)
                                     : retrieval.lost(ids[i], outcome.reply.error());
    for (const auto* error :
         {outcome.reply ? nullptr : &outcome.reply.error(), taken ? nullptr : &taken.error()}) {
      if (error == nullptr) continue;
      servers[i].error = error->to_string();
      servers[i].status = status_of(*error);
    }
    return !retrieval.waiting();
  };
  const auto outcomes = ask(requests,
                            {.deadline = left,
                             .announced = deadline,
                             .connect_timeout = std::min(left, Milliseconds(10'000)),
                             .max_reply_bytes = static_cast<std::size_t>(reply_bytes),
                             .stop = stopped},
                            on_settled);
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    if (requests[i].empty()) continue;
    auto& server = servers[i];
    server.milliseconds += outcomes[i].milliseconds;
    server.bytes_up += outcomes[i].bytes_up;
    server.bytes_down += outcomes[i].bytes_down;
    server.abandoned = !settled[i];
    if (!settled[i] && !outcomes[i].reply) {
      // No server said so. In a child of fork, for example, the parent's transport does.
      if (outcomes[i].reply.error().code() == ErrorCode::kInvalidArgument) {
        return tl::unexpected(outcomes[i].reply.error());
      }
      server.error = outcomes[i].reply.error().to_string();
      if (retrieval.waiting()) static_cast<void>(retrieval.lost(ids[i], outcomes[i].reply.error()));
    }
    if (outcomes[i].same_as) {
      server.error = "names the same instance as " + deployment.servers[*outcomes[i].same_as].url +
                     ": one server that got two servers' shares, or one that claims to be the other";
    }
  }
  return {};
}

RetrieveOptions retrieve_options(const FetchOptions& options) {
  return {.liars = options.liars,
          .rounds = options.rounds,
          .wait_for_all = options.wait_for_all,
          .believe = options.believe};
}

/// The warning of Plan::check.
Result<std::string> check_plan(const Deployment& deployment, const Texts& client_options) {
  const auto& protocol = deployment.plan->protocol();
  ClientSpec spec{.loopback = all_on_this_machine(deployment)};
  PIRX_ASSIGN(spec.options, Options::create(protocol.client_options, client_options, protocol.name));
  return deployment.plan->check(spec);
}

Result<void> check_run(const Plan& plan, std::size_t wishes, const FetchOptions& options) {
  if (wishes == 0 || wishes > kMaxRecords) {
    return invalid("ask for 1 to " + std::to_string(kMaxRecords) + " records at a time, not " +
                   std::to_string(wishes));
  }
  if (!plan.protocol().several) PIRX_TRY(check_one_server(retrieve_options(options)));
  return check_work(plan.work(), queries_of(plan, wishes), options.limits, deadline_of(plan, options));
}

}  // namespace

std::chrono::milliseconds deadline_of(const Plan& plan, const FetchOptions& options) {
  const auto usual = usual_deadline(plan);
  return std::min<Milliseconds>(options.deadline.value_or(usual), std::chrono::hours(24));
}

Result<void> check_fetch(const Deployment& deployment, const Texts& client_options, std::size_t wishes,
                         const FetchOptions& options) {
  PIRX_TRY(check_plan(deployment, client_options));
  return check_run(*deployment.plan, wishes, options);
}

Result<Fetcher> Fetcher::create(Deployment deployment, const Texts& options, Ask ask) {
  PIRX_CHECK(deployment.plan != nullptr);
  PIRX_TRY(check_manifest(deployment));
  PIRX_ASSIGN(auto warning, check_plan(deployment, options));
  std::function<void()> close = [] {};
  if (!ask) {
    PIRX_ASSIGN(auto transport, http::HttpTransport::create(deployment.servers));
    const auto http = std::make_shared<http::HttpTransport>(std::move(transport));
    ask = [http](const auto& requests, const auto& call, const auto& on_settled) {
      return http->query_all(requests, call, on_settled);
    };
    close = [http] { http->close(); };
  }
  return Fetcher(std::move(deployment), options, std::move(ask), std::move(close), std::move(warning));
}

Result<void> Fetcher::take(Deployment next) {
  const auto same_url = [](const auto& a, const auto& b) { return a.url == b.url; };
  const auto &old_servers = deployment_.servers, &new_servers = next.servers;
  if (next.plan == nullptr ||
      !std::equal(old_servers.begin(), old_servers.end(), new_servers.begin(), new_servers.end(), same_url)) {
    return invalid("a renewed deployment must have the same servers in the same order");
  }
  PIRX_TRY(check_manifest(next));
  PIRX_TRY(check_manifest_follows(deployment_, next));
  PIRX_ASSIGN(warning_, check_plan(next, options_));
  deployment_ = std::move(next);
  client_ = nullptr;  // its keys were for the old plan
  return {};
}

struct Fetcher::Asked::State {
  explicit State(const Stop& stop) : paced(stop) {}

  PacedStop paced;
  Clock::time_point end;  ///< of what is under way
  std::shared_ptr<const AnyClient> client;
  std::unique_ptr<Retrieval> retrieval;
  FetchReport report;                  ///< without servers
  std::vector<ServerOutcome> servers;  ///< of it
  std::vector<std::string> urls;
};

Fetcher::Asked::Asked(std::unique_ptr<State> state) : state_(std::move(state)) {}
Fetcher::Asked::Asked(Asked&&) noexcept = default;
Fetcher::Asked& Fetcher::Asked::operator=(Asked&&) noexcept = default;
Fetcher::Asked::~Asked() = default;

Result<FetchReport> Fetcher::Asked::finish() {
  auto& servers = state_->servers;
  const auto start = Clock::now();
  auto answer = std::move(*state_->retrieval).finish();
  if (!answer && state_->paced.stopped()) {
    const bool decoding = answer.error().code() == ErrorCode::kUndecodable;
    return fail(decoding ? ErrorCode::kUndecodable : ErrorCode::kUnavailable, kEnded);
  }
  if (!answer) return tl::unexpected(explain(answer.error(), state_->urls, servers));
  for (std::size_t i = 0; i < servers.size(); ++i) servers[i].status = answer->servers[i];
  auto report = std::move(state_->report);
  report.decode_milliseconds += milliseconds_since(start);
  report.answer = std::move(*answer);
  report.servers = servers;
  return report;
}

template <class Wish>
Result<FetchReport> Fetcher::run(std::span<const Wish> wishes, const FetchOptions& options) {
  auto report = run_once(wishes, options);
  if (report || report.error().code() != ErrorCode::kStaleEpoch || !options.renew) return report;
  PIRX_ASSIGN(auto next, options.renew(deployment_));
  PIRX_TRY(take(std::move(next)));
  return run_once(wishes, options);
}

template <class Wish>
Result<FetchReport> Fetcher::run_once(std::span<const Wish> wishes, const FetchOptions& options) {
  outcomes_.clear();
  PIRX_ASSIGN(auto asked, ask_once(wishes, options));
  auto report = asked.finish();
  outcomes_ = std::move(asked.state_->servers);
  return report;
}

template <class Wish>
Result<Fetcher::Asked> Fetcher::ask_once(std::span<const Wish> wishes, const FetchOptions& options) {
  auto state = std::make_unique<Asked::State>(options.stop);
  const auto moved = move_messages(wishes, options, *state);
  if (!moved && state->paced.stopped()) {
    close_();
    return fail(ErrorCode::kUnavailable, kEnded);
  }
  if (!moved) return tl::unexpected(moved.error());
  return Asked(std::move(state));
}

template <class Wish>
Result<void> Fetcher::move_messages(std::span<const Wish> wishes, const FetchOptions& options,
                                    Asked::State& state) {
  const auto& plan = *deployment_.plan;
  const bool several = plan.protocol().several;
  PIRX_TRY(check_run(plan, wishes.size(), options));
  const auto deadline = deadline_of(plan, options);
  const Stop stopped = options.stop ? [&state] { return state.paced(); } : Stop();

  auto& report = state.report;
  for (const auto& server : deployment_.servers) state.urls.push_back(server.url);
  state.servers.resize(deployment_.servers.size());
  auto start = Clock::now();
  auto& end = state.end = start + deadline;
  // A single server decides how many messages a query is, and could be just in time with each.
  const auto last =
      several ? Clock::time_point::max()
              : start + deadline * static_cast<Milliseconds::rep>(1 + queries_of(plan, wishes.size()));
  const Stop stop = [&state, stopped] { return Clock::now() >= state.end || (stopped && stopped()); };
  if (client_ == nullptr) {
    PIRX_ASSIGN(client_, join(plan, {.loopback = all_on_this_machine(deployment_), .stop = stop}, options_));
  }
  PIRX_ASSIGN(auto rng, Rng::from_os());
  auto stopping = retrieve_options(options);
  stopping.stop = stop;
  if (several) {
    stopping.rounds = rounds_within(plan.work(), queries_of(plan, wishes.size()), options.limits,
                                    options.rounds.value_or(kUsualRounds));
  }
  state.client = client_;
  auto& retrieval = state.retrieval;
  PIRX_ASSIGN(retrieval, client_->retrieve(wishes, stopping, std::move(rng)));
  for (unsigned sent = 0;; ++sent) {
    // When a connection ends must not tell how long decoding took. With one server nothing is decoded before
    // all has been sent.
    if (several) close_();
    PIRX_ASSIGN(auto wave, retrieval->outgoing());
    (wave.empty() ? report.decode_milliseconds : report.query_milliseconds) += milliseconds_since(start);
    if (wave.empty()) {
      end = Clock::now() + deadline * std::max(1u, sent);
      break;
    }
    // The making of a query counts where it takes seconds, and where it is no secret how long it took.
    if (several) end = Clock::now() + deadline;
    if (stop()) return fail(ErrorCode::kUnavailable, "the deadline passed before the request was sent");
    for (const auto& message : wave)
      report.request_bytes = std::max(report.request_bytes, message.bytes.size());
    if (options.sending) options.sending(sent, wave.front().bytes.size());
    start = Clock::now();
    PIRX_TRY(exchange(*retrieval, std::move(wave), deployment_, ask_,
                      std::chrono::ceil<Milliseconds>(end - Clock::now()), deadline, stopped, state.servers));
    if (stopped && stopped()) return fail(ErrorCode::kUnavailable, "ended");
    report.network_milliseconds += milliseconds_since(start);
    start = Clock::now();
    end = std::min(start + deadline, last);
  }
  close_();
  return {};
}

Result<FetchReport> Fetcher::fetch(std::span<const std::uint64_t> positions, const FetchOptions& options) {
  return run(positions, options);
}

Result<FetchReport> Fetcher::fetch_keys(std::span<const std::string> keys, const FetchOptions& options) {
  return run(keys, options);
}

Result<Fetcher::Asked> Fetcher::ask(std::span<const std::uint64_t> positions, const FetchOptions& options) {
  return ask_once(positions, options);
}

Result<Fetcher::Asked> Fetcher::ask_keys(std::span<const std::string> keys, const FetchOptions& options) {
  return ask_once(keys, options);
}

}  // namespace pirx::client
