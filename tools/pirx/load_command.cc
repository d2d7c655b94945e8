// SPDX-License-Identifier: Apache-2.0
// pirx load: what one server does under load. Requests are real ones of its protocol's client half; their
// answers are counted, not decoded. Spiral's keys are uploaded before the load begins.
#include <algorithm>
#include <random>

#include "cli.h"
#include "load.h"
#include "pirx/base/json.h"
#include "pirx/client/work.h"
#include "pirx/protocol.h"

namespace pirx::cli {
namespace {

struct LoadArguments {
  LoadPlan plan = {.server = {}, .seed = 0};
  Credentials credentials;
  client::WorkLimits limits{.time = std::chrono::hours(24)};
  bool json = false;
  std::size_t queries = 1;
  double slo_refused = -1;
  std::chrono::microseconds duration{10'000'000}, deadline{10'000'000}, slo_p50{0}, slo_p99{0};
};

/// What to send, and how long a reply to it may be.
struct Requests {
  std::string protocol;
  std::vector<Bytes> bodies;
  std::vector<std::size_t> reply_bytes;  ///< of each body
  std::size_t each = 1;                  ///< bodies of a look-up, sent one after another
  decltype(LoadPlan::fault) fault = nullptr;
};

/// Sends a request to the server, before the load, and gives the reply.
using Send = std::function<Result<Bytes>(const Bytes&)>;

constexpr std::size_t kBodies = 16;                          // different ones
constexpr std::size_t kBodiesBytes = std::size_t{64} << 20;  // of all, about
constexpr std::size_t kSlowBodies = 2;                       // they take seconds to make
constexpr std::size_t kClients = 4;                          // each with keys, which may take megabytes

/// A plan with this server and, where the protocol needs more, invented ones. Their coordinates are next to
/// its own, above or below: a field has a greatest one, and the least ones are of an encoded database's data.
Result<std::shared_ptr<const Plan>> plan_alone(const Protocol& protocol, const Told& told) {
  PlanSpec spec;
  PIRX_ASSIGN(spec.members, Options::create(protocol.members, told.members, protocol.name));
  if (!protocol.describes_database) spec.geometry = told.geometry;
  spec.version = told.version;
  if (!told.coordinate) return protocol.plan(spec);
  constexpr std::uint64_t kMostServers = 64;
  const std::uint64_t own = *told.coordinate;
  spec.coordinates = {own};
  for (std::uint64_t servers = 2; servers <= kMostServers; ++servers) {
    for (std::uint64_t below = 0; below < servers && below < own; ++below) {
      spec.coordinates.resize(1);
      for (std::uint64_t i = 0; i < servers; ++i) {
        if (i != below) spec.coordinates.push_back(own - below + i);
      }
      if (auto plan = protocol.plan(spec)) return plan;
    }
  }
  return protocol.plan(spec);
}

/// Requests for records that nobody wants: all that a look-up sends. Each client looks one up before, so that
/// the server holds its keys, or the client what it must have, where the protocol has such.
Result<Requests> make_requests(ByteSpan parameters, const LoadArguments& a, const Send& send) {
  PIRX_ASSIGN(const auto* protocol, find_protocol_of(parameters));
  PIRX_ASSIGN(const auto told, protocol->tell(parameters));
  PIRX_ASSIGN(const auto plan, plan_alone(*protocol, told));
  // What the server says of itself may be anything.
  PIRX_TRY(client::check_work(plan->work(), a.queries, a.limits, std::chrono::hours(24)));
  const bool keyed = plan->geometry().keyed();
  const std::vector<std::uint64_t> positions(a.queries, 0);
  const std::vector<std::string> keys(a.queries, "nobody");
  if (!protocol->several && a.queries != 1) {
    return invalid("a request of this protocol holds one query: leave out --queries");
  }
  Requests requests;
  requests.protocol = protocol->name;
  // Whether look-ups are made with the server's replies, before the load.
  const bool asks = !protocol->several && !protocol->slow;
  const auto look_up = [&](const AnyClient& client, bool to_the_end) -> Result<std::vector<Message>> {
    PIRX_ASSIGN(auto rng, Rng::from_os());
    PIRX_ASSIGN(auto retrieval, keyed ? client.retrieve(keys, {}, std::move(rng))
                                      : client.retrieve(positions, {}, std::move(rng)));
    std::vector<Message> messages;
    for (;;) {
      PIRX_ASSIGN(auto wave, retrieval->outgoing());
      if (wave.empty()) return messages;
      messages.push_back(std::move(wave.front()));
      if (!to_the_end) return messages;
      PIRX_ASSIGN(const auto reply, send(messages.back().bytes));
      PIRX_TRY(retrieval->receive(messages.back().id, reply));
    }
  };
  std::vector<std::unique_ptr<AnyClient>> clients;
  for (std::size_t i = 0, bodies = 1; requests.bodies.size() < bodies; ++i) {
    if (clients.size() < (asks ? kClients : 1)) {
      PIRX_ASSIGN(auto client, plan->join({}));  // unchecked: nobody wants these records
      if (asks) PIRX_TRY(look_up(*client, true));
      clients.push_back(std::move(client));
    }
    // The first one is made to its end, which shows whether a look-up takes several messages.
    PIRX_ASSIGN(auto messages, look_up(*clients[i % clients.size()], asks && i == 0));
    requests.each = messages.size();
    for (auto& message : messages) {
      requests.reply_bytes.push_back(static_cast<std::size_t>(message.reply_bytes));
      requests.bodies.push_back(std::move(message.bytes));
    }
    if (requests.each > 1) break;  // every look-up by such a protocol sends the same
    bodies = protocol->slow ? kSlowBodies
                            : std::clamp<std::size_t>(kBodiesBytes / requests.bodies[0].size(), 1, kBodies);
  }
  // A server that has no room for more keys lets the longest unused go, and computes nothing for their
  // queries.
  if (!protocol->several) {
    requests.fault = [bytes = requests.reply_bytes](std::size_t body, ByteSpan reply) -> std::string {
      return reply.size() == bytes[body] ? "" : "no answer";
    };
  }
  return requests;
}

OutJson latencies(const std::vector<double>& rising) {
  OutJson json{{"count", rising.size()}};
  for (const auto& [name, part] :
       {std::pair("p50", 0.5), {"p90", 0.9}, {"p99", 0.99}, {"p999", 0.999}, {"max", 1.0}}) {
    json[name] = LoadReport::percentile(rising, part);
  }
  return json;
}

void print(const LoadArguments& a, const Requests& requests, const LoadReport& report) {
  const auto per_second = [&](double count) { return count / report.seconds; };
  const auto answered = static_cast<double>(report.answered.size());
  if (a.json) {
    OutJson json{{"protocol", requests.protocol},
                 {"loop", a.plan.rate > 0 ? "open" : "closed"},
                 {"connections", a.plan.connections},
                 {"queries_a_request", a.queries},
                 {"requests_a_look_up", requests.each},
                 {"offered_a_second", a.plan.rate},
                 {"seconds", report.seconds},
                 {"sent", report.sent},
                 {"answered_a_second", per_second(answered)},
                 {"answered_ms", latencies(report.answered)},
                 {"refused_ms", latencies(report.refused)},
                 {"failed", report.failed},
                 {"bytes_up", report.bytes_up},
                 {"bytes_down", report.bytes_down}};
    std::printf("%s\n", json.dump(2).c_str());
    return;
  }
  std::printf("%s, %s loop, %zu connections, %zu %s a request, ", requests.protocol.c_str(),
              a.plan.rate > 0 ? "open" : "closed", a.plan.connections, a.queries,
              a.queries == 1 ? "query" : "queries");
  if (requests.each > 1) std::printf("%zu requests a look-up, ", requests.each);
  std::printf("%s up and %s down each\n",
              human_bytes(report.sent > 0 ? report.bytes_up / report.sent : 0).c_str(),
              human_bytes(report.sent > 0 ? report.bytes_down / report.sent : 0).c_str());
  std::printf("%zu requests in %.1f s", report.sent, report.seconds);
  if (a.plan.rate > 0) std::printf(" (%.1f a second offered)", a.plan.rate);
  std::printf(": %zu answered (%.1f a second), %zu refused for load", report.answered.size(),
              per_second(answered), report.refused.size());
  for (const auto& [code, count] : report.failed) std::printf(", %zu %s", count, code.c_str());
  std::printf("\n");
  for (const auto& [name, rising] : {std::pair("answered", &report.answered), {"refused", &report.refused}}) {
    if (rising->empty()) continue;
    std::printf("%-9s p50 %.2f  p90 %.2f  p99 %.2f  p99.9 %.2f  max %.2f ms\n", name,
                LoadReport::percentile(*rising, 0.5), LoadReport::percentile(*rising, 0.9),
                LoadReport::percentile(*rising, 0.99), LoadReport::percentile(*rising, 0.999),
                LoadReport::percentile(*rising, 1));
  }
}

/// Unavailable: the report does not keep what was promised.
Result<void> check_promises(const LoadArguments& a, const LoadReport& report) {
  std::string broken;
  const auto promise = [&](const char* what, double value, double limit, const char* unit) {
    if (limit < 0 || value <= limit) return;
    char text[128];
    std::snprintf(text, sizeof text, "%s%s is %.2f %s, above %.2f", broken.empty() ? "" : "; ", what, value,
                  unit, limit);
    broken += text;
  };
  const auto limit = [](std::chrono::microseconds value) {
    return value.count() == 0 ? -1.0 : std::chrono::duration<double, std::milli>(value).count();
  };
  promise("p50", LoadReport::percentile(report.answered, 0.5), limit(a.slo_p50), "ms");
  promise("p99", LoadReport::percentile(report.answered, 0.99), limit(a.slo_p99), "ms");
  const auto all = static_cast<double>(std::max<std::size_t>(report.sent, 1));
  promise("the part refused", static_cast<double>(report.refused.size()) / all, a.slo_refused, "");
  if (!report.failed.empty()) broken += broken.empty() ? "some requests failed" : "; some requests failed";
  if (report.answered.empty()) broken += broken.empty() ? "nothing was answered" : "; nothing was answered";
  if (broken.empty()) return {};
  return fail(ErrorCode::kUnavailable, broken);
}

Result<void> load(const LoadArguments& a) {
  LoadPlan plan = a.plan;
  PIRX_TRY(give_credentials(a.credentials, std::span(&plan.server, 1)));
  plan.duration = std::chrono::ceil<std::chrono::milliseconds>(a.duration);
  plan.deadline = std::chrono::ceil<std::chrono::milliseconds>(a.deadline);
  if (plan.seed == 0) plan.seed = std::random_device()();
  PIRX_ASSIGN(auto transport, http::HttpTransport::create({plan.server}));
  const auto parameters = transport.parameters_all({}).front().reply;
  if (!parameters) return tl::unexpected(parameters.error());
  const auto send = [&](const Bytes& request) {
    return std::move(transport.query_all({request}, {.deadline = plan.deadline}).front().reply);
  };
  PIRX_ASSIGN(const auto requests, make_requests(*parameters, a, send));
  plan.max_reply_bytes = *std::max_element(requests.reply_bytes.begin(), requests.reply_bytes.end());
  plan.fault = requests.fault;
  PIRX_ASSIGN(const auto report, run_load(plan, requests.bodies));
  print(a, requests, report);
  return check_promises(a, report);
}

}  // namespace

void add_load_command(CLI::App& app) {
  auto& command = *app.add_subcommand(
      "load", "Put load on one server: latency, throughput, refusals, and whether promises hold");
  const auto a = std::make_shared<LoadArguments>();
  command.add_option("url", a->plan.server.url, "The server, as http://127.0.0.1:8100")->required();
  command.add_option("--rate", a->plan.rate,
                     "Requests a second, at random times whatever became of those before; without it every "
                     "connection asks again as soon as it is answered");
  command.add_option("--connections", a->plan.connections, "Clients at once")
      ->capture_default_str()
      ->check(whole_number(1, 10000));
  command.add_option("--queries", a->queries, "Queries in a request")
      ->capture_default_str()
      ->check(whole_number(1, 4096));
  add_duration(command, "--duration", a->duration, "How long [10s]");
  add_duration(command, "--deadline", a->deadline, "How long a client waits for an answer [10s]");
  add_duration(command, "--slo-p50", a->slo_p50, "Fail if half of the answers take longer");
  add_duration(command, "--slo-p99", a->slo_p99, "Fail if more than 1 % of the answers take longer");
  command.add_option("--slo-refused", a->slo_refused, "Fail if a larger part is refused for load, 0 to 1")
      ->check(CLI::Range(0.0, 1.0));
  command.add_option("--seed", a->plan.seed, "Of the random times; 0: another one each time")
      ->capture_default_str();
  add_size(command, "--max-bytes", a->limits.bytes,
           "Refuse a plan whose query, reply and keys take more than so many bytes [256MiB]");
  add_size(command, "--max-memory", a->limits.memory,
           "Refuse a plan that takes more of this machine's memory [1GiB]");
  add_ca(command, a->plan.server.ca_file, "PEM trust anchors for https [the system's]");
  command.add_flag("--allow-plaintext", a->plan.server.allow_plaintext, "HTTP beyond loopback");
  command.add_flag("--tls-1.2", a->plan.server.allow_tls_1_2, "TLS 1.2, too");
  add_credentials(command, a->credentials);
  command.add_flag("--json", a->json, "JSON on standard output");
  command.footer(
      "A request's time begins when it should have been sent, also where all connections were busy then.\n"
      "Exit code 5 when a request failed or a promise (--slo-...) was not kept. Only load servers of your "
      "own.\n"
      "Examples:\n"
      "  pirx load http://127.0.0.1:8100 --connections 256\n"
      "  pirx load http://127.0.0.1:8100 --rate 200 --duration 60s --slo-p99 250ms --slo-refused 0 --json");
  set_action(command, [a] { return load(*a); });
}

}  // namespace pirx::cli
