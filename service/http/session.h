// SPDX-License-Identifier: Apache-2.0
// One connection of the server, from accept to close. It reads requests, passes them to the batcher,
// writes replies, and keeps every limit.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <chrono>
#include <mutex>
#include <unordered_map>

#include "connections.h"
#include "hosted.h"
#include "log.h"
#include "page_buffer.h"
#include "pirx/base/buffer.h"
#include "turns.h"

namespace pirx::http {

/// A connection as its server sees it.
class Session {
 public:
  virtual ~Session() = default;
  virtual void start() = 0;
  /// Closes now, whatever is in flight. From any thread.
  virtual void close() = 0;
};

/// A page about the server's state.
struct StatusPage {
  const char* type;
  std::string header;  ///< further lines of the reply's header
  std::string text;
};

/// A page that takes long where there are many databases: some 0.1 ms for each. That of more than eight is
/// kept for 4 ms a database, a second at most, so that clients who ask all the time do not keep a thread
/// busy.
class KeptPage {
 public:
  struct Reply {
    const char* type;
    std::string header;
    Bytes body;
  };
  template <class Make>
  std::shared_ptr<const Reply> get(std::size_t databases, const Make& make) {
    const std::lock_guard lock(mutex_);
    if (reply_ && Clock::now() < end_) return reply_;
    const StatusPage page = make();
    const auto text = as_bytes(page.text);
    reply_ = std::make_shared<const Reply>(Reply{page.type, page.header, {text.begin(), text.end()}});
    end_ = Clock::now() +
           std::chrono::milliseconds(databases > 8 ? std::min<std::size_t>(4 * databases, 1000) : 0);
    return reply_;
  }

 private:
  using Clock = std::chrono::steady_clock;
  std::mutex mutex_;
  std::shared_ptr<const Reply> reply_;
  Clock::time_point end_;
};

/// What the largest request of one query takes at most, with its reply.
inline std::size_t small_request_bytes(const AnyServer& server) noexcept {
  const std::size_t queries = std::max<std::size_t>(server.max_queries(), 1),
                    body = (server.max_request_bytes() + queries - 1) / queries;
  return saturated_add(PageBuffer::taken(body), server.max_reply_bytes(1));
}

/// What all connections of a server share. Outlives them.
struct SessionHost {
  SessionHost(const HttpServerOptions& server_options, LogSink sink)
      : options(server_options),
        log(std::move(sink)),
        peer_log(log),
        memory(server_options.max_in_flight_bytes),
        budget(server_options.max_in_flight_bytes - ByteBudget::slack(server_options.max_in_flight_bytes),
               &memory),
        connections(options, memory, budget, log),
        handshakes(static_cast<std::size_t>(options.io_threads), options.max_connections),
        requests(kRequestsAtOnce * static_cast<std::size_t>(options.io_threads), options.max_connections),
        files(options.files) {}

  /// The database of this name; the first for an empty name. Null when there is none.
  Hosted* find(std::string_view name) const noexcept {
    for (auto* database : databases) {
      if (name.empty() || database->name() == name) return database;
    }
    return nullptr;
  }
  /// False when every database is known to be damaged.
  bool takes_queries() const {
    return std::any_of(databases.begin(), databases.end(),
                       [](const auto* one) { return one->sound() != false; });
  }
  /// Sets memory aside for the passes of a server that is to serve: what its largest request needs, and for
  /// full batches up to half of what neither that nor bytes_for_requests() needs. There is one pass at a
  /// time, so that the database with the largest counts. Gives back how many bytes, or nothing when requests
  /// hold what the largest one needs.
  std::optional<std::size_t> reserve(const AnyServer& server, std::size_t batch_max) {
    const std::lock_guard lock(mutex);
    budget.keep_small(small_request_bytes(server));
    const auto least = std::max(least_pass, bytes_for_passes(server)),
               others = std::max(least_requests, bytes_for_requests(server)),
               full =
                   std::max(full_pass, saturated_add(server.pass_bytes(), server.working_bytes(batch_max))),
               spare = budget.limit() - std::min(budget.limit(), saturated_add(least, others));
    if (!pass.resize(std::min(std::max(least, full), least + spare / 2)) &&
        !pass.resize(std::max(least, pass.held()))) {
      return {};
    }
    least_pass = least;
    least_requests = others;
    full_pass = full;
    return pass.held();
  }
  std::size_t least_pass_bytes() {
    const std::lock_guard lock(mutex);
    return least_pass;
  }
  std::shared_ptr<const std::vector<StaticFile>> files_now() {
    const std::lock_guard lock(mutex);
    return files;
  }

  const HttpServerOptions options;
  const LogSink log;
  LimitedLog peer_log;  ///< for what a connection does
  ByteBudget memory;    ///< all of it
  ByteBudget budget;    ///< requests, replies and computing: a server full of them still has room to say so
  Connections connections;
  /// A thread's loop comes to each piece once in a round, with all else that it has to do: to handshakes of
  /// milliseconds, for example. So that requests come faster than these, several are in a round.
  static constexpr std::size_t kRequestsAtOnce = 16;
  Turns handshakes, requests;
  KeptPage kept_metrics, kept_html, kept_json;
  ServerMetrics metrics;
  std::vector<Hosted*> databases;  ///< at least one; set before the first session
  std::string instance;            ///< see kInstanceHeader; likewise
  std::atomic<bool> draining{false};
  /// Requests whose header was read and whose reply is not written yet.
  std::atomic<std::size_t> in_flight{0};
  /// Called when in_flight falls to zero while draining.
  std::function<void()> on_drained;

  std::mutex mutex;
  std::shared_ptr<const std::vector<StaticFile>> files;  ///< under mutex, like the next ones; may be null
  ByteLease pass{budget};
  std::size_t least_pass = 0, full_pass = 0, least_requests = 0;
  std::unordered_map<Session*, std::weak_ptr<Session>> sessions;
};

/// GET /metrics.
StatusPage metrics_page(SessionHost& host);

/// GET /: databases, load and times. HTML for people, whose browsers accept text/html; JSON for programs.
StatusPage status_page(SessionHost& host, bool html);
/// `accept`, the header of that name, names text/html and not application/json.
bool wants_html(std::string_view accept);

/// A session on an accepted socket, whose io_context must be run by one thread only; over TLS when `tls` is
/// given. It lives until its connection is closed. Null where the server has no place for another connection
/// of this client, and where the client has reset it.
std::shared_ptr<Session> make_session(boost::asio::ip::tcp::socket socket, boost::asio::ssl::context* tls,
                                      SessionHost& host);

}  // namespace pirx::http
