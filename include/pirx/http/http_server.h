// SPDX-License-Identifier: Apache-2.0
// The HTTP/1.1 server of any protocol (docs/wire_format.md, section 5). Requests of independent clients share
// a pass over the database.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pirx/base/buffer.h"
#include "pirx/protocol.h"

namespace pirx::http {

/// How requests for one database wait, and how they are put into batches.
struct QueueOptions {
  std::size_t max_queued_requests = 4096;
  /// A request that would have to wait longer is refused at once.
  std::chrono::milliseconds max_queue_time{10'000};
  /// How long the first request of a batch waits for others.
  std::chrono::microseconds batch_window{2'000};
  /// Does not wait if requests come so seldom that no other one would arrive in time.
  bool batch_window_adaptive = true;
  std::size_t batch_max = 256;  ///< queries in a batch
};

/// The least memory that is set aside for passes of this server: the largest request can always be computed.
/// For passes of more queries a server sets aside up to half of what else its requests could have.
inline std::size_t bytes_for_passes(const AnyServer& server) noexcept {
  return static_cast<std::size_t>(
      saturated_add(server.pass_bytes(), server.working_bytes(server.max_queries())));
}

/// What max_in_flight_bytes must hold beside that: two of the largest requests with their replies, or one
/// client's would keep those of all others out, and fourteen of one query, of which four clients leave one.
std::size_t bytes_for_requests(const AnyServer& server) noexcept;

/// Decides whether a peer may ask.
/// On input `token` is that of its header "Authorization: Bearer TOKEN", or empty if it sent none.
/// On output there is the name under which the peer takes its turn among clients, or nothing to refuse it.
/// Called from several threads, for every query and every request for parameters. It must not wait for
/// anything, and must compare secrets in constant time (pirx/http/tokens.h does). Names are not logged.
using Authenticate = std::function<std::optional<std::string>(std::string_view token)>;

/// A file that the server gives to browsers as it is.
struct StaticFile {
  std::string path;    ///< of the request: "/pirx.js"
  std::string type;    ///< Content-Type
  std::string policy;  ///< Content-Security-Policy; empty: none
  bool gzip;           ///< `content` is what gzip made, which every browser takes
  Bytes content;
};

/// The options of a server. Every limit is finite and is logged at the start. pirx/http/limits.h names them.
struct HttpServerOptions : QueueOptions {
  std::string address = "127.0.0.1";
  std::uint16_t port = 8100;  ///< 0: any free port; HttpServer::port() tells which
  /// PEM files; both or neither. TLS 1.3, or also 1.2 with tls_allow_1_2.
  std::string tls_certificate_file, tls_key_file;
  bool tls_allow_1_2 = false;
  /// PEM file of authorities; if set, clients must show a certificate from one of them. Without
  /// `authenticate` whoever has one may ask, and the client's name is the subject of its certificate.
  std::string tls_client_ca_file;
  Authenticate authenticate = nullptr;  ///< empty: everyone may ask
  bool allow_plaintext = false;         ///< serves without TLS beyond loopback
  int io_threads = 1;
  int compute_threads = 0;  ///< of a pass, as many as the servers were made with; 0: one a core
  std::size_t max_connections = 10'000;
  /// A client may always have this many connections, and may open another one while it has fewer than are
  /// free. max_connections limits all clients together. HttpServer says what counts as one client.
  std::size_t connections_per_client = 1;
  std::size_t max_header_bytes = 8 * 1024;
  /// The memory for connections, requests, replies and computing them, all at one time. A sixteenth of it is
  /// kept for connections. A client may hold as much as would be free without it.
  std::size_t max_in_flight_bytes = std::size_t{1} << 30;
  std::size_t max_body_bytes = kMaxMessageBytes;  ///< of a request; the protocol may allow fewer
  /// In each sixth of write_timeout a client must take 64 KiB of its reply, or the rest.
  std::chrono::milliseconds header_timeout{10'000}, body_timeout{30'000}, idle_timeout{60'000},
      write_timeout{30'000};
  /// Pages of these origins ("https://example.org") may ask from a browser (CORS); "*": those of any.
  std::vector<std::string> cors_origins;
  std::shared_ptr<const std::vector<StaticFile>> files;  ///< may be null
  /// Refuses (421) requests whose Host is a name with a dot, so that no web site whose name leads to this
  /// machine (DNS rebinding) can ask. For servers that only people of this machine use.
  bool no_sites = false;
  bool metrics_for_all = false;  ///< GET /metrics and GET / answer every peer, not only those on this machine
  std::chrono::milliseconds drain_timeout{10'000};
};

/// One of the databases of a server.
struct HostedDatabase {
  /// The NAME in its paths /v1/db/NAME/query and /v1/db/NAME/parameters. It has 1 to 64 letters, digits and
  /// "-", "_", ".", and begins with a letter or digit. Empty for a server's only database.
  std::string name;
  std::shared_ptr<const AnyServer> server;
  QueueOptions queue = {};
  std::string protocol = {};  ///< its name, for the people who read the status page
  Bytes manifest = {};        ///< what GET .../manifest gives; empty: there is none
};

/// A log line: the name of the event, and public fields such as sizes, counts, milliseconds and codes. It
/// never holds the content of a query.
struct LogEvent {
  std::string event;
  std::vector<std::pair<std::string, std::string>> text;
  std::vector<std::pair<std::string, double>> numbers;
};
/// Takes log lines. Called from several threads.
using LogSink = std::function<void(const LogEvent&)>;

/// The event as one JSON object, without a newline: {"time":"...Z","event":"batch","requests":3,...}.
std::string to_json(const LogEvent& event);
/// The event as a line for people, without a newline: `23:59:01 batch requests=3 database="my data"`, in UTC.
/// All but printable ASCII is shown as `\xHH`, so that a terminal acts on nothing.
std::string to_text(const LogEvent& event);

/// Answers POST /v1/query, GET /v1/parameters and GET /v1/manifest for the first database, the same by name
/// for each, GET /healthz (200 while the process lives), GET /readyz (200 while it accepts queries), GET
/// /metrics (Prometheus) and GET / (status, for people and programs). When more queries wait than a batch
/// holds, clients take turns; a client is the name that it proved, otherwise its IP address (IPv6: its /64).
/// One thread computes, for one database at a time. Databases that have work share its time equally, but for
/// those where only clients wait that have had more than an equal share: these have a quarter of it together
/// while others wait.
class HttpServer {
 public:
  /// Binds the address and loads the TLS files. Before that it makes some passes over each database, to know
  /// how long they take: some seconds at most. InvalidArgument: an option is wrong. Unavailable: the address
  /// is in use. Unauthenticated: the key or a certificate is wrong.
  static Result<HttpServer> create(std::shared_ptr<const AnyServer> server, const HttpServerOptions& options,
                                   LogSink log);
  /// The same for one or more databases, each with a name and a queue of its own.
  static Result<HttpServer> create(std::vector<HostedDatabase> databases, const HttpServerOptions& options,
                                   LogSink log);
  HttpServer(HttpServer&&) noexcept;
  HttpServer& operator=(HttpServer&&) noexcept;
  ~HttpServer();
  std::uint16_t port() const noexcept;
  /// Puts `next` in the place of the server of the database with this name (empty: the first one). From then
  /// on `next` admits queries and gives the parameters, with this manifest. Queries that the old server
  /// admitted are answered by it. Returns the old server, which may still be answering; the caller releases
  /// it, so that no thread of this server has to free a database. Call it from any thread. InvalidArgument:
  /// the limits of this server are too small for `next`, or there is no such database; nothing has changed
  /// then.
  Result<std::shared_ptr<const AnyServer>> replace(std::shared_ptr<const AnyServer> next,
                                                   std::string_view database = {}, Bytes manifest = {});
  /// Gives the server that is in use another manifest. Not while another thread calls replace().
  /// InvalidArgument: there is no such database.
  Result<void> publish(Bytes manifest, std::string_view database = {});
  /// Gives browsers these files in place of options.files. May be null. Call it from any thread.
  void replace_files(std::shared_ptr<const std::vector<StaticFile>> files);
  /// Serves on this thread, on io_threads - 1 more, and on one that computes. Returns after stop(), when all
  /// requests in progress are answered or drain_timeout has passed.
  Result<void> run();
  /// Ends run(): accepts no more connections, answers /readyz with 503, and finishes requests in progress.
  /// Call it from any thread, at least once.
  void stop() noexcept;

 private:
  struct Impl;
  explicit HttpServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace pirx::http
