// pirx serve: one protocol over one database behind HTTP(S), until SIGINT or SIGTERM.
#include <sys/resource.h>

#include <algorithm>
#include <csignal>
#include <thread>

#include "cli.h"
#include "pirx/base/buffer.h"
#include "pirx/base/cpu.h"
#include "pirx/net/http_server.h"
#include "reloader.h"
#include "serve_log.h"
#include "served_database.h"
#include "shards_run.h"
#include "single_plan.h"
#include "tuning_file.h"

namespace pirx::cli {
namespace {

struct Arguments {
  DatabaseSettings database;
  std::string listen = "127.0.0.1:8100", tuning;
  int threads = 0;
  bool quiet = false;
  std::chrono::microseconds batch_window{2'000}, header_timeout{10'000'000}, body_timeout{30'000'000},
      idle_timeout{60'000'000}, write_timeout{30'000'000}, drain_timeout{10'000'000};
  std::chrono::microseconds watch{0}, max_queue_time{10'000'000};
  std::uint64_t max_in_flight = std::uint64_t{1} << 30, max_header = 8 * 1024;
  net::HttpServerOptions http;
  ShardArguments shards;
};

/// "host:port", "[::1]:port" or ":port".
Result<void> parse_listen(const std::string& text, net::HttpServerOptions& options) {
  const auto bad = [&] {
    return fail(ErrorCode::kInvalidArgument,
                "--listen wants address:port, as 127.0.0.1:8100 or [::1]:8100, not '" + text + "'");
  };
  const auto colon = text.rfind(':');
  if (colon == std::string::npos || colon + 1 == text.size()) return bad();
  std::string host = text.substr(0, colon);
  if (host.size() >= 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  std::uint64_t port = 0;
  for (const char c : text.substr(colon + 1)) {
    if (c < '0' || c > '9' || port > 65535) return bad();
    port = 10 * port + static_cast<std::uint64_t>(c - '0');
  }
  if (port > 65535 || host.empty()) return bad();
  options.address = host == "localhost" ? "127.0.0.1" : host;
  options.port = static_cast<std::uint16_t>(port);
  return {};
}

/// Every connection takes a descriptor: raises the soft limit as far as the system allows. With too few the
/// server pauses accepting, so a refusal is no error.
void raise_descriptor_limit(std::size_t connections) {
  rlimit limit{};
  const rlim_t wanted = connections + 64;  // database, listener, logs, epoll
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= wanted) return;
  limit.rlim_cur = std::min(wanted, limit.rlim_max);
  setrlimit(RLIMIT_NOFILE, &limit);
}

std::chrono::milliseconds to_milliseconds(std::chrono::microseconds time) {
  return std::chrono::ceil<std::chrono::milliseconds>(time);
}

/// A query of a protocol with one server takes seconds: one at a time, few that wait, and time for a thin
/// link's client to send and take bytes. What the caller gave stays.
void set_single_limits(const CLI::App& command, net::HttpServerOptions& http) {
  http.batch_max = 1;
  http.batch_window = std::chrono::microseconds(0);
  if (command.count("--max-queued") == 0) http.max_queued_requests = 16;
  constexpr std::chrono::milliseconds kThinLink{600'000};
  if (command.count("--max-queue-time") == 0) http.max_queue_time = kThinLink;
  if (command.count("--body-timeout") == 0) http.body_timeout = kThinLink;
  if (command.count("--write-timeout") == 0) http.write_timeout = kThinLink;
}

/// A flag for every option of a database.
void add_database_options(CLI::App& command, DatabaseSettings& settings) {
  for (const auto& option : database_options()) {
    const auto keep = [&settings, &option](const std::string& text) { settings.options[option.name] = text; };
    const auto flag = flag_of(option.name), help = option.full_help();
    if (option.kind == DatabaseOption::Kind::kSwitch) {
      command.add_flag_callback(
          flag, [keep] { keep("on"); }, help);
    } else {
      command.add_option_function<std::string>(flag, keep, help)
          ->check(CLI::Validator(
              [&option](const std::string& text) {
                const auto checked = option.check(text);
                return checked ? std::string() : checked.error().message();
              },
              ""));
    }
  }
}

Result<void> serve(Arguments a, const CLI::App& command, shards::World* world) {
  // Before any thread starts, so that every thread inherits the mask and only the waiter below takes the
  // signals.
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGHUP);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);

  PIRX_TRY(parse_listen(a.listen, a.http));
  a.http.batch_window = a.batch_window;
  a.http.header_timeout = to_milliseconds(a.header_timeout);
  a.http.body_timeout = to_milliseconds(a.body_timeout);
  a.http.idle_timeout = to_milliseconds(a.idle_timeout);
  a.http.write_timeout = to_milliseconds(a.write_timeout);
  a.http.drain_timeout = to_milliseconds(a.drain_timeout);
  a.http.max_in_flight_bytes = a.max_in_flight;
  a.http.max_header_bytes = a.max_header;
  a.http.max_queue_time = to_milliseconds(a.max_queue_time);

  const bool single = is_single_protocol(a.database.protocol);
  if (single && a.database.protocol != "spiral") set_single_limits(command, a.http);

  raise_descriptor_limit(a.http.max_connections);
  PIRX_ASSIGN(const auto tuning, use_tuning(a.tuning));
  PIRX_ASSIGN(const CpuFeatures features, allowed_cpu_features());
  signal(SIGPIPE, SIG_IGN);  // whoever reads the log may go away
  LogWriter writer;
  const Log log = [quiet = a.quiet, &writer](const net::LogEvent& event) {
    if (!quiet || event.event != "batch") writer.write(net::to_json(event) + "\n");
  };
  std::unique_ptr<ShardsRun> shards;
  if (world != nullptr) {
    PIRX_ASSIGN(shards, ShardsRun::start(*world, a.shards, a.database, log));
    if (a.watch.count() > 0) {
      return fail(
          ErrorCode::kInvalidArgument,
          "the ranks take no new epoch while they run: leave --watch away and start them again for it");
    }
  }
  ProgressLog progress(log);
  const OpenContext context{.threads = a.threads,
                            .loopback = net::is_loopback(a.http.address),
                            .note = note_log(a.database, log),
                            .progress = [&progress](double part) { progress(part); },
                            .spread = shards ? shards->spread() : nullptr};
  const auto start = std::chrono::steady_clock::now();
  PIRX_ASSIGN(Served served, open_served(a.database, context));
  const std::chrono::duration<double> opened = std::chrono::steady_clock::now() - start;
  if (shards) {
    PIRX_TRY(shards->agree(served));
    if (!shards->answers()) return shards->work(a.http.drain_timeout + to_milliseconds(a.shards.timeout));
  }
  PIRX_ASSIGN(auto server, net::HttpServer::create(served.server, a.http, log));
  auto event = database_event(a.database, served, opened.count());
  event.text.emplace_back("isa", cpu_features_name(features));
  event.text.emplace_back("tuning", tuning.string());
  log(event);
  if (const std::string note = huge_page_note(); !note.empty()) {
    log({.event = "huge_pages", .text = {{"note", note}}, .numbers = {}});
  }
  std::printf("listening on port %u\n", static_cast<unsigned>(server.port()));
  std::fflush(stdout);

  Reloader reloader(
      a.database, context, std::move(served),
      [&server](std::shared_ptr<const AnyServer> next) { return server.replace(std::move(next)); }, a.watch,
      log);
  std::thread waiter([&] {
    for (int signal = SIGHUP; signal == SIGHUP;) {
      sigwait(&signals, &signal);
      if (signal == SIGHUP) reloader.request();
    }
    server.stop();
  });
  if (shards) shards->when_lost([&server] { server.stop(); });
  const auto done = server.run();
  // run() may have ended by itself: the waiter still waits for a signal then.
  kill(getpid(), SIGTERM);
  waiter.join();
  return shards ? shards->end(done) : done;
}

}  // namespace

void add_serve_command(CLI::App& app) {
  auto& command =
      *app.add_subcommand("serve", "Serve a database to clients, batching independent clients' queries");
  auto a = std::make_shared<Arguments>();
  command.add_option("database", a->database.file, "Database file")->required();
  command
      .add_option(
          "--protocol", a->database.protocol,
          "goldberg, or chor: all servers must answer; or with one server, which works for seconds on a "
          "query: dj-tree (Damgard-Jurik, little traffic), or qr (quadratic residuosity); or for part of "
          "one: spiral (lattices)")
      ->capture_default_str();
  add_database_options(command, a->database);
  add_duration(command, "--watch", a->watch,
               "Look for a new epoch of the database so often, as 10s; SIGHUP looks at once [never]");
  command.add_option("--listen", a->listen, "address:port; port 0 takes a free one and prints it")
      ->capture_default_str();
  command.add_option("--threads", a->threads, "Threads of the matrix product; 0: one a core")
      ->capture_default_str()
      ->check(whole_number(0, 1024));
  command
      .add_option("--tuning", a->tuning,
                  "Thresholds of this machine, made by 'pirx bench --tune'; default: "
                  "$XDG_CONFIG_HOME/pirx/tuning.json or ~/.config/pirx/tuning.json, if it is there")
      ->type_name("FILE");
  command.add_option("--io-threads", a->http.io_threads, "Threads of the network")
      ->capture_default_str()
      ->check(whole_number(1, 256));
  add_duration(command, "--batch-window", a->batch_window,
               "How long a first request waits for others while they come so often; idle servers answer at "
               "once [2ms]");
  add_duration(command, "--max-queue-time", a->max_queue_time,
               "A request that would wait longer for its pass is refused when it arrives [10s]");
  command.add_flag("--metrics-for-all", a->http.metrics_for_all,
                   "GET /metrics answers every peer, not only this machine");
  command.add_option("--batch-max", a->http.batch_max, "Queries answered in one pass")
      ->capture_default_str()
      ->check(whole_number(1, 65536));
  command.add_option("--max-connections", a->http.max_connections, "Open connections")
      ->capture_default_str()
      ->check(whole_number(1, 1000000));
  command.add_option("--max-queued", a->http.max_queued_requests, "Requests that wait")
      ->capture_default_str()
      ->check(whole_number(1, 1000000));
  add_size(command, "--max-in-flight", a->max_in_flight, "Bytes of requests and replies held at once [1GiB]");
  add_size(command, "--max-header", a->max_header, "Bytes of an HTTP header [8KiB]");
  add_duration(command, "--header-timeout", a->header_timeout, "To send a request's header [10s]");
  add_duration(command, "--body-timeout", a->body_timeout, "To send a request's body [30s]");
  add_duration(command, "--idle-timeout", a->idle_timeout, "Between requests of a connection [60s]");
  add_duration(command, "--write-timeout", a->write_timeout, "To take a reply [30s]");
  add_duration(command, "--drain-timeout", a->drain_timeout, "For requests in flight when stopping [10s]");
  command.add_flag("--shards", a->shards.on,
                   "Spread the database over the processes that mpirun -n N started; rank 0 listens "
                   "(docs/beyond_one_machine.md)");
  command.add_option("--shards-split", a->shards.split, "rows, columns, or auto: what moves fewer bytes")
      ->capture_default_str();
  add_duration(command, "--shards-timeout", a->shards.timeout,
               "A rank that is later than its work explains by so much is lost, and the server ends [10s]");
  command.add_option("--tls-cert", a->http.tls_certificate_file, "PEM certificate chain");
  command.add_option("--tls-key", a->http.tls_key_file, "PEM private key");
  command.add_flag("--tls-1.2", a->http.tls_allow_1_2, "Also allow TLS 1.2");
  command.add_flag(
      "--allow-plaintext", a->http.allow_plaintext,
      "HTTP beyond loopback: whoever sees the traffic of more than t servers learns the indices");
  command.add_flag("--quiet", a->quiet, "Do not log every batch");
  command.footer(
      "Logs are JSON lines on standard error and never hold query content.\n"
      "Examples:\n"
      "  pirx serve packages.pirx --coordinate 1 --listen 127.0.0.1:8101\n"
      "  pirx serve packages.pirx --coordinate 2 --listen 0.0.0.0:443 --tls-cert chain.pem --tls-key "
      "key.pem\n"
      "  pirx serve packages.pirx --protocol dj-tree --listen 127.0.0.1:8100");
  set_action(command, [a, &command] {
    return with_world(a->shards, [&](shards::World* world) { return serve(*a, command, world); });
  });
}

}  // namespace pirx::cli
