// Listening, accepting, stopping. What happens on a connection is session.cc's, what happens to a query
// batcher.cc's.
#include "pirx/net/http_server.h"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <mutex>
#include <optional>
#include <thread>

#include "log.h"
#include "pirx/base/buffer.h"
#include "session.h"
#include "tls.h"

namespace pirx::net {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

namespace {

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

Result<void> check(const HttpServerOptions& options, const AnyServer& server) {
  const auto invalid = [](std::string message) {
    return fail(ErrorCode::kInvalidArgument, std::move(message));
  };
  if (options.tls_certificate_file.empty() != options.tls_key_file.empty()) {
    return invalid("TLS needs a certificate file and a key file: give both or neither");
  }
  if (options.io_threads < 1 || options.io_threads > 256) return invalid("io_threads must be 1 to 256");
  if (options.max_connections < 1) return invalid("max_connections must be at least 1");
  if (options.max_header_bytes < 256 || options.max_header_bytes > (1u << 20)) {
    return invalid("max_header_bytes must be 256 to 1048576");
  }
  auto largest = checked_add(server.max_request_bytes(), server.working_bytes(server.max_queries()));
  if (largest) largest = checked_add(*largest, server.pass_bytes());
  if (!largest || options.max_in_flight_bytes < *largest) {
    return invalid(
        "max_in_flight_bytes must hold the largest request, its reply and what computing it takes: "
        "raise it (pirx serve --max-in-flight) to at least " +
        (largest ? std::to_string(*largest) : "2^64") +
        ", or take fewer queries in a request (--max-queries)");
  }
  if (options.max_queued_requests < 1) return invalid("max_queued_requests must be at least 1");
  if (options.batch_max < 1) return invalid("batch_max must be at least 1");
  constexpr std::chrono::hours kLongest{24};
  const auto in_range = [&](auto duration, int least) {
    return duration.count() >= least && duration <= kLongest;
  };
  if (!in_range(options.max_queue_time, 1)) return invalid("max_queue_time must be 1 ms to 24 hours");
  if (!in_range(options.batch_window, 0)) return invalid("batch_window must be 0 to 24 hours");
  for (const auto& [timeout, name] :
       {std::pair(options.header_timeout, "header_timeout"), std::pair(options.body_timeout, "body_timeout"),
        std::pair(options.idle_timeout, "idle_timeout"), std::pair(options.write_timeout, "write_timeout"),
        std::pair(options.drain_timeout, "drain_timeout")}) {
    if (!in_range(timeout, 1)) return invalid(std::string(name) + " must be 1 ms to 24 hours");
  }
  return {};
}

}  // namespace

struct HttpServer::Impl {
  Impl(std::shared_ptr<const AnyServer> server, const HttpServerOptions& options, LogSink log,
       Bytes parameters)
      : host(std::move(server), options, log, std::move(parameters)),
        loops(static_cast<std::size_t>(options.io_threads)),
        acceptor(loops[0].io),
        timer(loops[0].io),
        batcher({options.batch_window, options.batch_max, options.max_queued_requests, options.max_queue_time,
                 options.batch_window_adaptive},
                std::move(log), &host.metrics) {
    host.batcher = &batcher;
    host.on_drained = [this] { asio::post(loops[0].io, [this] { finish_when_drained(); }); };
  }

  Result<void> listen() {
    const auto& options = host.options;
    error_code ec;
    const auto address = asio::ip::make_address(options.address, ec);
    if (ec) {
      return fail(ErrorCode::kInvalidArgument,
                  "'" + options.address + "' is no IP address: give one such as 127.0.0.1, 0.0.0.0 or ::1");
    }
    if (options.tls_certificate_file.empty()) {
      if (!address.is_loopback() && !options.allow_plaintext) {
        return fail(ErrorCode::kInvalidArgument,
                    "refusing to serve plaintext on " + options.address +
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
    accept();
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
      if (connections() < host.options.max_connections) {
        make_session(std::move(socket), tls ? &*tls : nullptr, host)->start();
        return;
      }
      write_log(host.log, {"refused", {{"code", "ResourceExhausted"}, {"limit", "max_connections"}}, {}});
    } catch (...) {  // no memory: this connection ends, the server goes on
    }
  }

  std::size_t connections() {
    const std::lock_guard lock(host.mutex);
    return host.sessions.size();
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
    if (running.exchange(true))
      return fail(ErrorCode::kInvalidArgument, "run() was called before: make a new server");
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
      result = fail(ErrorCode::kUnavailable, "the system gives no more threads or memory: lower io_threads");
    }
    run_loop(loops[0].io);
    for (auto& thread : threads) thread.join();
    write_log(host.log, [this] {
      return LogEvent{"stop", {}, {{"abandoned_requests", static_cast<double>(abandoned)}}};
    });
    return result;
  }

  LogEvent start_event() const {
    const auto& o = host.options;
    const auto server = host.epoch()->server;
    const auto ms = [](auto duration) { return std::chrono::duration<double, std::milli>(duration).count(); };
    const auto count = [](std::size_t value) { return static_cast<double>(value); };
    return LogEvent{"start",
                    {{"address", o.address},
                     {"tls", !tls              ? "no"
                             : o.tls_allow_1_2 ? "1.2"
                                               : "1.3"}},
                    {{"port", port},
                     {"protocol", static_cast<double>(server->protocol())},
                     {"io_threads", o.io_threads},
                     {"max_request_bytes", count(server->max_request_bytes())},
                     {"max_connections", count(o.max_connections)},
                     {"max_header_bytes", count(o.max_header_bytes)},
                     {"max_in_flight_bytes", count(o.max_in_flight_bytes)},
                     {"pass_bytes", count(server->pass_bytes())},
                     {"max_queued_requests", count(o.max_queued_requests)},
                     {"header_timeout_ms", ms(o.header_timeout)},
                     {"body_timeout_ms", ms(o.body_timeout)},
                     {"idle_timeout_ms", ms(o.idle_timeout)},
                     {"write_timeout_ms", ms(o.write_timeout)},
                     {"batch_window_ms", ms(o.batch_window)},
                     {"batch_max", count(o.batch_max)},
                     {"max_queue_time_ms", ms(o.max_queue_time)},
                     {"drain_timeout_ms", ms(o.drain_timeout)}}};
  }

  // The order is that of destruction, backwards: the batcher's thread ends while the sessions that it answers
  // to can still be posted to; sessions end with their loops; what they share goes last.
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
  Batcher batcher;
};

Result<HttpServer> HttpServer::create(std::shared_ptr<const AnyServer> server,
                                      const HttpServerOptions& options, LogSink log) {
  if (!server) return fail(ErrorCode::kInvalidArgument, "there is no protocol server to serve");
  PIRX_TRY(check(options, *server));
  try {
    auto parameters = server->parameters();
    auto impl = std::make_unique<Impl>(server, options, std::move(log), std::move(parameters));
    impl->host.reserve_pass(*server);  // an empty budget has room, as check() saw
    PIRX_TRY(impl->listen());
    return HttpServer(std::move(impl));
  } catch (const std::exception& error) {
    return fail(ErrorCode::kResourceExhausted, std::string("cannot set up the server: ") + error.what());
  }
}

HttpServer::HttpServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
HttpServer::HttpServer(HttpServer&&) noexcept = default;
HttpServer& HttpServer::operator=(HttpServer&&) noexcept = default;
HttpServer::~HttpServer() = default;

Result<std::shared_ptr<const AnyServer>> HttpServer::replace(std::shared_ptr<const AnyServer> next) {
  if (!next) return fail(ErrorCode::kInvalidArgument, "there is no protocol server to serve");
  PIRX_TRY(check(impl_->host.options, *next));
  try {
    auto parameters = next->parameters();
    if (!impl_->host.reserve_pass(*next)) {
      return fail(ErrorCode::kResourceExhausted,
                  "requests hold the memory that passes over the new database need: try again later");
    }
    return impl_->host.replace(std::move(next), std::move(parameters))->server;
  } catch (const std::exception& error) {
    return fail(ErrorCode::kResourceExhausted, std::string("cannot change the server: ") + error.what());
  }
}

std::uint16_t HttpServer::port() const noexcept { return impl_->port; }

Result<void> HttpServer::run() { return impl_->run(); }

void HttpServer::stop() noexcept { impl_->begin_stop(); }

}  // namespace pirx::net
