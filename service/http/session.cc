// SPDX-License-Identifier: Apache-2.0
// HTTP/1.1 by callbacks. All callbacks of a connection run on one thread, and there is at most one read
// and one write in progress. While a request waits for its batch, a read stays in progress: if it ends,
// the client has gone, and its request leaves the queue. If the client sent more behind its request, nothing
// is read, but a look at the socket each second says as much. (A client that only shuts down its sending side
// counts as gone, too.)
#include "session.h"

#include <linux/sockios.h>
#include <poll.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <charconv>
#include <cmath>
#include <limits>
#include <new>
#include <optional>
#include <type_traits>

#include "http_error.h"
#include "paths.h"
#include "tls.h"

namespace pirx::http {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using asio::ip::tcp;
using boost::system::error_code;

constexpr std::size_t kReadBytes = 4096;       // read at once while a header is awaited
constexpr std::size_t kFirstBodyBytes = 4096;  // a body's buffer starts so and doubles as bytes arrive
constexpr std::size_t kHeadBytes = 80;         // a message's head: what it is for, by any protocol
constexpr std::ptrdiff_t kMaxFields = 64;      // of a header: each takes more than its bytes
// What a connection takes beside the bytes of its header: measured, rounded up.
constexpr std::size_t kPlainBytes = 8 * 1024;
constexpr std::size_t kTlsBytes = 96 * 1024;
constexpr std::size_t kHelloBytes = 136 * 1024;  // and OpenSSL, for as long a hello as one may claim to send
constexpr std::size_t kSmallReply = 1024;        // is in them
constexpr std::size_t kWriteStep = 64 * 1024;    // of a reply, to be taken in a sixth of write_timeout
constexpr std::size_t kLingerBytes = 1024 * 1024;  // swallowed at most after the last reply of a connection
constexpr std::chrono::milliseconds kLingerTime{2'000};
constexpr std::chrono::milliseconds kWaitingCheck{1'000};  // how soon a lost answer, or client, is noticed
constexpr char kJson[] = "application/json";
constexpr char kPreflightHeaders[] =
    "Access-Control-Allow-Methods: GET, POST\r\n"
    "Access-Control-Allow-Headers: Authorization, Content-Type, Pirx-Timeout\r\n"
    "Access-Control-Max-Age: 7200\r\n";
const std::string kFileHeaders =
    "X-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\n"
    "Cross-Origin-Resource-Policy: same-origin\r\nX-Frame-Options: DENY\r\n";

std::optional<std::chrono::milliseconds> timeout_milliseconds(std::string_view text) {
  constexpr std::int64_t kLongest = 86'400'000;
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 1 || value > kLongest)
    return std::nullopt;
  return std::chrono::milliseconds(value);
}

/// Who is at the other end, without a name if the connection was reset meanwhile. Peers of one IPv6 /64 count
/// as one: whoever has one address there has all.
struct Peer {
  std::string name;
  bool local = false;  ///< on this machine
};

Peer peer_of(const tcp::socket& socket) {
  error_code ec;
  auto address = socket.remote_endpoint(ec).address();
  if (ec) return {};
  // As IPv4 clients look to a socket on [::].
  if (address.is_v6() && address.to_v6().is_v4_mapped()) {
    address = asio::ip::make_address_v4(asio::ip::v4_mapped, address.to_v6());
  }
  if (address.is_v4()) return {"address " + address.to_string(), address.is_loopback()};
  const auto bytes = address.to_v6().to_bytes();
  Peer peer{"network ", address.is_loopback()};
  peer.name.append(bytes.begin(), bytes.begin() + 8);
  return peer;
}

/// Whether a Host header is a name with a dot, like that of a web site. If a site lets its name lead to this
/// machine (DNS rebinding), its pages can ask here, and their requests show that name.
bool names_a_site(const std::string& host) {
  const auto name = host.substr(0, host.find(':'));
  error_code no_address;
  static_cast<void>(asio::ip::make_address_v4(name, no_address));
  return name.find('.') != std::string::npos && no_address;
}

template <class Stream>
class HttpSession final : public Session, public std::enable_shared_from_this<HttpSession<Stream>> {
 public:
  template <class... Args>
  HttpSession(SessionHost& host, Connections::Place place, Peer peer, Args&&... args)
      : place_(std::move(place)),
        host_(host),
        stream_(std::forward<Args>(args)...),
        timer_(stream_.get_executor()),
        peer_(std::move(peer)) {}

  /// Of a connection that has read nothing yet.
  static constexpr std::size_t kBytes =
      (std::is_same_v<Stream, tcp::socket> ? kPlainBytes : kTlsBytes) + kReadBytes;
  /// The same before the end of the handshake.
  static constexpr std::size_t kFirstBytes = kBytes + (std::is_same_v<Stream, tcp::socket> ? 0 : kHelloBytes);

  ~HttpSession() override {
    end_request();
    const std::lock_guard lock(host_.mutex);
    host_.sessions.erase(this);
  }

  void start() override {
    asio::post(stream_.get_executor(), guarded([this] {
                 error_code ignored;
                 socket().set_option(tcp::no_delay(true), ignored);
                 set_timer(host_.options.header_timeout);
                 kTls ? shake_hands() : begin_reading();
               }));
  }

  void shake_hands() {
    if constexpr (kTls) {
      stream_.async_handshake(asio::ssl::stream_base::server, guarded([this](error_code ec) {
                                if (ec && waits_for_turn(stream_.native_handle())) return wait_for_turn();
                                if (ec) return end();  // the alert is to be read
                                if (!note_certificate()) return end();
                                begin_reading();
                              }));
    }
  }

  /// A hello costs its sender nothing, and this thread up to milliseconds. So clients take turns: one that
  /// sends many waits behind all others. Nothing is computed for a client that has gone.
  void wait_for_turn() {
    in_turn(host_.handshakes, [](HttpSession& session) {
      if (session.client_has_gone()) return session.shut();
      if constexpr (kTls) give_turn(session.stream_.native_handle());
      session.shake_hands();
    });
  }
  /// Calls f(*this) in this client's turn, unless the connection is closed by then. Pieces of closed
  /// connections wait, too, so that a client may have more of them than connections.
  template <class F>
  void in_turn(Turns& turns, F f) {
    const bool waits = turns.ask(
        peer_.name,
        [executor = stream_.get_executor()](Turns::Work work) { asio::post(executor, std::move(work)); },
        [weak = this->weak_from_this(), f] {
          const auto self = weak.lock();
          if (!self || self->state_ == State::kClosed) return;
          self->guarded([&session = *self, f] { f(session); })();
        });
    if (!waits) shut();
  }

  /// Who showed a certificate goes under its subject, from wherever it connects. False where it may not have
  /// another connection.
  bool note_certificate() {
    if constexpr (kTls) {
      const auto subject = client_subject(stream_.native_handle());
      if (!subject.empty()) peer_.name = "certificate " + subject;
    }
    return place_.move_to(peer_.name);
  }

  void close() override {
    asio::post(stream_.get_executor(), guarded([this] { shut(); }));
  }

 private:
  static constexpr bool kTls = !std::is_same_v<Stream, tcp::socket>;
  enum class State : std::uint8_t { kIdle, kHeader, kBody, kWaiting, kWriting, kLingering, kClosed };

  /// Plain TCP under either stream.
  tcp::socket& socket() {
    if constexpr (kTls) {
      return stream_.next_layer();
    } else {
      return stream_;
    }
  }

  /// `f` as a handler that keeps the session alive and turns any exception (no memory) into the end of this
  /// connection.
  template <class F>
  auto guarded(F f) {
    return [self = this->shared_from_this(), f = std::move(f)](auto&&... args) mutable {
      try {
        f(std::forward<decltype(args)>(args)...);
      } catch (...) {
        self->shut();
      }
    };
  }

  void shut() noexcept {
    if (state_ == State::kClosed) return;
    const auto was = std::exchange(state_, State::kClosed);
    try {
      if (was == State::kWaiting) database_->batcher().cancel(ticket_);
      timer_.cancel();
    } catch (...) {  // the socket is closed all the same
    }
    error_code ignored;
    socket().close(ignored);
    end_request();
  }

  void begin_request() {
    counted_ = true;
    ++host_.in_flight;
    database_ = nullptr;
  }

  void end_request() noexcept {
    if (!std::exchange(counted_, false)) return;
    if (--host_.in_flight == 0 && host_.draining) {
      try {
        host_.on_drained();
      } catch (...) {  // the drain timeout ends the server instead
      }
    }
  }

  void set_timer(std::chrono::milliseconds timeout) {
    timer_.expires_after(timeout);
    timer_.async_wait(guarded([this](error_code) {
      // Called for every change too; only a deadline that has passed counts.
      if (state_ == State::kClosed || timer_.expiry() > std::chrono::steady_clock::now()) return;
      if (state_ == State::kWaiting && client_has_gone()) return shut();
      if (state_ == State::kWaiting && !answer_lost_) return set_timer(kWaitingCheck);
      if (state_ == State::kWriting && takes_its_reply()) return;
      if (state_ != State::kLingering) host_.peer_log.write({"timeout", {{"during", state_name()}}, {}});
      shut();
    }));
  }

  /// Also behind bytes of a next request, which nobody reads yet.
  bool client_has_gone() {
    ::pollfd socket_state{socket().native_handle(), POLLRDHUP, 0};
    return ::poll(&socket_state, 1, 0) > 0;
  }

  void clear_timer() { timer_.expires_at(std::chrono::steady_clock::time_point::max()); }

  const char* state_name() const {
    constexpr const char* kNames[] = {"idle", "header", "body", "answer", "reply", "closing", "closing"};
    return kNames[static_cast<std::size_t>(state_)];
  }

  // --- headers

  void begin_reading() {
    state_ = State::kHeader;
    parser_.emplace();
    // Both limits are kept here: Beast's counts a header only since the last byte it took, and bodies it does
    // not see.
    parser_->header_limit(std::numeric_limits<std::uint32_t>::max());
    parser_->body_limit(std::numeric_limits<std::uint64_t>::max());
    header_bytes_ = 0;
    parse_header();
  }

  void next_request() {
    const bool more = buffer_.size() > 0;
    set_timer(more ? host_.options.header_timeout : host_.options.idle_timeout);
    begin_reading();
    if (state_ == State::kHeader && !more) state_ = State::kIdle;
  }

  void read() {
    if (std::exchange(reading_, true)) return;
    const auto room = buffer_.prepare(kReadBytes);
    if (!place_.resize(kBytes - kReadBytes + buffer_.capacity() + header_bytes_)) return shut();
    stream_.async_read_some(room, guarded([this](error_code ec, std::size_t count) {
                              reading_ = false;
                              if (!ec) buffer_.commit(count);
                              on_read(ec);
                            }));
  }

  void on_read(error_code ec) {
    switch (state_) {
      case State::kIdle:
        if (ec) return shut();
        state_ = State::kHeader;
        set_timer(host_.options.header_timeout);
        return parse_header();
      case State::kHeader:
        if (ec) return shut();
        return parse_header();
      case State::kWaiting:
        if (ec) return shut();
        return;  // the beginning of the next request; it stays in the buffer
      case State::kWriting:
        if (ec) keep_alive_ = false;
        return;
      case State::kLingering:
        if (ec) return shut();
        return linger();
      case State::kBody:
      case State::kClosed:
        return;
    }
  }

  /// In turn: thousands of connections of one client with a request each are one client.
  void parse_header() {
    if (buffer_.size() == 0) return read();
    in_turn(host_.requests, [](HttpSession& session) { session.parse_what_came(); });
  }

  void parse_what_came() {
    error_code ec;
    const auto taken = parser_->put(buffer_.data(), ec);
    buffer_.consume(taken);
    header_bytes_ += taken;
    const bool more = ec == http::error::need_more;
    const auto& fields = parser_->get();
    if (header_bytes_ + (more ? buffer_.size() : 0) > host_.options.max_header_bytes) {
      refuse_header(431, "the request's header is too long");
    } else if (std::distance(fields.begin(), fields.end()) > kMaxFields) {
      refuse_header(431, "the request's header has more than 64 fields");
    } else if (more) {
      return read();
    } else if (ec) {
      refuse_header(400, "this is not HTTP/1.1");
    } else {
      route();
    }
    parser_.reset();  // a body may be long in coming
  }

  void refuse_header(unsigned status, const char* message) {
    begin_request();
    cors_.clear();
    keep_alive_ = false;
    refuse(status, message);
  }

  void route() {
    // Counted before draining is read: either the drain waits for this request, or the request sees the
    // drain.
    begin_request();
    const auto& header = parser_->get();
    const auto length = parser_->content_length();
    const bool encoded = header.count(http::field::transfer_encoding) > 0;
    cors_ = cors_headers();
    const bool draining = host_.draining;
    // HEAD is refused with a body. Its client expects none, and would take it for the next reply.
    const bool reusable = header.keep_alive() && !draining && header.method() != http::verb::head;
    // Only a query's body is read. Any other body stays on the wire, and the connection cannot go on behind
    // it.
    keep_alive_ = reusable && !encoded && length.value_or(0) == 0;
    if (header.version() >= 11 && header.count(http::field::host) != 1) {
      keep_alive_ = false;
      return refuse(400, "HTTP/1.1 needs exactly one Host header");
    }
    const auto host = header[http::field::host];
    const bool site = names_a_site({host.data(), host.size()});
    if (site && host_.options.no_sites) {
      cors_.clear();
      return refuse(421, "this server is for its own machine only: ask 127.0.0.1 or localhost");
    }
    const auto path = header.target();
    const auto target = parse_target(std::string_view(path.data(), path.size()));
    const bool is_query = target.page == Page::kQuery;
    const bool is_metrics = target.page == Page::kMetrics, is_status = target.page == Page::kStatus;
    if (is_metrics || is_status)
      cors_.clear();  // for people and programs of this machine, not for foreign pages
    const auto files = host_.files_now();
    if (const auto* file = find_file(files.get(), {path.data(), path.size()}); file != nullptr) {
      if (header.method() != http::verb::get)
        return refuse(405, "this path takes GET only", "Allow: GET\r\n");
      auto headers = kFileHeaders;
      if (!file->policy.empty()) headers += "Content-Security-Policy: " + file->policy + "\r\n";
      if (file->gzip) headers += "Content-Encoding: gzip\r\n";
      return reply_shared(200, file->type.c_str(), {files, &file->content}, headers.c_str());
    }
    if (target.page == Page::kNone ||
        ((is_metrics || is_status) && !host_.options.metrics_for_all && (!peer_.local || site))) {
      return refuse(404,
                    "no such path: there are /v1/query, /v1/parameters, /v1/manifest, /healthz and /readyz, "
                    "and for this machine /, /status and /metrics");
    }
    if (header.method() == http::verb::options && !host_.options.cors_origins.empty()) {
      if (cors_.empty())
        return refuse(403, "pages of this origin may not ask this server (pirx serve --cors)");
      return reply(200, "text/plain", {}, kPreflightHeaders);
    }
    if (header.method() != (is_query ? http::verb::post : http::verb::get)) {
      return refuse(405, is_query ? "/v1/query takes POST only" : "this path takes GET only",
                    is_query ? "Allow: POST\r\n" : "Allow: GET\r\n");
    }
    if (target.page == Page::kHealth) return reply(200, "text/plain", text_bytes("alive\n"));
    if (is_metrics || is_status) {
      const auto accept = header[http::field::accept];
      const bool html = is_status && wants_html({accept.data(), accept.size()});
      auto& kept = is_metrics ? host_.kept_metrics : html ? host_.kept_html : host_.kept_json;
      const auto page = kept.get(host_.databases.size(),
                                 [&] { return is_metrics ? metrics_page(host_) : status_page(host_, html); });
      return reply_leased(200, page->type, {page, &page->body}, page->header.c_str());
    }
    if (draining) return refuse(Error(ErrorCode::kUnavailable, "the server is stopping: use another one"));
    if (target.page == Page::kReady) {
      if (host_.takes_queries()) return reply(200, "text/plain", text_bytes("ready\n"));
      return refuse(Error(ErrorCode::kUnavailable, "this server's databases are damaged: use another one"));
    }
    if (!identify()) return;
    database_ = host_.find(target.database);
    if (database_ == nullptr) {
      return refuse(404, Error(ErrorCode::kOutOfRange, "this server has no database of this name"), "");
    }
    if (target.page == Page::kManifest) {
      const auto epoch = database_->epoch();
      if (!epoch->manifest->empty()) return reply_shared(200, kOctetStream, epoch->manifest);
      return refuse(404, Error(ErrorCode::kOutOfRange, "this server has no manifest (pirx serve --manifest)"),
                    "");
    }
    if (!is_query) return reply_shared(200, kOctetStream, database_->epoch()->parameters);

    if (encoded || !length) {
      keep_alive_ = false;  // whatever follows may be a body all the same
      return refuse(411, "give Content-Length; transfer codings are not accepted");
    }
    if (!is_octet_stream(header[http::field::content_type])) {
      return refuse(415, "a query is sent as Content-Type: application/octet-stream");
    }
    too_long_ = *length > longest_request();
    const bool expects = header.version() >= 11 && header.count(http::field::expect) > 0;
    if (expects && (header.count(http::field::expect) > 1 ||
                    !beast::iequals(header[http::field::expect], "100-continue"))) {
      return refuse(417, "only 100-continue can be expected");
    }
    const auto timeout = header[kTimeoutHeader];
    deadline_ = Batcher::Clock::time_point::max();
    if (!timeout.empty()) {
      const auto milliseconds = timeout_milliseconds(std::string_view(timeout.data(), timeout.size()));
      if (!milliseconds) return refuse(400, "Pirx-Timeout is a number of milliseconds, 1 to 86400000");
      deadline_ = Batcher::Clock::now() + *milliseconds;
    }
    keep_alive_ = reusable && !too_long_;
    begin_body(std::min<std::size_t>(*length, too_long_ ? kHeadBytes : longest_request()),
               expects && *length > 0);
  }

  static const StaticFile* find_file(const std::vector<StaticFile>* files, std::string_view path) {
    if (files == nullptr) return nullptr;
    for (const auto& file : *files) {
      if (file.path == path) return &file;
    }
    return nullptr;
  }

  /// What lets a browser hand the reply to the page that asked; empty where that is not allowed.
  std::string cors_headers() const {
    const auto& origins = host_.options.cors_origins;
    const auto& header = parser_->get();
    if (origins.empty() || header.count(http::field::origin) != 1) return {};
    const auto value = header[http::field::origin];
    const std::string_view origin(value.data(), value.size());
    for (const auto& allowed : origins) {
      if (allowed != "*" && allowed != origin) continue;
      return "Access-Control-Allow-Origin: " + allowed +
             "\r\nVary: Origin\r\nAccess-Control-Expose-Headers: Pirx-Error, Pirx-Instance, Retry-After\r\n";
    }
    return {};
  }

  std::size_t longest_request() const {
    return std::min(database_->max_request_bytes(), host_.options.max_body_bytes);
  }

  /// Why a request was refused for its length, and which flag of the server, if any, allows more.
  std::string too_long_text(const AnyServer& server) const {
    const auto most = std::to_string(longest_request()) + " bytes";
    if (host_.options.max_body_bytes < database_->max_request_bytes()) {
      return "this server takes no request that is longer than " + most +
             " (pirx serve --max-body allows more)";
    }
    // Only messages with this header can hold several queries.
    return "no request of this database is longer than " + most +
           (has_message_header(server.protocol())
                ? ": ask for fewer records at a time (pirx serve --max-queries allows more queries in one)"
                : ": fetch the server's parameters again");
  }

  /// Under which name the request and its connection go; refuses it, and says false, where it may not be
  /// asked.
  bool identify() {
    client_ = peer_.name;
    if (!host_.options.authenticate) return true;
    const auto name = host_.options.authenticate(bearer_token());
    if (name) {
      client_ = "name " + *name;
      if (place_.move_to(client_)) return true;
      keep_alive_ = false;
      send_refusal(429,
                   Error(ErrorCode::kResourceExhausted,
                         "you have more connections open than the server has left: use those, or close some"),
                   "Retry-After: 1\r\n");
      return false;
    }
    refuse(401,
           Error(ErrorCode::kUnauthenticated,
                 "this server answers those with a token only: send one that it knows"),
           "WWW-Authenticate: Bearer realm=\"pirx\"\r\n");
    return false;
  }

  /// Of "Authorization: Bearer TOKEN"; empty for any other header, or several.
  std::string_view bearer_token() const {
    constexpr boost::string_view kScheme = "Bearer ";
    const auto& header = parser_->get();
    if (header.count(http::field::authorization) != 1) return {};
    auto value = header[http::field::authorization];
    if (!beast::iequals(value.substr(0, kScheme.size()), kScheme)) return {};
    value.remove_prefix(kScheme.size());
    return {value.data(), value.size()};
  }

  static bool is_octet_stream(boost::string_view type) {
    type = type.substr(0, std::min(type.find(';'), type.size()));
    while (!type.empty() && type.back() == ' ') type.remove_suffix(1);
    return beast::iequals(type, kOctetStream);
  }

  static Bytes text_bytes(std::string_view text) {
    const auto bytes = as_bytes(text);
    return {bytes.begin(), bytes.end()};
  }

  // --- bodies

  void begin_body(std::size_t length, bool confirm) {
    state_ = State::kBody;
    set_timer(host_.options.body_timeout);
    length_ = length;
    received_ = 0;
    body_ = {};
    lease_ = place_.lease();
    if (!grow_body()) return refuse_for_memory();
    received_ = asio::buffer_copy(asio::buffer(body_.data(), body_.size()), buffer_.data());
    buffer_.consume(received_);
    if (!confirm || received_ > 0) return read_body();
    head_ = "HTTP/1.1 100 Continue\r\n\r\n";
    asio::async_write(stream_, asio::buffer(head_), guarded([this](error_code ec, std::size_t) {
                        if (state_ == State::kClosed) return;
                        if (ec) return shut();
                        read_body();
                      }));
  }

  /// Room for more of the body: never more than twice what has arrived and kFirstBodyBytes.
  bool grow_body() {
    const auto size = std::min(length_, std::max(kFirstBodyBytes, 2 * received_));
    return lease_.resize(PageBuffer::taken(size)) && body_.grow(size);
  }

  void refuse_for_memory() {
    body_ = {};
    lease_ = {};
    keep_alive_ = false;
    refuse(Error(ErrorCode::kResourceExhausted,
                 "the server has too little memory left for another request of yours: try again later"));
  }

  void read_body() {
    if (received_ == length_) return submit();
    if (received_ == body_.size() && !grow_body()) return refuse_for_memory();
    stream_.async_read_some(asio::buffer(body_.data() + received_, body_.size() - received_),
                            guarded([this](error_code ec, std::size_t count) {
                              if (state_ == State::kClosed) return;
                              if (ec) return shut();
                              received_ += count;
                              if (received_ < length_) return read_body();
                              in_turn(host_.requests, [](HttpSession& session) { session.submit(); });
                            }));
  }

  void submit() {
    clear_timer();
    const auto epoch = database_->epoch();
    Result<std::size_t> queries =
        fail(ErrorCode::kInternal, "the protocol failed on this request: please report this");
    try {
      queries = epoch->server->admit(body_);
    } catch (const std::bad_alloc&) {
      queries = fail(ErrorCode::kResourceExhausted, "the server is out of memory: try again later");
    } catch (...) {  // stays Internal
    }
    // Only the head of a request that is too long was read: it may be for an epoch with more rows.
    if (too_long_ && (queries || queries.error().code() != ErrorCode::kStaleEpoch)) {
      return refuse(413, too_long_text(*epoch->server));
    }
    if (!queries) return refuse(queries.error());
    auto done = [self = this->shared_from_this()](Result<Bytes> result, ByteLease lease) {
      try {
        asio::post(self->stream_.get_executor(),
                   self->guarded([session = self.get(), result = std::move(result),
                                  lease = std::move(lease)]() mutable {
                     session->on_answer(std::move(result), std::move(lease));
                   }));
      } catch (...) {
        self->answer_lost_ = true;  // no memory to say so: its own timer finds it
      }
    };
    host_.metrics.request_bytes += body_.size();
    const auto ticket = database_->batcher().submit(epoch->server, std::move(body_), *queries,
                                                    std::move(lease_), std::move(done), {client_, deadline_});
    body_ = {};
    if (!ticket) return refuse(ticket.error());
    database_->metrics().queries += *queries;
    ticket_ = *ticket;
    state_ = State::kWaiting;
    set_timer(kWaitingCheck);
    if (buffer_.size() == 0) read();
  }

  void on_answer(Result<Bytes> result, ByteLease lease) {
    if (state_ == State::kClosed) return;
    if (!result) return refuse(result.error());
    lease_ = std::move(lease);
    reply(200, kOctetStream, std::move(*result));
  }

  // --- replies

  void refuse(const Error& error) {
    const bool later =
        error.code() == ErrorCode::kUnavailable || error.code() == ErrorCode::kResourceExhausted;
    const double backlog = later && database_ != nullptr ? database_->batcher().backlog().count() : 0;
    const auto seconds = std::clamp(std::ceil(backlog), 1.0, 3600.0);
    const auto hint = "Retry-After: " + std::to_string(static_cast<int>(seconds)) + "\r\n";
    refuse(http_status(error.code()), error, later ? hint.c_str() : "");
  }
  void refuse(unsigned status, std::string message, const char* extra = "") {
    refuse(status, Error(ErrorCode::kInvalidArgument, std::move(message)), extra);
  }
  void refuse(unsigned status, const Error& error, const char* extra) {
    const auto code = std::string(error_code_name(error.code()));
    host_.peer_log.write({"refused", {{"code", code}}, {{"status", static_cast<double>(status)}}});
    send_refusal(status, error, extra);
  }
  void send_refusal(unsigned status, const Error& error, const char* extra) {
    const auto code = std::string(error_code_name(error.code()));
    const auto header = std::string(kErrorHeader) + ": " + code + "\r\n" + extra;
    const bool stale = error.code() == ErrorCode::kStaleEpoch && database_ != nullptr;
    const auto now = stale ? database_->epoch() : nullptr;
    const auto body = error_body(error, now ? ByteSpan(*now->parameters) : ByteSpan());
    reply(status, kJson, text_bytes(body), header.c_str());
  }

  void reply(unsigned status, const char* type, Bytes body, const char* extra = "") {
    reply_leased(status, type, std::make_shared<const Bytes>(std::move(body)), extra);
  }

  /// What lease_ covers, or will.
  void reply_leased(unsigned status, const char* type, std::shared_ptr<const Bytes> body, const char* extra) {
    if (body->size() > std::max(lease_.held(), kSmallReply)) {
      lease_ = place_.lease();
      if (!lease_.resize(body->size())) return refuse_for_memory();
    }
    reply_shared(status, type, std::move(body), extra);
  }

  /// What lease_ covers, or what is there for everybody and costs no memory however many take it.
  void reply_shared(unsigned status, const char* type, std::shared_ptr<const Bytes> body,
                    const char* extra = "") {
    body_ = {};  // one that was refused would stay for as long as the connection is kept
    state_ = State::kWriting;
    written_ = checked_ = 0;
    write_end_ = std::chrono::steady_clock::now() + host_.options.write_timeout;
    set_timer(write_pace());
    host_.metrics.count_reply(status, body->size());
    reply_ = std::move(body);
    head_ = "HTTP/1.1 " + std::to_string(status) + " ";
    head_ += std::string(http::obsolete_reason(http::int_to_status(status)));
    head_ += std::string("\r\nContent-Type: ") + type +
             "\r\nContent-Length: " + std::to_string(reply_->size()) +
             "\r\nCache-Control: no-store\r\nConnection: " + (keep_alive_ ? "keep-alive" : "close") + "\r\n" +
             kInstanceHeader + ": " + host_.instance + "\r\n" + cors_ + extra + "\r\n";
    const std::array<asio::const_buffer, 2> buffers{asio::buffer(head_),
                                                    asio::buffer(reply_->data(), reply_->size())};
    const auto more = [this](const error_code& ec, std::size_t count) {
      written_ = count;
      return ec ? 0 : kWriteStep;
    };
    asio::async_write(stream_, buffers, more, guarded([this](error_code ec, std::size_t) {
                        if (state_ == State::kClosed) return;
                        if (ec) return shut();
                        on_written();
                      }));
  }

  std::chrono::milliseconds write_pace() const {
    return host_.options.write_timeout / 6 + std::chrono::milliseconds(1);
  }

  /// Whether a client took enough of its reply since this was asked last; if so the timer goes on.
  bool takes_its_reply() {
    const auto now = std::chrono::steady_clock::now();
    int queued = 0;  // in the kernel: written, but not taken
    const bool known = ::ioctl(socket().native_handle(), SIOCOUTQ, &queued) == 0;
    const std::size_t waiting = known ? static_cast<std::size_t>(queued) : 0;
    const std::size_t taken = written_ - std::min(written_, waiting);
    if (taken < checked_ + kWriteStep || now >= write_end_) return false;
    checked_ = taken;
    set_timer(std::min(write_pace(), std::chrono::ceil<std::chrono::milliseconds>(write_end_ - now)));
    return true;
  }

  void on_written() {
    reply_ = nullptr;
    lease_ = {};
    end_request();
    keep_alive_ ? next_request() : end();
  }

  /// Nothing more is sent.
  void end() {
    state_ = State::kLingering;
    set_timer(kLingerTime);
    error_code ignored;
    socket().shutdown(tcp::socket::shutdown_send, ignored);
    linger();
  }

  /// Reads on for a moment after the last reply: closing over unread bytes would reset the connection, and
  /// the reset could overtake the reply.
  void linger() {
    if (reading_) return;
    swallowed_ += buffer_.size();
    buffer_.consume(buffer_.size());
    // Whoever sends more than that has to wait now, and so comes to read the reply; the timer closes.
    if (swallowed_ > kLingerBytes) return;
    reading_ = true;
    socket().async_read_some(buffer_.prepare(kReadBytes), guarded([this](error_code ec, std::size_t count) {
                               reading_ = false;
                               if (!ec) buffer_.commit(count);
                               on_read(ec);
                             }));
  }

  Connections::Place place_;  ///< first: what it is charged for goes before it
  SessionHost& host_;
  Stream stream_;
  asio::steady_timer timer_;
  State state_ = State::kHeader;
  bool reading_ = false;                  ///< a read into buffer_ is outstanding
  bool keep_alive_ = false;               ///< the connection goes on after the reply
  bool too_long_ = false;                 ///< the request: only its head is read
  bool counted_ = false;                  ///< in host_.in_flight
  std::atomic<bool> answer_lost_{false};  ///< the batcher had no memory to hand the answer over
  beast::flat_buffer buffer_;
  std::optional<http::request_parser<http::empty_body>> parser_;
  std::size_t header_bytes_ = 0;
  std::size_t length_ = 0, received_ = 0;  ///< of the body
  PageBuffer body_;
  ByteLease lease_;  ///< covers body_, then reply_
  Batcher::Ticket ticket_ = 0;
  Batcher::Clock::time_point deadline_;  ///< of the request
  Hosted* database_ = nullptr;           ///< of the request; null before its path is known
  Peer peer_;
  std::string client_;  ///< whose turn it is, see Caller
  std::string cors_;    ///< headers of the reply
  std::string head_;
  std::shared_ptr<const Bytes> reply_;
  std::size_t written_ = 0, checked_ = 0;  ///< bytes of the reply: now, and at the last look
  std::chrono::steady_clock::time_point write_end_;
  std::size_t swallowed_ = 0;
};

}  // namespace

std::shared_ptr<Session> make_session(tcp::socket socket, asio::ssl::context* tls, SessionHost& host) {
  using Plain = HttpSession<tcp::socket>;
  using Tls = HttpSession<asio::ssl::stream<tcp::socket>>;
  auto peer = peer_of(socket);
  if (peer.name.empty()) return nullptr;
  auto place = host.connections.admit(peer.name, tls != nullptr ? Tls::kFirstBytes : Plain::kFirstBytes);
  if (!place) return nullptr;
  ++host.metrics.connections;
  std::shared_ptr<Session> session;
  if (tls != nullptr) {
    session = std::make_shared<Tls>(host, std::move(*place), std::move(peer), std::move(socket), *tls);
  } else {
    session = std::make_shared<Plain>(host, std::move(*place), std::move(peer), std::move(socket));
  }
  const std::lock_guard lock(host.mutex);
  host.sessions.emplace(session.get(), session);
  return session;
}

}  // namespace pirx::http
