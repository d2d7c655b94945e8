// Listening, accepting, stopping. What happens on a connection is session.cc's, what happens to a query
// batcher.cc's.
#include "pirx/net/http_server.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <optional>
#include <system_error>
#include <thread>

#include "log.h"
#include "session.h"
#include "tls.h"

namespace pirx::net {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

namespace {

constexpr std::chrono::milliseconds kAcceptPause{50};  // when the process has no descriptor or memory left

Result<void> check(const HttpServerOptions& options, std::size_t max_request_bytes) {
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
  if (options.max_in_flight_bytes < max_request_bytes) {
    return invalid("max_in_flight_bytes must hold one request of this database: at least " +
                   std::to_string(max_request_bytes));
  }
  if (options.max_queued_requests < 1) return invalid("max_queued_requests must be at least 1");
  if (options.batch_max < 1) return invalid("batch_max must be at least 1");
  constexpr std::chrono::hours kLongest{24};
  const auto in_range = [&](auto duration, int least) {
    return duration.count() >= least && duration <= kLongest;
  };
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
      : host(server, options, log, std::move(parameters)),
        io(options.io_threads),
        control(asio::make_strand(io)),
        acceptor(control),
        timer(control),
        batcher(std::move(server), {options.batch_window, options.batch_max, options.max_queued_requests},
                std::move(log)) {
    host.batcher = &batcher;
    host.on_drained = [this] { asio::post(control, [this] { finish_when_drained(); }); };
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

  // --- on the control strand

  void accept() {
    try {
      acceptor.async_accept(asio::make_strand(io),
                            [this](error_code ec, tcp::socket socket) { on_accept(ec, std::move(socket)); });
    } catch (const std::bad_alloc&) {
      pause_accept();
    }
  }

  void on_accept(error_code ec, tcp::socket socket) {
    if (host.draining || !acceptor.is_open()) return;
    if (ec == asio::error::no_descriptors || ec == error_code(ENFILE, boost::system::system_category()) ||
        ec == asio::error::no_buffer_space || ec == asio::error::no_memory) {
      return pause_accept();
    }
    if (!ec) open_session(std::move(socket));
    accept();
  }

  void pause_accept() {
    timer.expires_after(kAcceptPause);
    timer.async_wait([this](error_code) {
      if (!host.draining) accept();
    });
  }

  void open_session(tcp::socket socket) {
    try {
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

  void begin_stop() {
    if (host.draining.exchange(true)) return;
    error_code ignored;
    acceptor.close(ignored);
    timer.expires_after(host.options.drain_timeout);
    timer.async_wait([this](error_code ec) {
      if (!ec) finish();
    });
    finish_when_drained();
  }

  void finish_when_drained() {
    if (host.in_flight == 0) finish();
  }

  void finish() {
    abandoned += host.in_flight;
    timer.cancel();
    std::vector<std::shared_ptr<Session>> open;  // let go without the lock, which their destructors take
    {
      const std::lock_guard lock(host.mutex);
      for (const auto& [raw, weak] : host.sessions) {
        if (auto session = weak.lock()) open.push_back(std::move(session));
      }
    }
    for (const auto& session : open) session->close();
  }

  // --- threads

  void run_io() noexcept {
    for (;;) {
      try {
        io.run();
        return;
      } catch (...) {  // no memory, outside of any connection's handler
        write_log(host.log, {"error", {{"code", "ResourceExhausted"}}, {}});
      }
    }
  }

  Result<void> run() {
    if (running.exchange(true))
      return fail(ErrorCode::kInvalidArgument, "run() was called before: make a new server");
    log_start();
    asio::post(control, [this] {
      if (!host.draining) accept();
    });
    std::vector<std::thread> threads;
    Result<void> result;
    try {
      for (int i = 1; i < host.options.io_threads; ++i) threads.emplace_back([this] { run_io(); });
    } catch (const std::system_error&) {
      asio::post(control, [this] { begin_stop(); });
      result = fail(ErrorCode::kUnavailable, "the system gives no more threads: lower io_threads");
    }
    run_io();
    for (auto& thread : threads) thread.join();
    write_log(host.log, {"stop", {}, {{"abandoned_requests", static_cast<double>(abandoned)}}});
    return result;
  }

  void log_start() {
    const auto& o = host.options;
    const auto ms = [](auto duration) { return std::chrono::duration<double, std::milli>(duration).count(); };
    const auto count = [](std::size_t value) { return static_cast<double>(value); };
    write_log(host.log, {"start",
                         {{"address", o.address},
                          {"tls", !tls              ? "no"
                                  : o.tls_allow_1_2 ? "1.2"
                                                    : "1.3"}},
                         {{"port", port},
                          {"protocol", static_cast<double>(host.server->protocol())},
                          {"io_threads", o.io_threads},
                          {"max_request_bytes", count(host.server->max_request_bytes())},
                          {"max_connections", count(o.max_connections)},
                          {"max_header_bytes", count(o.max_header_bytes)},
                          {"max_in_flight_bytes", count(o.max_in_flight_bytes)},
                          {"max_queued_requests", count(o.max_queued_requests)},
                          {"header_timeout_ms", ms(o.header_timeout)},
                          {"body_timeout_ms", ms(o.body_timeout)},
                          {"idle_timeout_ms", ms(o.idle_timeout)},
                          {"write_timeout_ms", ms(o.write_timeout)},
                          {"batch_window_ms", ms(o.batch_window)},
                          {"batch_max", count(o.batch_max)},
                          {"drain_timeout_ms", ms(o.drain_timeout)}}});
  }

  // The order is that of destruction, backwards: the batcher's thread ends while the sessions that it answers
  // to can still be posted to; sessions end with the io_context; what they share goes last.
  SessionHost host;
  std::optional<asio::ssl::context> tls;
  asio::io_context io;
  asio::strand<asio::io_context::executor_type> control;
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
  PIRX_TRY(check(options, server->max_request_bytes()));
  try {
    auto parameters = server->parameters();
    auto impl = std::make_unique<Impl>(std::move(server), options, std::move(log), std::move(parameters));
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

std::uint16_t HttpServer::port() const noexcept { return impl_->port; }

Result<void> HttpServer::run() { return impl_->run(); }

void HttpServer::stop() {
  asio::post(impl_->control, [impl = impl_.get()] { impl->begin_stop(); });
}

}  // namespace pirx::net
