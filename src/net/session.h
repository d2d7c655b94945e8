// One connection of the server, from accept to close: reads requests, asks the batcher, writes replies, keeps
// every limit.
#pragma once

#include <algorithm>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <unordered_map>

#include "batcher.h"
#include "metrics.h"

namespace pirx::net {

/// A connection as its server sees it.
class Session {
 public:
  virtual ~Session() = default;
  virtual void start() = 0;
  /// Closes now, whatever is in flight. From any thread.
  virtual void close() = 0;
};

/// What all connections of a server share. Outlives them.
struct SessionHost {
  SessionHost(std::shared_ptr<const AnyServer> any_server, const HttpServerOptions& server_options,
              LogSink sink, Bytes encoded_parameters)
      : options(server_options), log(std::move(sink)), budget(server_options.max_in_flight_bytes) {
    replace(std::move(any_server), std::move(encoded_parameters));
  }

  /// Who answers, and what GET /v1/parameters gives: always of one another.
  struct Epoch {
    std::shared_ptr<const AnyServer> server;
    Bytes parameters;
  };
  std::shared_ptr<const Epoch> epoch() const {
    const std::lock_guard lock(epoch_mutex);
    return current;
  }
  /// Gives the one before; null at first.
  std::shared_ptr<const Epoch> replace(std::shared_ptr<const AnyServer> server, Bytes parameters) {
    // Queries of an earlier epoch may be longer; they are read all the same, to be told that they are stale.
    max_request_bytes = std::max(max_request_bytes.load(), server->max_request_bytes());
    auto next = std::make_shared<const Epoch>(Epoch{std::move(server), std::move(parameters)});
    const std::lock_guard lock(epoch_mutex);
    current.swap(next);
    return next;
  }
  /// Sets bytes aside for the passes of a server that is to be replace()d in. False when requests hold them.
  bool reserve_pass(const AnyServer& server) {
    const std::lock_guard lock(epoch_mutex);
    return pass.resize(std::max(pass.held(), server.pass_bytes()));
  }

  const HttpServerOptions options;
  const LogSink log;
  std::atomic<std::size_t> max_request_bytes{0};
  ByteBudget budget;
  Metrics metrics;
  Batcher* batcher = nullptr;
  std::atomic<bool> draining{false};
  /// Requests whose header was read and whose reply is not written yet.
  std::atomic<std::size_t> in_flight{0};
  /// Called when in_flight falls to zero while draining.
  std::function<void()> on_drained;

  mutable std::mutex epoch_mutex;
  std::shared_ptr<const Epoch> current;  ///< under epoch_mutex
  ByteLease pass{budget};                ///< likewise

  std::mutex mutex;
  std::unordered_map<Session*, std::weak_ptr<Session>> sessions;
};

/// A session on an accepted socket, whose io_context must be run by one thread only; over TLS when `tls` is
/// given. It lives until its connection is closed.
std::shared_ptr<Session> make_session(boost::asio::ip::tcp::socket socket, boost::asio::ssl::context* tls,
                                      SessionHost& host);

}  // namespace pirx::net
