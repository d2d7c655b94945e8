// HTTP(S) transport of a client: all servers at once, one deadline, no waiting for the slowest.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "pirx/base/bytes.h"

namespace pirx::http {

struct Endpoint {
  /// "https://host:port" or "http://..." (plaintext only to loopback unless allow_plaintext): a server's only
  /// or first database. "https://host:port/v1/db/NAME": its database of this name.
  std::string url;
  std::string ca_file = {};  ///< PEM trust anchors for https; empty: the system's
  bool allow_plaintext = false;
  std::string token = {};  ///< sent as bearer token, where the server wants one; never part of an Error
  std::string certificate_file = {},
              key_file = {};   ///< PEM; both or neither: shown to https servers that ask
  bool allow_tls_1_2 = false;  ///< for a server that does not know TLS 1.3
};

/// Whether a host name or address, brackets allowed, is this machine's own: localhost, 127.0.0.0/8, ::1.
bool is_loopback(std::string host);
/// The same of a URL's host; false for what is no URL.
bool is_loopback_url(const std::string& url);

struct CallOptions {
  std::chrono::milliseconds deadline{10'000};  ///< of the whole round
  std::chrono::milliseconds connect_timeout{5'000};
  std::size_t max_reply_bytes = std::size_t{64} << 20;  ///< exact reply size for protocols that know it
};

/// How a call to one server ended. A server's refusal arrives as its typed Error (StaleEpoch,
/// ResourceExhausted...).
struct CallOutcome {
  Result<Bytes> reply;
  double milliseconds = 0;
  std::uint64_t bytes_up = 0, bytes_down = 0;  ///< HTTP headers included
  /// Of a refusal with StaleEpoch: the parameters message that the server has now, of which the epoch can be
  /// read (parameters_epoch). For a new plan without another round trip; it proves as little as an answer of
  /// parameters_all() and is decoded and compared like one. Empty when the server gave none.
  Bytes parameters = {};
  /// Another server of the transport, whose replies name the same instance as this one's: one server under
  /// two addresses, which has now got two servers' shares. Or one of them claims the other's name, so that
  /// nothing is refused for it.
  std::optional<std::size_t> same_as = {};
};

/// One client's connections to a set of servers, kept alive between rounds until close(). Not thread-safe.
/// Nothing is ever retried: a request holds shares that must reach one server only, once. A child of fork
/// cannot use its parent's (InvalidArgument).
class HttpTransport {
 public:
  /// InvalidArgument also for two databases of one server: it would get two servers' shares. Calls do not
  /// connect two servers to one address and port either (loopback addresses count as one): one of them is
  /// sent nothing and gets InvalidArgument.
  static Result<HttpTransport> create(std::vector<Endpoint> servers);
  HttpTransport(HttpTransport&&) noexcept;
  HttpTransport& operator=(HttpTransport&&) noexcept;
  ~HttpTransport();

  /// Called as each server settles; true: enough, abandon the others.
  using OnSettled = std::function<bool(std::size_t server, const CallOutcome& outcome)>;
  /// POST requests[i] to server i's database, all in parallel. A result per server; those abandoned or late
  /// are Unavailable.
  std::vector<CallOutcome> query_all(const std::vector<Bytes>& requests, const CallOptions& options,
                                     const OnSettled& on_settled = {});
  /// GET the parameters of every server's database, in parallel.
  std::vector<CallOutcome> parameters_all(const CallOptions& options);
  /// Closes all connections; the next call opens new ones. To be called before replies are decoded: a server
  /// that sees a connection close later would learn how long that took.
  void close() noexcept;

 private:
  struct Impl;
  explicit HttpTransport(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace pirx::http
