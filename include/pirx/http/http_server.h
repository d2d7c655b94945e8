// HTTP/1.1 server for any protocol: batches independent clients' requests into single answers.
// docs/wire_format.md section 5.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pirx/protocol.h"

namespace pirx::http {

/// How requests for one database wait and are put together.
struct QueueOptions {
  std::size_t max_queued_requests = 4096;
  std::chrono::milliseconds max_queue_time{10'000};  ///< a request that would wait longer is refused at once
  std::chrono::microseconds batch_window{
      2'000};                         ///< how long the first request of a batch may wait for others
  bool batch_window_adaptive = true;  ///< no window while requests come too seldom for it to bring another
  std::size_t batch_max = 256;        ///< queries in a batch; a request that alone has more runs alone
};

/// Whether a peer may ask, by the token of its header "Authorization: Bearer TOKEN" (empty: it gave none):
/// the name that its requests go under when clients take turns, or nothing, which refuses it. Called from
/// several threads, for every request for queries and parameters; it must not wait for anything, and compare
/// secrets in constant time (pirx/http/tokens.h does). Names are not logged.
using Authenticate = std::function<std::optional<std::string>(std::string_view token)>;

/// Every limit is finite; printed at start. Limits by name: pirx/http/limits.h.
struct HttpServerOptions : QueueOptions {
  std::string address = "127.0.0.1";
  std::uint16_t port = 8100;                       ///< 0: any free port, see HttpServer::port()
  std::string tls_certificate_file, tls_key_file;  ///< PEM; both or neither. TLS 1.3 (1.2 with tls_allow_1_2)
  bool tls_allow_1_2 = false;
  /// PEM; clients must show a certificate of these authorities. Whoever has one may ask, and its subject is
  /// the name that requests go under where `authenticate` gives none.
  std::string tls_client_ca_file;
  Authenticate authenticate = nullptr;  ///< empty: everyone may ask
  bool allow_plaintext = false;         ///< without it an address beyond loopback needs TLS
  int io_threads = 1;
  std::size_t max_connections = 10'000;
  /// A client (as in HttpServer below) may open another connection while it has fewer than this, or fewer
  /// than are free.
  std::size_t connections_per_client = 1;
  std::size_t max_header_bytes = 8 * 1024;
  /// Of connections, requests, replies and what computing them takes, held at once; a sixteenth of it is for
  /// connections only.
  std::size_t max_in_flight_bytes = std::size_t{1} << 30;
  std::size_t max_body_bytes = std::size_t{1} << 30;  ///< of a request, where the protocol allows as many
  std::chrono::milliseconds header_timeout{10'000}, body_timeout{30'000}, idle_timeout{60'000},
      write_timeout{30'000};
  bool metrics_for_all = false;  ///< GET /metrics answers every peer; without it those on this machine
  std::chrono::milliseconds drain_timeout{10'000};
};

/// One of several databases of a server.
struct HostedDatabase {
  /// Its paths are /v1/db/NAME/query and /v1/db/NAME/parameters: 1 to 64 letters, digits, '-', '_' and '.',
  /// the first a letter or digit. Empty for the only one.
  std::string name;
  std::shared_ptr<const AnyServer> server;
  QueueOptions queue = {};
};

/// A log line: event name and public fields only (sizes, counts, milliseconds, codes; never query content).
struct LogEvent {
  std::string event;
  std::vector<std::pair<std::string, std::string>> text;
  std::vector<std::pair<std::string, double>> numbers;
};
using LogSink = std::function<void(const LogEvent&)>;  ///< may be called from several threads

/// One JSON object, without a newline: {"time":"...Z","event":"batch","requests":3,...}.
std::string to_json(const LogEvent& event);

/// POST /v1/query, GET /v1/parameters (of the first database), the same of each by its name, GET /healthz
/// (the process lives), GET /readyz (it accepts queries), GET /metrics (Prometheus). When more queries wait
/// than a batch holds, clients (by the name that they proved; otherwise by IP address, IPv6 by /64) take
/// turns. One thread computes, for one database at a time: the databases with work share its time equally.
class HttpServer {
 public:
  /// Binds and loads TLS. InvalidArgument (options), Unavailable (address in use), Unauthenticated (key or
  /// certificate).
  static Result<HttpServer> create(std::shared_ptr<const AnyServer> server, const HttpServerOptions& options,
                                   LogSink log);
  /// The same for several databases, at least one, each with a name and a queue of its own.
  static Result<HttpServer> create(std::vector<HostedDatabase> databases, const HttpServerOptions& options,
                                   LogSink log);
  HttpServer(HttpServer&&) noexcept;
  HttpServer& operator=(HttpServer&&) noexcept;
  ~HttpServer();
  std::uint16_t port() const noexcept;
  /// From now on `next` of the database of this name (empty: the first) admits queries and gives the
  /// parameters, all at once; what was admitted before is answered by who admitted it. Gives the server
  /// before, which may still answer: the caller lets it go, so that no thread of the server has to free a
  /// database. InvalidArgument: the limits of this server are too small for `next`, or there is no such
  /// database; nothing has changed then. From any thread.
  Result<std::shared_ptr<const AnyServer>> replace(std::shared_ptr<const AnyServer> next,
                                                   std::string_view database = {});
  /// Serves on this thread, io_threads - 1 more and one that computes; returns after stop() once in-flight
  /// requests are answered or drain_timeout has passed.
  Result<void> run();
  /// Graceful: no new connections, /readyz turns 503, in-flight requests finish. From any thread; once is
  /// enough.
  void stop() noexcept;

 private:
  struct Impl;
  explicit HttpServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace pirx::http
