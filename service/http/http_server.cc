// SPDX-License-Identifier: Apache-2.0
// Listens, accepts connections and stops. session.cc has what happens on a connection, batcher.cc what
// happens to a query.
#include "pirx/http/http_server.h"

#include <netinet/tcp.h>

#include <algorithm>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <mutex>
#include <optional>
#include <thread>

#include "log.h"
#include "paths.h"
#include "pirx/base/buffer.h"
#include "pirx/base/printable.h"
#include "pirx/base/rng.h"
#include "pirx/http/limits.h"
#include "session.h"
#include "tls.h"

namespace pirx::http {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

namespace {

constexpr int kAcceptsAtOnce = 64;
constexpr std::chrono::milliseconds kPause{50};  // when the process has no descriptor or memory left

/// Sets a flag for as long as it lives, inside a handler: the flag is true while the handler can still be
/// called, and falls when asio drops the handler for lack of memory.
class Pending {
 public:
  explicit Pending(std::atomic<bool>& flag) noexcept : flag_(&flag) { flag = true; }
  Pending(Pending&& other) noexcept : flag_(std::exchange(other.flag_, nullptr)) {}
  Pending& operator=(Pending&&) = delete;
  ~Pending() { end(); }
  void end() noexcept {
    if (flag_ != nullptr) *std::exchange(flag_, nullptr) = false;
  }

 private:
  std::atomic<bool>* flag_;
};

/// For whoever has no thread or memory.
std::string no_room(const char* what) {
  return std::string("cannot set up the server: ") + what +
         " (the system gives it no more threads or memory: raise ulimit -u and -v or the container's limits, "
         "or lower --io-threads)";
}

std::string in_words(const Limit& limit, std::uint64_t value) {
  if (limit.unit == Limit::Unit::kTime) return std::to_string(value / 1000) + " ms";
  return std::to_string(value) + (limit.unit == Limit::Unit::kBytes ? " bytes" : "");
}

Result<void> check_limits(const HttpServerOptions& options) {
  for (const auto& limit : limits()) {
    const auto value = limit.get(options);
    if (value >= limit.least && value <= limit.most) continue;
    return invalid(std::string(limit.name) + " must be " + in_words(limit, limit.least) + " to " +
                   in_words(limit, limit.most));
  }
  return {};
}

/// "*", or a scheme, a host and perhaps a port, as a browser writes them.
bool is_origin(std::string_view text) {
  if (text == "*") return true;
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (!text.starts_with(scheme)) continue;
    const auto host = text.substr(scheme.size());
    return !host.empty() && std::all_of(host.begin(), host.end(), [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
             std::string_view(".-:[]_").find(c) != std::string_view::npos;
    });
  }
  return false;
}

Result<void> check_options(const HttpServerOptions& options) {
  for (const auto& origin : options.cors_origins) {
    if (is_origin(origin)) continue;
    return invalid(
        "--cors wants origins as https://example.org or http://127.0.0.1:8100, without a path, or *, not '" +
        printable_ascii(origin, 100) + "'");
  }
  if (options.tls_certificate_file.empty() != options.tls_key_file.empty()) {
    return invalid("TLS needs a certificate file and a key file: give both or neither");
  }
  if (!options.tls_client_ca_file.empty() && options.tls_certificate_file.empty()) {
    return invalid("clients show certificates over TLS only: give the server a certificate and key, too");
  }
  return check_limits(options);
}

/// What a connection takes at most while it brings a request.
std::size_t connection_bytes(const HttpServerOptions& options) {
  return options.tls_certificate_file.empty() ? std::size_t{12} << 10 : std::size_t{240} << 10;
}

/// Whether the limits are large enough for a database, with so many bytes set aside for passes and a part for
/// connections: two for each of the requests of one query.
Result<void> check_server(const HttpServerOptions& options, const AnyServer& server, std::size_t pass_bytes) {
  const auto limit = options.max_in_flight_bytes;
  auto needed = checked_add(bytes_for_requests(server), pass_bytes);
  if (needed) needed = checked_add(*needed, 2 * ByteBudget::kSmallOnes * connection_bytes(options));
  if (needed && limit - ByteBudget::slack(limit) >= *needed) return {};
  if (needed) needed = checked_add(*needed, *needed / 15 + 1);  // a sixteenth is for connections
  return invalid(
      "max_in_flight_bytes must hold two of the largest requests, fourteen of one query, "
      "their replies and what computing one takes: raise it (pirx serve --max-in-flight) to at least " +
      (needed ? std::to_string(*needed) : "2^64") +
      (server.max_queries() > 1 ? ", or take fewer queries in a request (--max-queries)" : "") +
      // Passes take a part of it for each thread.
      (needed && pass_bytes > *needed / 2 ? ", or compute with fewer threads (--threads)" : ""));
}

Result<void> check_databases(const std::vector<HostedDatabase>& databases, const HttpServerOptions& options) {
  if (databases.empty()) return invalid("there is no database to serve");
  std::size_t pass_bytes = 0;
  for (const auto& database : databases) {
    if (!database.server) return invalid("there is no protocol server to serve");
    pass_bytes = std::max(pass_bytes, bytes_for_passes(*database.server));
  }
  for (const auto& database : databases) {
    const bool alone = databases.size() == 1 && database.name.empty();
    if (!alone && !is_database_name(database.name)) {
      return invalid(
          "a database's name has 1 to 64 letters, digits, '-', '_' and '.', a letter or digit first; '" +
          printable_ascii(database.name, 64) + "' is none");
    }
    const auto same = [&](const auto& other) { return other.name == database.name; };
    if (std::count_if(databases.begin(), databases.end(), same) > 1) {
      return invalid("two databases are called '" + database.name + "'");
    }
    auto own = options;
    static_cast<QueueOptions&>(own) = database.queue;
    PIRX_TRY(check_limits(own));
    PIRX_TRY(check_server(options, *database.server, pass_bytes));
  }
  return {};
}

}  // namespace

std::size_t bytes_for_requests(const AnyServer& server) noexcept {
  const auto largest = saturated_add(PageBuffer::taken(server.max_request_bytes()),
                                     server.max_reply_bytes(server.max_queries()));
  return saturated_add(saturated_mul(2, largest),
                       saturated_mul(ByteBudget::kSmallOnes, small_request_bytes(server)));
}

struct HttpServer::Impl {
  Impl(std::vector<HostedDatabase> hosted, const HttpServerOptions& options, LogSink log)
      : host(options, std::move(log)),
        loops(static_cast<std::size_t>(options.io_threads)),
        acceptor(loops[0].io),
        timer(loops[0].io),
        compute(options.compute_threads) {
    for (auto& database : hosted) {
      const auto& server = *database.server;
      // An empty budget has room, as check_server() saw.
      compute.set_pass_bytes(*host.reserve(server, database.queue.batch_max));
      databases.push_back(std::make_unique<Hosted>(std::move(database), host.log, compute));
      host.databases.push_back(databases.back().get());
    }
    // For five seconds. What passes over the databases that are left take, the first requests will show.
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(5);
    for (const auto& database : databases) {
      if (std::chrono::steady_clock::now() < until) database->batcher().measure(*database->epoch()->server);
    }
    host.on_drained = [this] { asio::post(loops[0].io, [this] { finish_when_drained(); }); };
  }

  Result<void> listen() {
    const auto& options = host.options;
    error_code ec;
    const auto address = asio::ip::make_address(options.address, ec);
    if (ec) {
      return invalid("'" + options.address +
                     "' is no IP address: give one such as 127.0.0.1, 0.0.0.0 or ::1");
    }
    if (options.tls_certificate_file.empty()) {
      if (!address.is_loopback() && !options.allow_plaintext) {
        return invalid("refusing to serve plaintext on " + options.address +
                       ", where anyone on the way can read and change replies: give a TLS certificate and "
                       "key, listen on "
                       "127.0.0.1 or ::1, or allow plaintext explicitly (behind a proxy that does TLS)");
      }
    } else {
      PIRX_ASSIGN(auto context, make_tls_context(options));
      tls.emplace(std::move(context));
    }
    const tcp::endpoint endpoint(address, options.port);
    acceptor.open(endpoint.protocol(), ec);
    if (!ec) acceptor.set_option(tcp::acceptor::reuse_address(true), ec);
    if (!ec) acceptor.bind(endpoint, ec);
    if (!ec) acceptor.listen(asio::socket_base::max_listen_connections, ec);
    // Clients speak first, by HTTP and by TLS. So the kernel keeps a connection until bytes come, a second at
    // most: those that are reset before that cost nothing here.
    const int second = 1;
    ::setsockopt(acceptor.native_handle(), IPPROTO_TCP, TCP_DEFER_ACCEPT, &second, sizeof second);
    if (!ec) acceptor.non_blocking(true, ec);
    if (!ec) port = acceptor.local_endpoint(ec).port();
    if (ec) {
      return fail(ErrorCode::kUnavailable, "cannot listen on " + options.address + " port " +
                                               std::to_string(options.port) + ": " + ec.message() +
                                               " (choose another port, or 0 for any free one)");
    }
    return {};
  }

  /// One per thread, so that what is on a loop needs no lock and no strand. (A strand that has no memory for
  /// a handler can stay locked for ever.)
  struct Loop {
    asio::io_context io{1};
    asio::executor_work_guard<asio::io_context::executor_type> work{io.get_executor()};  ///< until the stop
  };

  // --- accepting; all of it under `control`

  /// Keeps one accept, or the pause before it, outstanding until the drain.
  void accept() {
    const std::lock_guard lock(control);
    if (host.draining || accepting) return;
    try {
      auto& loop = loops[next_loop++ % loops.size()];  // connections take turns
      acceptor.async_accept(loop.io,
                            [this, pending = Pending(accepting)](error_code ec, tcp::socket socket) mutable {
                              pending.end();
                              on_accept(ec, std::move(socket));
                            });
    } catch (const std::bad_alloc&) {
      pause_accept();
    }
  }

  void on_accept(error_code ec, tcp::socket socket) {
    if (ec == asio::error::no_descriptors || ec == error_code(ENFILE, boost::system::system_category()) ||
        ec == asio::error::no_buffer_space || ec == asio::error::no_memory) {
      const std::lock_guard lock(control);
      if (!host.draining && !accepting) pause_accept();
      return;
    }
    if (!ec) open_session(std::move(socket));
    // One for each pass of the loop would leave those of others in the backlog while somebody sends many.
    for (int i = 0; i < kAcceptsAtOnce && accept_now(); ++i) {
    }
    accept();
  }

  /// False where nobody waits; errors come again to accept().
  bool accept_now() {
    std::unique_lock lock(control);
    if (host.draining || accepting) return false;
    tcp::socket socket(loops[next_loop++ % loops.size()].io);
    error_code ec;
    acceptor.accept(socket, ec);
    lock.unlock();
    if (!ec) open_session(std::move(socket));
    return !ec;
  }

  /// Under `control`.
  void pause_accept() {
    timer.expires_after(kPause);
    timer.async_wait([this, pending = Pending(accepting)](error_code) mutable {
      pending.end();
      accept();
    });
  }

  void open_session(tcp::socket socket) {
    const std::lock_guard lock(control);  // no session begins behind the drain
    try {
      if (host.draining) return;
      if (const auto session = make_session(std::move(socket), tls ? &*tls : nullptr, host)) session->start();
    } catch (...) {  // no memory: this connection ends, the server goes on
    }
  }

  // --- stopping

  /// From any thread.
  void begin_stop() noexcept {
    const auto deadline = std::chrono::steady_clock::now() + host.options.drain_timeout;
    {
      const std::lock_guard lock(control);
      if (host.draining.exchange(true)) return;
      error_code ignored;
      acceptor.close(ignored);
    }
    // Without memory for the timer the caller waits for it, or else for the deadline itself.
    while (!arm_drain(deadline) && host.in_flight != 0 && std::chrono::steady_clock::now() < deadline) {
      std::this_thread::sleep_for(kPause);
    }
    if (host.in_flight == 0 || std::chrono::steady_clock::now() >= deadline) finish();
    for (auto& loop : loops) loop.work.reset();
  }

  bool arm_drain(std::chrono::steady_clock::time_point deadline) noexcept {
    try {
      const std::lock_guard lock(control);
      if (finished) return true;
      timer.expires_at(deadline);
      timer.async_wait([this](error_code ec) {
        if (!ec) finish();
      });
      return true;
    } catch (...) {
      return false;
    }
  }

  void finish_when_drained() noexcept {
    if (host.in_flight == 0) finish();
  }

  void finish() noexcept {
    {
      const std::lock_guard lock(control);
      if (std::exchange(finished, true)) return;
      abandoned += host.in_flight;
      try {
        timer.cancel();
      } catch (...) {  // it fires at the deadline, and finds everything finished
      }
    }
    while (const auto session = take_session()) {
      try {
        session->close();
      } catch (...) {  // no memory to tell it: all end with the loops
        for (auto& loop : loops) loop.io.stop();
        return;
      }
    }
  }

  /// One that is still open, and leaves the list; null when there is none. It is let go without the lock,
  /// which its destructor takes.
  std::shared_ptr<Session> take_session() {
    const std::lock_guard lock(host.mutex);
    while (!host.sessions.empty()) {
      const auto first = host.sessions.begin();
      auto session = first->second.lock();
      host.sessions.erase(first);
      if (session) return session;
    }
    return nullptr;
  }

  // --- threads

  void run_loop(asio::io_context& io) noexcept {
    for (bool lost = false;;) {
      try {
        // The handler that threw may have been what went on accepting, or what would have ended the drain.
        if (lost) host.draining ? finish_when_drained() : accept();
        lost = false;
        io.run();
        return;
      } catch (...) {  // no memory, outside of any connection's handler
        lost = true;
        write_log(host.log, [] { return LogEvent{"error", {{"code", "ResourceExhausted"}}, {}}; });
        std::this_thread::sleep_for(kPause);
      }
    }
  }

  Result<void> run() {
    if (running.exchange(true)) return invalid("run() was called before: make a new server");
    write_log(host.log, [this] { return start_event(); });
    std::vector<std::thread> threads;
    Result<void> result;
    try {
      threads.reserve(loops.size());
      accept();
      for (std::size_t i = 1; i < loops.size(); ++i) {
        threads.emplace_back([this, &io = loops[i].io] { run_loop(io); });
      }
    } catch (const std::exception&) {
      begin_stop();
      result = fail(ErrorCode::kResourceExhausted, no_room("no more threads of the network"));
    }
    run_loop(loops[0].io);
    for (auto& thread : threads) thread.join();
    host.connections.log_refused();
    write_log(host.log, [this] {
      return LogEvent{"stop", {}, {{"abandoned_requests", static_cast<double>(abandoned)}}};
    });
    return result;
  }

  LogEvent start_event() const {
    const auto& o = host.options;
    const auto server = databases.front()->epoch()->server;
    LogEvent event{"start",
                   {{"address", o.address},
                    {"tls", !tls              ? "no"
                            : o.tls_allow_1_2 ? "1.2"
                                              : "1.3"},
                    {"clients", o.authenticate                  ? "with a token"
                                : !o.tls_client_ca_file.empty() ? "with a certificate"
                                                                : "all"}},
                   {{"port", port},
                    {"databases", static_cast<double>(databases.size())},
                    {"protocol", static_cast<double>(server->protocol())},
                    {"max_request_bytes", static_cast<double>(server->max_request_bytes())},
                    {"pass_bytes", static_cast<double>(compute.pass_bytes())}}};
    for (const auto& limit : limits()) event.numbers.push_back(logged(limit, o));
    return event;
  }

  /// InvalidArgument: there is no such database.
  Result<Hosted*> find(std::string_view database);

  // The order is that of destruction, backwards: queues and the thread that computes end while the sessions
  // that they answer to can still be posted to; sessions end with their loops; what they share goes last.
  SessionHost host;
  std::optional<asio::ssl::context> tls;
  std::mutex control;                  ///< of acceptor, timer, finished and the start of the drain
  std::atomic<bool> accepting{false};  ///< an accept, or the pause before it, is outstanding
  bool finished = false;               ///< the drain is over
  std::size_t next_loop = 0;           ///< under `control`
  std::vector<Loop> loops;
  tcp::acceptor acceptor;
  asio::steady_timer timer;  ///< the pause of accept(), then the drain
  std::uint16_t port = 0;
  std::atomic<std::size_t> abandoned{0};  ///< requests cut off by the end of the drain
  std::atomic<bool> running{false};
  ComputeThread compute;
  std::vector<std::unique_ptr<Hosted>> databases;
};

Result<HttpServer> HttpServer::create(std::shared_ptr<const AnyServer> server,
                                      const HttpServerOptions& options, LogSink log) {
  std::vector<HostedDatabase> databases(1);
  databases[0].server = std::move(server);
  databases[0].queue = options;
  return create(std::move(databases), options, std::move(log));
}

Result<HttpServer> HttpServer::create(std::vector<HostedDatabase> databases, const HttpServerOptions& options,
                                      LogSink log) {
  PIRX_TRY(check_options(options));
  PIRX_TRY(check_databases(databases, options));
  try {
    auto impl = std::make_unique<Impl>(std::move(databases), options, std::move(log));
    PIRX_ASSIGN(auto rng, Rng::from_os());
    std::array<std::byte, 16> instance;
    rng.fill(instance);
    impl->host.instance = to_hex(instance);
    PIRX_TRY(impl->listen());
    return HttpServer(std::move(impl));
  } catch (const std::exception& error) {
    return fail(ErrorCode::kResourceExhausted, no_room(error.what()));
  }
}

HttpServer::HttpServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
HttpServer::HttpServer(HttpServer&&) noexcept = default;
HttpServer& HttpServer::operator=(HttpServer&&) noexcept = default;
HttpServer::~HttpServer() = default;

Result<Hosted*> HttpServer::Impl::find(std::string_view database) {
  if (auto* hosted = host.find(database)) return hosted;
  return invalid("no database is called '" + printable_ascii(database, 64) + "'");
}

Result<std::shared_ptr<const AnyServer>> HttpServer::replace(std::shared_ptr<const AnyServer> next,
                                                             std::string_view database, Bytes manifest) {
  if (!next) return invalid("there is no protocol server to serve");
  PIRX_ASSIGN(auto* hosted, impl_->find(database));
  const auto pass_bytes = std::max(impl_->host.least_pass_bytes(), bytes_for_passes(*next));
  PIRX_TRY(check_server(impl_->host.options, *next, pass_bytes));
  for (const auto& other : impl_->databases) {
    if (other.get() != hosted) {
      PIRX_TRY(check_server(impl_->host.options, *other->epoch()->server, pass_bytes));
    }
  }
  try {
    auto parameters = next->parameters();
    const auto reserved = impl_->host.reserve(*next, hosted->batcher().batch_max());
    if (!reserved) {
      return fail(ErrorCode::kResourceExhausted,
                  "requests hold the memory that passes over the new database need: try again later");
    }
    impl_->compute.set_pass_bytes(*reserved);
    return hosted->replace(std::move(next), std::move(parameters), std::move(manifest))->server;
  } catch (const std::exception& error) {
    return fail(ErrorCode::kResourceExhausted, std::string("cannot change the server: ") + error.what());
  }
}

Result<void> HttpServer::publish(Bytes manifest, std::string_view database) {
  PIRX_ASSIGN(auto* hosted, impl_->find(database));
  const auto now = hosted->epoch();
  hosted->replace(now->server, *now->parameters, std::move(manifest));
  return {};
}

void HttpServer::replace_files(std::shared_ptr<const std::vector<StaticFile>> files) {
  const std::lock_guard lock(impl_->host.mutex);
  impl_->host.files.swap(files);
}

std::uint16_t HttpServer::port() const noexcept { return impl_->port; }

Result<void> HttpServer::run() { return impl_->run(); }

void HttpServer::stop() noexcept { impl_->begin_stop(); }

}  // namespace pirx::http
