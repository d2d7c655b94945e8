// SPDX-License-Identifier: Apache-2.0
// The HTTP(S) transport of a client. It calls all servers at the same time, with one deadline.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "pirx/base/bytes.h"
#include "pirx/base/stop.h"
#include "pirx/http/endpoint.h"

namespace pirx::http {

/// The limits of one round of calls.
struct CallOptions {
  std::chrono::milliseconds deadline{10'000};  ///< of the whole round
  /// What servers are told of it; nothing: the deadline. It must not depend on what is asked for.
  std::optional<std::chrono::milliseconds> announced = {};
  std::chrono::milliseconds connect_timeout{5'000};
  std::size_t max_reply_bytes = std::size_t{64} << 20;  ///< a longer reply is an error
  /// Ends the round with Unavailable. It is called at least every 50 ms, from the thread that called.
  Stop stop = {};
};

/// How a call to one server ended. If the server refused, `reply` is the Error that it sent, such as
/// StaleEpoch or ResourceExhausted.
struct CallOutcome {
  Result<Bytes> reply;
  double milliseconds = 0;
  std::uint64_t bytes_up = 0, bytes_down = 0;  ///< with HTTP headers
  /// After StaleEpoch: the parameters message that the server has now, so that a new plan needs no other
  /// round trip; parameters_epoch() reads its epoch. It proves as little as an answer of parameters_all():
  /// decode and compare it in the same way. Empty: the server sent none.
  Bytes parameters = {};
  /// Another server of the transport whose replies name the same instance (Pirx-Instance) as this one's.
  /// Probably it is one server under two addresses, and it has now received the shares of two. But one of
  /// them may claim the other's name, so no reply is refused for it.
  std::optional<std::size_t> same_as = {};
};

/// One client's connections to a set of servers, which stay open between rounds until close(). It never sends
/// a request again: a request holds shares that one server may get, once. Not thread-safe. In a child of
/// fork, calls on the parent's transport are InvalidArgument.
class HttpTransport {
 public:
  /// InvalidArgument: an endpoint is malformed, or two of them are databases of one server, which would get
  /// the shares of two. If two servers turn out to have one address and port when they are called (all
  /// loopback addresses count as one), nothing is sent to one of them, and its outcome is InvalidArgument.
  static Result<HttpTransport> create(std::vector<Endpoint> servers);
  HttpTransport(HttpTransport&&) noexcept;
  HttpTransport& operator=(HttpTransport&&) noexcept;
  ~HttpTransport();

  /// Called when a server's call has ended. True: no others are needed; the calls that still run are
  /// abandoned.
  using OnSettled = std::function<bool(std::size_t server, const CallOutcome& outcome)>;
  /// Sends requests[i] to the database of server i (POST), all at the same time; an empty one is not sent.
  /// Returns one outcome for each server; Unavailable for those that were abandoned, late or not asked.
  std::vector<CallOutcome> query_all(const std::vector<Bytes>& requests, const CallOptions& options,
                                     const OnSettled& on_settled = {});
  /// Asks all servers for the parameters of their databases (GET), at the same time.
  std::vector<CallOutcome> parameters_all(const CallOptions& options);
  /// Likewise for the manifests of their publisher (docs/manifest.md).
  std::vector<CallOutcome> manifests_all(const CallOptions& options);
  /// Closes all connections; the next call opens new ones. Call it before replies are decoded: a server that
  /// sees the connection close afterwards learns how long decoding took.
  void close() noexcept;

 private:
  struct Impl;
  explicit HttpTransport(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace pirx::http
