// pirx load: what one server does under load. Requests are real ones of its protocol's client half; their
// answers are counted, not decoded. Spiral's keys are uploaded before the load begins.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <random>

#include "cli.h"
#include "load.h"
#include "pirx/client/single_plan.h"
#include "pirx/cpir/dj/client.h"
#include "pirx/cpir/qr/client.h"
#include "pirx/cpir/spiral/client.h"
#include "pirx/itpir/chor.h"
#include "pirx/itpir/client.h"

namespace pirx::cli {
namespace {

struct Arguments {
  std::string url, ca_file;
  Credentials credentials;
  bool allow_plaintext = false, allow_tls_1_2 = false, json = false;
  std::size_t connections = 64, queries = 1;
  double rate = 0, slo_refused = -1;
  std::chrono::microseconds duration{10'000'000}, deadline{10'000'000}, slo_p50{0}, slo_p99{0};
  std::uint64_t seed = 0;
};

/// What to send, and how long a reply to it may be.
struct Requests {
  std::string protocol;
  std::vector<Bytes> bodies;
  std::size_t reply_bytes = 0;
  decltype(LoadPlan::fault) fault = nullptr;
};

/// Sends a request to the server, before the load, and gives the reply.
using Send = std::function<Result<Bytes>(const Bytes&)>;

constexpr std::size_t kBodies = 16;                          // different ones
constexpr std::size_t kBodiesBytes = std::size_t{64} << 20;  // of all, about
constexpr std::size_t kSingleServerBodies = 2;               // they take seconds to make
constexpr std::size_t kSpiralClients = 4;                    // each with keys of megabytes

std::size_t body_count(std::size_t body_bytes) {
  return std::clamp<std::size_t>(kBodiesBytes / std::max<std::size_t>(body_bytes, 1), 1, kBodies);
}

/// Requests for records that nobody wants, to the server with this coordinate and one that does not exist.
Result<Requests> itpir_requests(const itpir::ServerParameters& server, const Arguments& a, Rng& rng) {
  if (server.arity > 1 || server.independence > 0 || !server.code.empty()) {
    return fail(
        ErrorCode::kInvalidArgument,
        "this server has a bucket of an encoded database: load it plain, a pass costs the same for as "
        "many rows");
  }
  const std::vector<std::uint64_t> coordinates{server.coordinate, server.coordinate == 1 ? 2u : 1u};
  std::vector<std::uint64_t> records(a.queries, 0);
  Requests requests;
  const auto keep = [&](auto& query) { requests.bodies.push_back(std::move(query.requests.front())); };
  const auto made = [&] { return requests.bodies.size() < body_count(requests.bodies.front().size()); };
  if (server.protocol == ProtocolId::kChor) {
    requests.protocol = "chor";
    PIRX_ASSIGN(auto params, itpir::ChorParams::create({server.geometry, server.version, coordinates}));
    const itpir::ChorClient client(std::move(params));
    do {
      PIRX_ASSIGN(auto query, client.query(records, rng));
      keep(query);
    } while (made());
  } else {
    requests.protocol = "goldberg";
    PIRX_ASSIGN(auto params, itpir::Params::create({.field = server.field,
                                                    .geometry = server.geometry,
                                                    .version = server.version,
                                                    .coordinates = coordinates}));
    const itpir::Client client(std::move(params));
    do {
      PIRX_ASSIGN(auto query, client.query(records, rng));
      keep(query);
    } while (made());
  }
  requests.reply_bytes = std::size_t{1} << 30;
  return requests;
}

template <class Client, class SecretKey, class Params>
Result<Requests> single_requests(const Params& params, Rng& rng) {
  PIRX_ASSIGN(const auto key, SecretKey::generate(params.spec().modulus_bits, params.spec().policy));
  PIRX_ASSIGN(const auto client, Client::create(params, key));
  Requests requests;
  for (std::size_t i = 0; i < kSingleServerBodies; ++i) {
    PIRX_ASSIGN(auto body, client.query(0, rng));
    requests.bodies.push_back(std::move(body));
  }
  requests.reply_bytes = params.reply_bytes();
  return requests;
}

/// Queries of a few clients, whose keys the server holds by now.
Result<Requests> spiral_requests(const cpir::spiral::Params& params, Rng& rng, const Send& send) {
  using cpir::spiral::Client;
  auto clients = std::make_shared<std::vector<Client>>();
  for (std::size_t i = 0; i < kSpiralClients; ++i) {
    PIRX_ASSIGN(auto client, Client::create(params));
    PIRX_ASSIGN(const auto held, send(client.keys()));
    PIRX_TRY(client.check_keys_held(held));
    clients->push_back(std::move(client));
  }
  Requests requests;
  requests.reply_bytes = params.reply_bytes();
  for (std::size_t i = 0; i < kBodies; ++i) {
    PIRX_ASSIGN(auto body, (*clients)[i % kSpiralClients].query(0, rng));
    requests.bodies.push_back(std::move(body));
  }
  // A server that has no room for more keys lets the longest unused go, and computes nothing for their
  // queries.
  requests.fault = [clients](std::size_t body, ByteSpan reply) -> std::string {
    return (*clients)[body % kSpiralClients].keys_unknown(reply) ? "keys not held" : "";
  };
  return requests;
}

Result<Requests> make_requests(ByteSpan parameters, const Arguments& a, const Send& send) {
  PIRX_ASSIGN(auto rng, Rng::from_os());
  PIRX_ASSIGN(const auto plan, decode_plan(parameters));
  if (!plan) {
    PIRX_ASSIGN(const auto server, itpir::ServerParameters::decode(parameters));
    return itpir_requests(server, a, rng);
  }
  if (a.queries != 1) {
    return fail(ErrorCode::kInvalidArgument,
                "a request of this protocol holds one query: leave out --queries");
  }
  auto requests = std::visit(
      [&](const auto& params) -> Result<Requests> {
        using Params = std::decay_t<decltype(params)>;
        if constexpr (std::is_same_v<Params, cpir::spiral::Params>) {
          return spiral_requests(params, rng, send);
        } else if constexpr (std::is_same_v<Params, cpir::dj::Params>) {
          return single_requests<cpir::dj::Client, cpir::dj::SecretKey>(params, rng);
        } else {
          return single_requests<cpir::qr::Client, cpir::qr::SecretKey>(params, rng);
        }
      },
      *plan);
  if (requests) requests->protocol = single_protocol_name(*plan);
  return requests;
}

nlohmann::ordered_json latencies(const std::vector<double>& rising) {
  nlohmann::ordered_json json{{"count", rising.size()}};
  for (const auto& [name, part] :
       {std::pair("p50", 0.5), {"p90", 0.9}, {"p99", 0.99}, {"p999", 0.999}, {"max", 1.0}}) {
    json[name] = LoadReport::percentile(rising, part);
  }
  return json;
}

void print(const Arguments& a, const Requests& requests, const LoadReport& report) {
  const auto per_second = [&](double count) { return count / report.seconds; };
  const auto answered = static_cast<double>(report.answered.size());
  if (a.json) {
    nlohmann::ordered_json json{{"protocol", requests.protocol},
                                {"loop", a.rate > 0 ? "open" : "closed"},
                                {"connections", a.connections},
                                {"queries_a_request", a.queries},
                                {"offered_a_second", a.rate},
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
  std::printf("%s, %s loop, %zu connections, %zu %s a request, %s up and %s down each\n",
              requests.protocol.c_str(), a.rate > 0 ? "open" : "closed", a.connections, a.queries,
              a.queries == 1 ? "query" : "queries",
              human_bytes(report.sent > 0 ? report.bytes_up / report.sent : 0).c_str(),
              human_bytes(report.sent > 0 ? report.bytes_down / report.sent : 0).c_str());
  std::printf("%zu requests in %.1f s", report.sent, report.seconds);
  if (a.rate > 0) std::printf(" (%.1f a second offered)", a.rate);
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
Result<void> check_promises(const Arguments& a, const LoadReport& report) {
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

Result<void> load(const Arguments& a) {
  LoadPlan plan;
  plan.server = {.url = a.url,
                 .ca_file = a.ca_file,
                 .allow_plaintext = a.allow_plaintext,
                 .allow_tls_1_2 = a.allow_tls_1_2};
  PIRX_TRY(give_credentials(a.credentials, std::span(&plan.server, 1)));
  plan.connections = a.connections;
  plan.duration = std::chrono::ceil<std::chrono::milliseconds>(a.duration);
  plan.deadline = std::chrono::ceil<std::chrono::milliseconds>(a.deadline);
  plan.rate = a.rate;
  plan.seed = a.seed != 0 ? a.seed : std::random_device()();
  PIRX_ASSIGN(auto transport, http::HttpTransport::create({plan.server}));
  const auto parameters = transport.parameters_all({}).front().reply;
  if (!parameters) return tl::unexpected(parameters.error());
  const auto send = [&](const Bytes& request) {
    return std::move(transport.query_all({request}, {.deadline = plan.deadline}).front().reply);
  };
  PIRX_ASSIGN(const auto requests, make_requests(*parameters, a, send));
  plan.max_reply_bytes = requests.reply_bytes;
  plan.fault = requests.fault;
  PIRX_ASSIGN(const auto report, run_load(plan, requests.bodies));
  print(a, requests, report);
  return check_promises(a, report);
}

}  // namespace

void add_load_command(CLI::App& app) {
  auto& command = *app.add_subcommand(
      "load", "Put load on one server: latency, throughput, refusals, and whether promises hold");
  const auto a = std::make_shared<Arguments>();
  command.add_option("url", a->url, "The server, as http://127.0.0.1:8100")->required();
  command.add_option("--rate", a->rate,
                     "Requests a second, at random times whatever became of those before; without it every "
                     "connection asks again as soon as it is answered");
  command.add_option("--connections", a->connections, "Clients at once")
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
  command.add_option("--seed", a->seed, "Of the random times; 0: another one each time")
      ->capture_default_str();
  command.add_option("--ca", a->ca_file, "PEM trust anchors for https [the system's]");
  command.add_flag("--allow-plaintext", a->allow_plaintext, "HTTP beyond loopback");
  command.add_flag("--tls-1.2", a->allow_tls_1_2, "TLS 1.2, too");
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
