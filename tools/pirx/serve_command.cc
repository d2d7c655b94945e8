// SPDX-License-Identifier: Apache-2.0
// `pirx serve`: serves databases over HTTP(S), each by a protocol, until SIGINT or SIGTERM.
#include <sys/resource.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <latch>
#include <optional>
#include <system_error>
#include <thread>

#include "cli.h"
#include "pirx/base/buffer.h"
#include "pirx/base/cpu.h"
#include "pirx/database/serving.h"
#include "pirx/http/http_client.h"
#include "pirx/http/http_server.h"
#include "pirx/http/limits.h"
#include "protocol_options.h"
#include "rank.h"
#include "reloader.h"
#include "serve_config.h"
#include "serve_log.h"
#include "served_database.h"
#include "web_page.h"

namespace pirx::cli {
namespace {

struct ServeArguments {
  DatabaseSettings database;
  std::string config;
  Texts server;         ///< options and limits of the server
  bool shards = false;  ///< was asked for where there are no ranks
  RankArguments ranks;
};

/// Every connection takes a descriptor. Raises the soft limit as far as the system allows, and gives how many
/// connections it then has descriptors for, `wanted` at most: their number decides what share one client
/// gets.
std::size_t connections_to_have(std::size_t wanted, std::size_t databases, int io_threads) {
  // Listener, logs; what each thread waits with; of each database its file and what opening the next epoch
  // takes.
  const rlim_t others = 60 + 3 * static_cast<rlim_t>(io_threads) + 4 * databases;
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= wanted + others) return wanted;
  limit.rlim_cur = std::min<rlim_t>(wanted + others, limit.rlim_max);
  setrlimit(RLIMIT_NOFILE, &limit);
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= wanted + others) return wanted;
  return std::max<std::size_t>(limit.rlim_cur - std::min(limit.rlim_cur / 2, others), 1);
}

tl::unexpected<Error> no_threads(const std::string& what) {
  return fail(ErrorCode::kResourceExhausted,
              what +
                  ": lower --threads or --io-threads, or let this server have more threads (ulimit -u, a "
                  "container's limit on processes) and memory for their stacks (ulimit -v)");
}

/// Serving takes so many at once: every thread that opens or computes has a team of OpenMP's of its own.
std::size_t threads_needed(const ServeSettings& settings) {
  const int asked = settings.http.compute_threads;
  const auto team = static_cast<std::size_t>(asked > 0 ? asked : machine_cores());
  const auto databases =
      settings.databases.size();  // each has one that opens its next epoch, one that verifies
  const std::size_t others = 4;   // computes, logs, waits for signals, ends the process
  return (databases + 2) * team + 2 * databases + static_cast<std::size_t>(settings.http.io_threads) + others;
}

/// Has so many threads at once, and lets them go. OpenMP ends the process where it cannot have one: so that
/// is found out before there is anything to end. ResourceExhausted.
Result<void> try_threads(std::size_t count) {
  std::vector<std::thread> threads;
  std::latch leave(1);
  bool enough = true;
  try {
    threads.reserve(count);
    while (threads.size() < count) threads.emplace_back([&leave] { leave.wait(); });
  } catch (const std::exception&) {
    enough = false;
  }
  leave.count_down();
  for (auto& thread : threads) thread.join();
  if (enough) return {};
  return no_threads("the system gives this server " + std::to_string(threads.size()) + " of the " +
                    std::to_string(count) + " threads that it needs");
}

/// Flags, the environment and the config file together. Without a config file the command line has the only
/// database.
Result<ServeSettings> settle(const ServeArguments& a, bool is_rank) {
  const auto variable = [](const std::string& name) {
    const char* text = std::getenv(name.c_str());
    return text == nullptr ? std::nullopt : std::optional<std::string>(text);
  };
  ServeFile file;
  if (a.config.empty()) {
    if (a.database.file.empty()) return invalid("give a database file, or --config");
    file.databases.push_back({.settings = a.database, .limits = {}});
  } else {
    if (!a.database.file.empty() || !a.database.options.empty() || !a.database.manifest.empty() ||
        a.database.protocol != DatabaseSettings().protocol) {
      return invalid(
          "with --config the databases and their options are in the config file: leave them out here");
    }
    if (is_rank) return invalid("ranks serve one database: name it in place of --config");
    PIRX_ASSIGN(file, load_serve_file(a.config));
  }
  return settle_serve(a.server, variable, file);
}

/// A database on its way into the server, and what looks for its epochs afterwards.
struct Hosting {
  const DatabaseSettings* settings;
  OpenContext context;
  Served served;
  http::LogEvent opened;  ///< for the log of whoever answers
};

Result<Hosting> open_database(const DatabaseSettings& settings, OpenContext context, const Log& log,
                              const std::vector<std::pair<std::string, std::string>>& machine) {
  context.spec.note = note_log(settings, log);
  context.damaged = damage_log(settings, log);
  const auto start = std::chrono::steady_clock::now();
  auto served = open_served(settings, context);
  if (!served) {
    const auto& error = served.error();
    return fail(error.code(),
                (settings.name.empty() ? "" : "database " + settings.name + ": ") + error.message());
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  auto event = database_event(settings, *served, took.count());
  event.text.insert(event.text.end(), machine.begin(), machine.end());
  return Hosting{&settings, std::move(context), std::move(*served), std::move(event)};
}

/// What was refused for the memory that a database takes says which one that is.
Result<http::HttpServer> named(Result<http::HttpServer> server, const std::vector<Hosting>& open,
                               std::size_t max_in_flight_bytes) {
  if (server || !server.error().message().starts_with("max_in_flight_bytes")) return server;
  for (const auto& one : open) {
    if (one.settings->name.empty() || in_flight_needed(*one.served.server) <= max_in_flight_bytes) continue;
    return fail(server.error().code(), "database " + one.settings->name + ": " + server.error().message());
  }
  return server;
}

/// Gives the page of --web anew when asked to, and when its deployment file has changed, which says of which
/// epoch the page asks.
Reloader::Beside web_page_reloader(const ServeSettings& settings, http::HttpServer& server, const Log& log) {
  if (settings.web.empty()) return nullptr;
  return [&settings, &server, &log, page = settings.http.files, stamp = std::string()](bool asked) mutable {
    auto now = stamp_of({&settings.web, 1});
    if (now == stamp && !asked) return;
    stamp = std::move(now);
    std::error_code ignored;
    const bool pipe = std::filesystem::is_fifo(settings.web, ignored);  // nobody may ever write to it
    auto next = pipe ? fail(ErrorCode::kDataLoss, settings.web + " is a pipe")
                     : load_web_page(settings.web, settings.web_folder);
    if (!next) {
      // A bad file is named once, not at every look; that a file is not there may pass.
      if (next.error().code() != ErrorCode::kDataLoss) stamp.clear();
      log({.event = "web_refused",
           .text = {{"code", std::string(error_code_name(next.error().code()))},
                    {"reason", next.error().message()}},
           .numbers = {}});
      return;
    }
    if (!asked && (*next)->back().content == page->back().content) return;  // the deployment
    page = std::move(*next);
    server.replace_files(page);
    log({.event = "web", .text = {{"deployment", settings.web}}, .numbers = {}});
  };
}

/// Makes the log's writer, which outlives all else.
Result<void> serve(const ServeArguments& a, const StartRank& start, std::optional<LogWriter>& writer) {
  PIRX_ASSIGN(auto settings, settle(a, start != nullptr));
  // Before any thread starts, so that every thread inherits the mask and only the waiter below takes the
  // signals; after the files of settings, which may be pipes to which nobody writes.
  const sigset_t signals = stopping_signals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  settings.http.max_connections =
      connections_to_have(settings.http.max_connections, settings.databases.size(), settings.http.io_threads);
  PIRX_TRY(try_threads(threads_needed(settings)));
  PIRX_ASSIGN(const CpuFeatures features, allowed_cpu_features());
  signal(SIGPIPE, SIG_IGN);  // whoever reads the log may go away
  PIRX_TRY(database::survive_lost_pages());
  writer.emplace(settings.log_format ? *settings.log_format : log_format_of_stderr());
  const Log log = [quiet = settings.quiet, &writer](const http::LogEvent& event) {
    if (!quiet || event.event != "batch") writer->write(event);
  };
  std::unique_ptr<Rank> rank;
  if (start) {
    PIRX_ASSIGN(rank, start(a.database, log));
    if (settings.watch.count() > 0) {
      return invalid(
          "the ranks take no new epoch while they run: leave --watch away and start them again for it");
    }
  }
  ProgressLog progress(log);
  OpenContext context;
  context.spec.threads = settings.http.compute_threads;
  context.spec.loopback = http::is_loopback(settings.http.address);
  context.spec.progress = std::ref(progress);
  if (rank) context.spec.spread = rank->spread();
  std::vector<Hosting> open;
  std::vector<http::HostedDatabase> hosted;
  for (auto& database : settings.databases) {
    PIRX_ASSIGN(auto one,
                open_database(database.settings, context, log, {{"isa", cpu_features_name(features)}}));
    if (!database.batch_max_given) {
      auto& most = database.queue.batch_max;
      most = std::max(most, one.served.server->preferred_queries());
      if (settings.databases.size() == 1) settings.http.batch_max = most;
    }
    if (!database.settings.name.empty()) {
      auto limits = settings.http;
      static_cast<http::QueueOptions&>(limits) = database.queue;
      for (const auto& limit : http::limits()) {
        if (limit.queue) one.opened.numbers.push_back(http::logged(limit, limits));
      }
    }
    hosted.push_back({database.settings.name, one.served.server, database.queue, database.settings.protocol,
                      one.served.manifest_bytes()});
    open.push_back(std::move(one));
  }
  if (rank) {
    PIRX_TRY(rank->agree(open[0].served));
    const auto patience =
        settings.http.drain_timeout + std::chrono::ceil<std::chrono::milliseconds>(a.ranks.timeout);
    if (!rank->answers()) return rank->work(patience);
  }
  PIRX_ASSIGN(auto server, named(http::HttpServer::create(std::move(hosted), settings.http, log), open,
                                 settings.http.max_in_flight_bytes));
  for (const auto& one : open) log(one.opened);
  if (const std::string note = huge_page_note(); !note.empty()) {
    log({.event = "huge_pages", .text = {{"note", note}}, .numbers = {}});
  }
  std::printf("listening on port %u\n", static_cast<unsigned>(server.port()));
  std::fflush(stdout);

  std::vector<std::unique_ptr<Reloader>> reloaders;
  for (auto& one : open) {
    const auto replace = [&server, name = one.settings->name](std::shared_ptr<const AnyServer> next,
                                                              Bytes manifest) {
      return server.replace(std::move(next), name, std::move(manifest));
    };
    const auto publish = [&server, name = one.settings->name](Bytes manifest) {
      return server.publish(std::move(manifest), name);
    };
    reloaders.push_back(std::make_unique<Reloader>(
        *one.settings, std::move(one.context), std::move(one.served), replace, publish, settings.watch, log,
        reloaders.empty() ? web_page_reloader(settings, server, log) : nullptr));
  }
  std::thread waiter([&] {
    for (int signal = SIGHUP; signal == SIGHUP;) {
      sigwait(&signals, &signal);
      if (signal != SIGHUP) break;
      for (const auto& reloader : reloaders) reloader->request();
    }
    server.stop();
  });
  if (rank) rank->when_lost([&server] { server.stop(); });
  const auto done = server.run();
  // A pass that nobody waits for any more, and an epoch that is being prepared, do not hold up the end. Ranks
  // have deadlines of their own.
  if (!rank) {
    try {
      std::thread([code = done ? 0 : exit_code(done.error())] {
        std::this_thread::sleep_for(std::chrono::seconds(1));
        std::_Exit(code);
      }).detach();
    } catch (const std::system_error&) {  // then they do
    }
  }
  // run() may have ended by itself: the waiter still waits for a signal then.
  kill(getpid(), SIGTERM);
  waiter.join();
  return rank ? rank->end(done) : done;
}

}  // namespace

sigset_t stopping_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&signals, signal);
  return signals;
}

void add_serve_command(CLI::App& app, WithRanks with_ranks) {
  auto& command =
      *app.add_subcommand("serve", "Serve a database to clients, batching independent clients' queries");
  auto a = std::make_shared<ServeArguments>();
  command.add_option("database", a->database.file, "Database file");
  command.add_option(
      "--config", a->config,
      "JSON file that names one or more databases, and may set what flags set (docs/operations.md)");
  command.add_option("--protocol", a->database.protocol, protocol_help())->capture_default_str();
  command.add_option("--manifest", a->database.manifest,
                     "Manifest of the database (pirx manifest sign), for clients that pin its publisher");
  for (const auto& option : database_options()) {
    add_text_option(command, option, std::string(option.help), a->database.options);
  }
  for (const auto& option : server_options()) {
    add_text_option(command, option, std::string(option.help), a->server,
                    option.name == "quiet" ? "-q,--quiet" : "");
  }
  for (const auto& limit : limit_options()) {
    add_text_option(command, limit, std::string(limit.help) + ", or " + variable_of(limit.name), a->server);
  }
  if (with_ranks == nullptr) {
    command.add_flag(
        "--shards", a->shards,
        "Refused here: 'mpirun -n N pirx-ranks serve' spreads the database over several processes "
        "(docs/beyond_one_machine.md)");
  } else {
    command.add_option("--shards-split", a->ranks.split, "rows, columns, or auto: what moves fewer bytes")
        ->capture_default_str();
    add_duration(command, "--shards-timeout", a->ranks.timeout,
                 "A rank that is later than its work explains by so much is lost, and the server ends [10s]");
  }
  command.footer(
      "Logs go to standard error, as text on a terminal and otherwise as JSON lines. They never hold query "
      "content.\n"
      "Examples:\n"
      "  pirx serve packages.pirx --coordinate 1 --listen 127.0.0.1:8101\n"
      "  pirx serve packages.pirx --coordinate 2 --listen 0.0.0.0:443 --tls-cert chain.pem --tls-key "
      "key.pem\n"
      "  pirx serve packages.pirx --protocol " +
      std::string(protocols().back()->name) +
      " --listen 127.0.0.1:8100\n"
      "  pirx serve --config servers.json");
  set_action(command, [a, with_ranks]() -> Result<void> {
    if (a->shards) {
      return invalid(
          "this program serves alone. To spread the database over several processes, leave --shards away and "
          "start 'mpirun -n N pirx-ranks serve ...' (docs/beyond_one_machine.md)");
    }
    const auto run = [&](const StartRank& start) -> Result<void> {
      std::optional<LogWriter> writer;
      Result<void> done;
      try {
        done = serve(*a, start, writer);
      } catch (const std::system_error& error) {  // of a thread, after try_threads()
        done = no_threads(std::string("cannot start a thread: ") + error.what());
      }
      if (writer) writer->end_with(done ? 0 : exit_code(done.error()));
      return done;
    };
    return with_ranks == nullptr ? run(nullptr) : with_ranks(a->ranks, run);
  });
}

}  // namespace pirx::cli
