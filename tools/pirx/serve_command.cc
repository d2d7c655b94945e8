// pirx serve: one protocol over one database behind HTTP(S), until SIGINT or SIGTERM.
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <thread>

#include "cli.h"
#include "deployment.h"
#include "pirx/base/buffer.h"
#include "pirx/base/cpu.h"
#include "pirx/cpir/dj/server.h"
#include "pirx/cpir/qr/server.h"
#include "pirx/cpir/spiral/server.h"
#include "pirx/database/database.h"
#include "pirx/itpir/server.h"
#include "pirx/net/http_server.h"
#include "single_plan.h"
#include "tuning_file.h"

namespace pirx::cli {
namespace {

/// Writes log lines to standard error from a thread of its own, so that a reader who stalls cannot stall the
/// server: beyond kMaxLines waiting lines, lines are dropped and counted.
class LogWriter {
 public:
  LogWriter() : thread_([this] { run(); }) {}
  /// Gives a reader who stalls one second, then leaves.
  ~LogWriter() {
    std::unique_lock lock(mutex_);
    done_ = true;
    changed_.notify_all();
    const bool idle = changed_.wait_for(lock, std::chrono::seconds(1), [this] { return finished_; });
    lock.unlock();
    if (idle) {
      thread_.join();
    } else {
      std::_Exit(0);  // the writer is stuck in a write that nobody reads; everything else has ended
    }
  }
  void write(std::string line) {
    const std::lock_guard lock(mutex_);
    if (lines_.size() >= kMaxLines) {
      ++dropped_;
      return;
    }
    lines_.push_back(std::move(line));
    changed_.notify_all();
  }

 private:
  static constexpr std::size_t kMaxLines = 4096;

  void run() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [this] { return done_ || !lines_.empty(); });
      if (lines_.empty()) break;
      std::deque<std::string> lines;
      lines.swap(lines_);
      if (dropped_ > 0) {
        lines.push_back(net::to_json({.event = "log_lines_dropped",
                                      .text = {},
                                      .numbers = {{"lines", static_cast<double>(dropped_)}}}) +
                        "\n");
        dropped_ = 0;
      }
      lock.unlock();
      for (const auto& line : lines) std::fputs(line.c_str(), stderr);
      lock.lock();
    }
    finished_ = true;
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::string> lines_;
  std::size_t dropped_ = 0;
  bool done_ = false, finished_ = false;
  std::thread thread_;
};

struct Arguments {
  std::string database, protocol = "goldberg", listen = "127.0.0.1:8100", field, prepared, layout = "auto",
                        code, tuning, arities, selectors, kernel, set;
  std::optional<std::uint64_t> coordinate;
  std::optional<std::uint64_t> modulus, slots;
  std::uint64_t tables = 0;  ///< bytes; zero: not given
  std::uint32_t max_queries = 256;
  int threads = 0;
  bool quiet = false, paper_reproduction = false, rerandomise = false;
  std::chrono::microseconds batch_window{2'000}, header_timeout{10'000'000}, body_timeout{30'000'000},
      idle_timeout{60'000'000}, write_timeout{30'000'000}, drain_timeout{10'000'000};
  std::chrono::microseconds watch{0}, max_queue_time{10'000'000};
  std::uint64_t max_in_flight = std::uint64_t{1} << 30, max_header = 8 * 1024;
  net::HttpServerOptions http;
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

using Log = std::function<void(const net::LogEvent&)>;

/// A database and the server half that was opened from the very same content.
struct Served {
  std::shared_ptr<const database::Database> database;
  std::shared_ptr<const AnyServer> protocol;
};

/// Opens what the file and its delta hold now.
Result<Served> open_served(const Registry& registry, const std::string& name, const ServerSpec& spec) {
  constexpr int kAttempts = 5;
  for (int attempt = 1;; ++attempt) {
    PIRX_ASSIGN(auto before, database::Database::open(spec.database_path));
    PIRX_ASSIGN(std::shared_ptr<const AnyServer> protocol, registry.open(name, spec));
    // The protocol opens the file by itself: the same content before and after is what it found.
    PIRX_ASSIGN(const auto after, database::Database::open(spec.database_path));
    if (before->content_version() == after->content_version()) {
      return Served{std::move(before), std::move(protocol)};
    }
    if (attempt == kAttempts) {
      return fail(ErrorCode::kUnavailable, "the database changes faster than it can be opened");
    }
  }
}

/// Whether clients of `now` can go on with `next`: a later epoch of records of the same kind.
Result<void> check_next(const database::Database& now, const database::Database& next) {
  const auto refuse = [](std::string message) {
    return fail(ErrorCode::kInvalidArgument, std::move(message) + ": the epoch served stays");
  };
  // An update of buckets with noise that was interrupted is done again, with other noise.
  const bool renewed = next.bucket() != nullptr && next.bucket()->independence > 0 &&
                       next.version().epoch == now.version().epoch;
  if (next.version().epoch <= now.version().epoch && !renewed) {
    return refuse("epoch " + std::to_string(next.version().epoch) + " does not follow epoch " +
                  std::to_string(now.version().epoch));
  }
  const auto& old_spec = now.geometry().spec();
  const auto& new_spec = next.geometry().spec();
  if (old_spec.variable_length != new_spec.variable_length || old_spec.digests != new_spec.digests ||
      now.geometry().keyed() != next.geometry().keyed()) {
    return refuse("the new file keeps other records (lengths, digests or keys): restart the server for it");
  }
  const bool both = now.bucket() != nullptr && next.bucket() != nullptr;
  if ((now.bucket() != nullptr) != (next.bucket() != nullptr) || (both && *now.bucket() != *next.bucket())) {
    return refuse("the new file is encoded in another way: restart the server for it");
  }
  return {};
}

/// What tells a changed file from the same one, cheaply: of the database and its delta.
std::string stamp(const std::string& path) {
  std::string text;
  std::error_code error;
  auto file = std::filesystem::canonical(path, error);
  if (error) file = path;
  for (const char* suffix : {"", ".delta"}) {
    struct stat status {};
    const bool there = ::stat((file.native() + suffix).c_str(), &status) == 0;
    for (const auto part :
         {there ? static_cast<long>(status.st_ino) : -1L, static_cast<long>(status.st_size),
          static_cast<long>(status.st_mtim.tv_sec), static_cast<long>(status.st_mtim.tv_nsec)}) {
      text += std::to_string(part) + " ";
    }
  }
  return text;
}

/// Opens and prepares the next epoch beside the one that is served, on a thread of its own, and hands it to
/// the server; whatever is wrong with it, the server goes on as it is.
class Reloader {
 public:
  Reloader(const Registry& registry, std::string name, ServerSpec spec, Served served,
           net::HttpServer& server, std::chrono::microseconds watch, Log log)
      : registry_(registry),
        name_(std::move(name)),
        spec_(std::move(spec)),
        served_(std::move(served)),
        server_(server),
        watch_(watch),
        log_(std::move(log)),
        stamp_(stamp(spec_.database_path)),
        thread_([this] { run(); }) {}
  ~Reloader() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  /// As SIGHUP: look at the file now, and say what came of it.
  void request() {
    const std::lock_guard lock(mutex_);
    requested_ = true;
    changed_.notify_all();
  }

 private:
  void run() {
    for (std::unique_lock lock(mutex_); !stopping_;) {
      const auto wake = [this] { return requested_ || stopping_; };
      if (watch_.count() > 0) {
        changed_.wait_for(lock, watch_, wake);
      } else {
        changed_.wait(lock, wake);
      }
      if (stopping_) break;
      const bool asked = std::exchange(requested_, false);
      lock.unlock();
      try {
        look(asked);
      } catch (const std::exception& error) {
        refused(Error(ErrorCode::kResourceExhausted, error.what()));
      }
      lock.lock();
    }
  }

  void refused(const Error& error) {
    log_({.event = "epoch_refused",
          .text = {{"code", std::string(error_code_name(error.code()))}, {"reason", error.message()}},
          .numbers = {{"epoch_served", static_cast<double>(served_.database->version().epoch)}}});
  }

  void look(bool asked) {
    std::string now = stamp(spec_.database_path);
    if (now == stamp_ && !asked) return;
    stamp_ = std::move(now);  // a bad file is named once, not at every look
    if (const auto taken = take(asked); !taken) refused(taken.error());
  }

  Result<void> take(bool asked) {
    const auto start = std::chrono::steady_clock::now();
    // Before the work of preparing: most of what can be wrong.
    PIRX_ASSIGN(const auto found, database::Database::open(spec_.database_path));
    if (found->content_version() == served_.database->content_version()) {
      if (asked) log_({.event = "epoch_unchanged", .text = {}, .numbers = {{"epoch", epoch_of(*found)}}});
      return {};
    }
    PIRX_TRY(check_next(*served_.database, *found));
    PIRX_ASSIGN(Served next, open_served(registry_, name_, spec_));
    PIRX_TRY(check_next(*served_.database, *next.database));
    PIRX_ASSIGN(auto old, server_.replace(next.protocol));
    const auto seconds = [&start] {
      return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    };
    log_({.event = "epoch",
          .text = {{"identity", to_hex(next.database->version().identity)}},
          .numbers = {{"epoch", epoch_of(*next.database)},
                      {"epoch_before", epoch_of(*served_.database)},
                      {"seconds", seconds()}}});
    const double before = epoch_of(*served_.database);
    served_ = std::move(next);
    // Freed here, where nobody waits, once its last query is answered.
    std::unique_lock lock(mutex_);
    while (old.use_count() > 1 && !stopping_) changed_.wait_for(lock, std::chrono::milliseconds(20));
    lock.unlock();
    old.reset();
    log_({.event = "epoch_retired", .text = {}, .numbers = {{"epoch", before}, {"seconds", seconds()}}});
    return {};
  }

  static double epoch_of(const database::Database& database) {
    return static_cast<double>(database.version().epoch);
  }

  const Registry& registry_;
  const std::string name_;
  const ServerSpec spec_;
  Served served_;
  net::HttpServer& server_;
  const std::chrono::microseconds watch_;
  const Log log_;
  std::string stamp_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool requested_ = false, stopping_ = false;
  std::thread thread_;  ///< last: it starts when everything else exists
};

/// Spiral's options: --prepared keeps the encoded database.
Result<void> set_spiral_options(const Arguments& a, ServerSpec& spec) {
  if (a.coordinate || !a.field.empty() || !a.code.empty() || a.layout != "auto" || a.modulus || a.slots ||
      a.tables > 0 || !a.arities.empty() || !a.selectors.empty() || !a.kernel.empty() || a.rerandomise ||
      a.paper_reproduction) {
    return fail(ErrorCode::kInvalidArgument,
                "of the protocols' options, spiral takes --set and --prepared only");
  }
  if (!a.set.empty()) spec.options["set"] = a.set;
  if (!a.prepared.empty()) spec.options["encoded"] = a.prepared;
  return {};
}

/// The options of protocols with one server.
Result<void> set_single_options(const Arguments& a, ServerSpec& spec) {
  if (a.coordinate || !a.field.empty() || !a.code.empty() || !a.prepared.empty() || a.layout != "auto") {
    return fail(
        ErrorCode::kInvalidArgument,
        "--coordinate, --field, --code, --prepared and --layout are for protocols with several servers, "
        "not " +
            a.protocol);
  }
  const bool tree = a.protocol == "dj-tree";
  if (tree ? a.slots.has_value()
           : !a.arities.empty() || !a.selectors.empty() || a.tables > 0 || a.rerandomise) {
    return fail(ErrorCode::kInvalidArgument,
                "--arity, --selectors, --tables and --rerandomise are for dj-tree, --slots for qr");
  }
  if (a.paper_reproduction) {
    if (!net::is_loopback(a.http.address)) {
      return fail(
          ErrorCode::kInvalidArgument,
          "keys of 1024 bits can be broken: --paper-reproduction is refused beyond loopback, listen on "
          "127.0.0.1 or ::1");
    }
    if (a.modulus && *a.modulus != 1024) {
      return fail(ErrorCode::kInvalidArgument,
                  "--paper-reproduction means keys of 1024 bits: leave --modulus away");
    }
    spec.options["paper"] = "1024";
  } else if (a.modulus) {
    if (*a.modulus == 1024) {
      return fail(
          ErrorCode::kInvalidArgument,
          "keys of 1024 bits can be broken: use 3072 (the default) or 2048, or --paper-reproduction to "
          "reproduce a paper's figures on this machine");
    }
    spec.options["modulus"] = std::to_string(*a.modulus);
  }
  if (!a.kernel.empty()) spec.options["kernel"] = a.kernel;
  if (!a.arities.empty()) spec.options["arities"] = a.arities;
  if (!a.selectors.empty()) spec.options["selectors"] = a.selectors;
  if (a.rerandomise) spec.options["rerandomise"] = "on";
  if (a.tables > 0) spec.options["table_mib"] = std::to_string((a.tables + (1u << 20) - 1) >> 20);
  if (a.slots) spec.options["slots"] = std::to_string(*a.slots);
  return {};
}

/// The options of the protocol. A bucket says by itself what it is; a plain database is told.
Result<void> set_options(const Arguments& a, ServerSpec& spec) {
  if (a.protocol == "spiral") return set_spiral_options(a, spec);
  if (!a.set.empty()) return fail(ErrorCode::kInvalidArgument, "--set is for spiral, not " + a.protocol);
  if (is_single_protocol(a.protocol)) return set_single_options(a, spec);
  if (a.modulus || a.slots || a.tables > 0 || !a.arities.empty() || !a.selectors.empty() ||
      !a.kernel.empty() || a.paper_reproduction || a.rerandomise) {
    return fail(ErrorCode::kInvalidArgument,
                "--modulus, --arity, --selectors, --tables, --rerandomise, --slots, --kernel and "
                "--paper-reproduction are for dj-tree and "
                "qr, not " +
                    a.protocol);
  }
  spec.options = {{"max_queries", std::to_string(a.max_queries)}, {"layout", a.layout}};
  if (!a.prepared.empty()) spec.options["prepared"] = a.prepared;
  if (!a.field.empty()) spec.options["field"] = a.field;
  if (!a.code.empty()) spec.options["code"] = a.code;
  if (a.coordinate) {
    spec.options["coordinate"] = std::to_string(*a.coordinate);
    return {};
  }
  PIRX_ASSIGN(const auto database, database::Database::open(a.database));
  if (database->bucket() != nullptr) return {};
  return fail(ErrorCode::kInvalidArgument,
              "give --coordinate: every server of a plain database has its own, 1, 2, ...");
}

/// Log lines about an answer that takes long: at most one in ten seconds.
class ProgressLog {
 public:
  explicit ProgressLog(Log log) : log_(std::move(log)) {}
  /// From any thread.
  void operator()(double part) {
    const auto now = Clock::now().time_since_epoch().count();
    auto next = next_.load(std::memory_order_relaxed);
    const auto last_part = last_part_.exchange(part, std::memory_order_relaxed);
    // Threads overtake each other by a block; what falls back further is another answer.
    if (part < last_part - 0.25 || next == 0) {
      next_.store(now + kPause, std::memory_order_relaxed);
      return;
    }
    if (now < next || !next_.compare_exchange_strong(next, now + kPause)) return;
    log_({.event = "progress", .text = {}, .numbers = {{"percent", std::floor(100 * part)}}});
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr auto kPause =
      std::chrono::duration_cast<Clock::duration>(std::chrono::seconds(10)).count();
  const Log log_;
  std::atomic<Clock::rep> next_{0};
  std::atomic<double> last_part_{0};
};

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

Result<void> serve(Arguments a, const CLI::App& command) {
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

  const bool single = is_single_protocol(a.protocol);
  if (single && a.protocol != "spiral") set_single_limits(command, a.http);

  raise_descriptor_limit(a.http.max_connections);
  PIRX_ASSIGN(const auto tuning, use_tuning(a.tuning));
  PIRX_ASSIGN(const CpuFeatures features, allowed_cpu_features());
  Registry registry;
  itpir::register_goldberg(registry);
  itpir::register_chor(registry);
  cpir::dj::register_dj_tree(registry);
  cpir::qr::register_qr(registry);
  cpir::spiral::register_spiral(registry);
  std::vector<std::string> notes;
  std::optional<ProgressLog> progress;  // once there is a log
  ServerSpec spec{.database_path = a.database,
                  .threads = a.threads,
                  .options = {},
                  .note = [&notes](const std::string& text) { notes.push_back(text); },
                  .progress = [&progress](double part) { (*progress)(part); }};
  PIRX_TRY(set_options(a, spec));
  const auto start = std::chrono::steady_clock::now();
  PIRX_ASSIGN(Served served, open_served(registry, a.protocol, spec));
  const auto opened = std::chrono::steady_clock::now();

  signal(SIGPIPE, SIG_IGN);  // whoever reads the log may go away
  LogWriter writer;
  const Log log = [quiet = a.quiet, &writer](const net::LogEvent& event) {
    if (!quiet || event.event != "batch") writer.write(net::to_json(event) + "\n");
  };
  progress.emplace(log);
  const auto log_note = [&log, &a, single](const std::string& note) {
    if (single) return log({.event = "warning", .text = {{"note", note}}, .numbers = {}});
    log({.event = "prepared",
         .text = {{"layout", a.layout}, {"file", a.prepared}, {"note", note}},
         .numbers = {}});
  };
  PIRX_ASSIGN(auto server, net::HttpServer::create(served.protocol, a.http, log));
  const auto* bucket = served.database->bucket();
  std::string field = a.field;
  if (field.empty()) {
    field = bucket != nullptr ? bucket->field.name() : a.protocol == "chor" ? "gf2" : "gf2_8";
  }
  log({.event = "database",
       .text = {{"file", a.database},
                {"protocol", a.protocol},
                {"field", single ? "none" : field},
                {"isa", cpu_features_name(features)},
                {"tuning", tuning.string()}},
       .numbers = {{"coordinate", static_cast<double>(a.coordinate        ? *a.coordinate
                                                      : bucket != nullptr ? bucket->coordinate
                                                                          : 0)},
                   {"epoch", static_cast<double>(served.database->version().epoch)},
                   {"seconds_to_open", std::chrono::duration<double>(opened - start).count()}}});
  for (const std::string& note : notes) log_note(note);
  if (const std::string note = huge_page_note(); !note.empty()) {
    log({.event = "huge_pages", .text = {{"note", note}}, .numbers = {}});
  }
  std::printf("listening on port %u\n", static_cast<unsigned>(server.port()));
  std::fflush(stdout);

  spec.note = log_note;
  Reloader reloader(registry, a.protocol, spec, std::move(served), server, a.watch, log);
  std::thread waiter([&] {
    for (int signal = SIGHUP; signal == SIGHUP;) {
      sigwait(&signals, &signal);
      if (signal == SIGHUP) reloader.request();
    }
    server.stop();
  });
  const auto done = server.run();
  // run() may have ended by itself: the waiter still waits for a signal then.
  kill(getpid(), SIGTERM);
  waiter.join();
  return done;
}

}  // namespace

void add_serve_command(CLI::App& app) {
  auto& command =
      *app.add_subcommand("serve", "Serve a database to clients, batching independent clients' queries");
  auto a = std::make_shared<Arguments>();
  command.add_option("database", a->database, "Database file")->required();
  command
      .add_option(
          "--protocol", a->protocol,
          "goldberg, or chor: all servers must answer; or with one server, which works for seconds on a "
          "query: dj-tree (Damgard-Jurik, little traffic), or qr (quadratic residuosity); or for part of "
          "one: "
          "spiral (lattices)")
      ->capture_default_str();
  command
      .add_option("--modulus", a->modulus, "dj-tree, qr: bits of clients' keys, 2048, 3072 or 4096 [3072]")
      ->check(whole_number(1024, 4096));
  command.add_option("--arity", a->arities,
                     "dj-tree: children of a node, leaves first, the last repeated: 32,16 or 8 [32,16]");
  command.add_option("--selectors", a->selectors,
                     "dj-tree: one-hot, or polynomial as in the paper [one-hot]");
  command.add_flag("--rerandomise", a->rerandomise,
                   "dj-tree: fresh coins in every node, against clients who would learn of other rows");
  add_size(command, "--tables", a->tables, "dj-tree: memory for tables of powers [64MiB]");
  command
      .add_option("--slots", a->slots,
                  "qr: records in a row of the matrix; by default query and reply are about equal")
      ->check(whole_number(1, ~std::uint64_t{0} >> 1));
  command.add_option("--kernel", a->kernel, "dj-tree, qr: gmp or ifma [the faster one that runs here]");
  command.add_option(
      "--set", a->set,
      "spiral: s1, s1c, s2, s2s, s3 or s3b, made for certain shapes of databases [the fastest plan "
      "for this one]");
  command.add_flag("--paper-reproduction", a->paper_reproduction,
                   "dj-tree, qr: keys of 1024 bits, as in the papers, which can be broken; loopback only");
  command.add_option("--code", a->code,
                     "Batch code: subcube:L,K or subset:L,w; several records then cost little more than one");
  command
      .add_option(
          "--coordinate", a->coordinate,
          "This server's public x-coordinate: 1, 2, ...; no two servers alike. A bucket knows its own")
      ->check(whole_number(0, ~std::uint64_t{0}));
  command.add_option(
      "--field", a->field,
      "gf2_8, gf2_16, w160, w48 or prime<bits>; the same on all servers [gf2_8, or the bucket's]");
  command
      .add_option("--layout", a->layout,
                  "auto, rows (no copy), or what trades memory for speed of many queries: residues (prime "
                  "fields, 2.5 times the "
                  "database more), strassen1, strassen2, strassen3 (GF(2^n), 1.75, 2.9 and 5.1 times)")
      ->capture_default_str();
  command.add_option("--prepared", a->prepared,
                     "File that keeps the prepared database, about as large as the database (spiral: five "
                     "times): used if it "
                     "fits, else written");
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
  command.add_option("--max-queries", a->max_queries, "Queries that one request may hold")
      ->capture_default_str()
      ->check(whole_number(1, 4096));
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
  set_action(command, [a, &command] { return serve(*a, command); });
}

}  // namespace pirx::cli
