// SPDX-License-Identifier: Apache-2.0
// What the tests of net share: a fake protocol, a server that runs, raw sockets on both sides, and
// certificates.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "pirx/http/http_client.h"
#include "pirx/http/http_server.h"
#include "service/http/byte_budget.h"
#include "service/http/page_buffer.h"
#include "src/base/time_limit.h"
#include "support/files.h"

namespace pirx::http::testing {

using namespace std::chrono_literals;
using pirx::testing::expect_error;
using Clock = std::chrono::steady_clock;

inline Bytes bytes_of(std::string_view text) {
  const auto bytes = as_bytes(text);
  return {bytes.begin(), bytes.end()};
}
inline std::string text_of(const Bytes& bytes) { return std::string(as_text(bytes)); }
inline double ms_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

/// Longer than anything takes that is going to happen: a busy machine may stop any thread for seconds.
inline constexpr std::chrono::seconds kPatience{20};

/// Waits until `condition` holds; false when patience ends.
inline bool eventually(const std::function<bool()>& condition) {
  const auto deadline = Clock::now() + kPatience;
  while (!condition()) {
    if (Clock::now() > deadline) return false;
    std::this_thread::sleep_for(1ms);
  }
  return true;
}

/// A protocol whose reply is the request backwards. A request "e<digit>..." is refused by admit() with that
/// error code, "a<digit>..." by answer(), and "q<digit>..." counts as that many queries.
class FakeServer : public AnyServer {
 public:
  ProtocolId protocol() const noexcept override { return of; }
  Bytes parameters() const override { return bytes_of(parameters_text); }
  std::size_t max_request_bytes() const noexcept override { return max_bytes; }

  std::size_t max_queries() const noexcept override { return most_queries; }
  std::size_t working_bytes(std::size_t queries) const noexcept override {
    return queries > 1'000'000 ? SIZE_MAX : queries * working_per_query;
  }

  std::size_t max_reply_bytes(std::size_t queries) const noexcept override {
    return queries > 1'000'000 ? SIZE_MAX : queries * reply_per_query;
  }
  std::size_t pass_bytes() const noexcept override { return per_pass; }
  Bytes sample_request(std::size_t queries) const override {
    return sample.empty() ? Bytes() : pirx::testing::to_bytes(sample + std::to_string(queries));
  }

  Result<std::size_t> admit(ByteSpan request) const override {
    if (throw_in_admit) throw std::runtime_error("admit");
    const auto text = as_text(request);
    if (on_admit) on_admit(text);
    if (text.size() >= 2 && text[0] == 'e')
      return fail(static_cast<ErrorCode>(text[1] - '0'), "admit \"says\" no");
    if (text.size() >= 2 && text[0] == 'q') return static_cast<std::size_t>(text[1] - '0');
    return 1;
  }

  std::vector<Result<Bytes>> answer(std::span<const ByteSpan> requests) const override {
    TimeLimit* const limit = TimeLimit::current();
    {
      std::unique_lock lock(mutex_);
      batches_.push_back(requests.size());
      if (limit != nullptr) allowed_ = std::chrono::duration<double>(limit->end() - Clock::now()).count();
      for (const auto& request : requests) seen_.emplace_back(as_text(request));
      changed_.notify_all();
      changed_.wait(lock, [&] { return !held_; });
    }
    const bool slow = std::any_of(requests.begin(), requests.end(),
                                  [](ByteSpan request) { return as_text(request).starts_with("slow"); });
    const Clock::time_point end = Clock::now() + delay.load() +
                                  delay_of_each.load() * static_cast<int>(requests.size()) +
                                  (slow ? delay_of_slow.load() : 0ms);
    for (auto now = Clock::now(); now < end && !over(limit); now = Clock::now())
      std::this_thread::sleep_until(std::min<Clock::time_point>(end, now + 1ms));
    if (throw_bad_alloc) throw std::bad_alloc();
    if (throw_other) throw std::runtime_error("answer");
    std::vector<Result<Bytes>> replies;
    for (const auto& request : requests) {
      const auto text = as_text(request);
      if (const int digit = digit_after('a', text)) {
        replies.emplace_back(fail(static_cast<ErrorCode>(digit), "answer says no"));
      } else if (reply_bytes > 0) {
        replies.emplace_back(Bytes(reply_bytes, std::byte{'r'}));
      } else {
        replies.emplace_back(Bytes(request.rbegin(), request.rend()));
      }
    }
    if (lose_a_reply) replies.pop_back();
    return replies;
  }

  /// answer() waits inside until release().
  void hold() {
    const std::lock_guard lock(mutex_);
    held_ = true;
  }
  void release() {
    const std::lock_guard lock(mutex_);
    held_ = false;
    changed_.notify_all();
  }
  /// Sizes of the batches begun so far.
  std::vector<std::size_t> batches() const {
    const std::lock_guard lock(mutex_);
    return batches_;
  }
  /// The seconds that the last batch may take, when it had begun.
  double allowed() const {
    const std::lock_guard lock(mutex_);
    return allowed_;
  }
  std::vector<std::string> seen() const {
    const std::lock_guard lock(mutex_);
    return seen_;
  }

  std::string parameters_text = "fake parameters";
  ProtocolId of = ProtocolId::kGoldberg;
  std::size_t most_queries = 9;
  std::size_t max_bytes = 1 << 20;
  std::size_t working_per_query = 0, reply_per_query = 0, per_pass = 0;
  std::string sample;           ///< what a sample begins with; empty: there is none
  std::size_t reply_bytes = 0;  ///< not 0: every reply is so long
  std::atomic<std::chrono::milliseconds> delay{0ms}, delay_of_each{0ms};
  std::atomic<std::chrono::milliseconds> delay_of_slow{0ms};  ///< of a pass with a request "slow..."
  std::function<void(std::string_view request)> on_admit;
  std::atomic<bool> throw_in_admit{false}, throw_bad_alloc{false}, throw_other{false}, lose_a_reply{false};

 private:
  /// The digit behind `letter` where the text begins so, otherwise 0.
  static int digit_after(char letter, std::string_view text) {
    return text.size() >= 2 && text[0] == letter && text[1] >= '1' && text[1] <= '9' ? text[1] - '0' : 0;
  }

  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  mutable double allowed_ = 0;
  mutable std::vector<std::size_t> batches_;
  mutable std::vector<std::string> seen_;
  bool held_ = false;
};

/// Keeps the events it is given.
class LogKeeper {
 public:
  LogSink sink() {
    return [this](const LogEvent& event) {
      const std::lock_guard lock(mutex_);
      events_.push_back(event);
    };
  }
  std::vector<LogEvent> of(const std::string& name) const {
    const std::lock_guard lock(mutex_);
    std::vector<LogEvent> found;
    std::copy_if(events_.begin(), events_.end(), std::back_inserter(found),
                 [&](const auto& event) { return event.event == name; });
    return found;
  }
  std::string all() const {
    const std::lock_guard lock(mutex_);
    std::string text;
    for (const auto& event : events_) text += to_json(event) + "\n";
    return text;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<LogEvent> events_;
};

/// Its requests of one query take little.
inline std::shared_ptr<FakeServer> of_many_queries() {
  auto fake = std::make_shared<FakeServer>();
  fake->most_queries = 1000;
  return fake;
}

/// The limit under which requests, replies and computing may take so many bytes; the rest is for connections.
inline std::size_t with_connections(std::size_t bytes, std::size_t small = 4096) {
  bytes += ByteBudget::kSmallOnes * ((24 << 10) + small);  // with two connections for each small request
  return bytes + bytes / 15 + 1;
}

/// A body as the server keeps one.
inline PageBuffer pages_of(std::string_view text) {
  PageBuffer pages;
  EXPECT_TRUE(pages.grow(text.size()));
  std::copy(text.begin(), text.end(), reinterpret_cast<char*>(pages.data()));
  return pages;
}

inline HttpServerOptions quick_options() {
  HttpServerOptions options;
  options.port = 0;
  options.batch_window = 1ms;
  options.drain_timeout = 5s;
  return options;
}

/// An HttpServer on a thread of its own, stopped on destruction.
class RunningServer {
 public:
  explicit RunningServer(const HttpServerOptions& options = quick_options(),
                         std::shared_ptr<FakeServer> protocol = std::make_shared<FakeServer>())
      : fake(std::move(protocol)) {
    auto created = HttpServer::create(fake, options, log.sink());
    if (!created) {
      ADD_FAILURE() << created.error().to_string();
      std::abort();
    }
    server_ = std::make_unique<HttpServer>(std::move(*created));
    thread_ = std::thread([this] {
      const auto result = server_->run();
      EXPECT_TRUE(result) << (result ? "" : result.error().to_string());
      ended_ = true;
    });
  }
  ~RunningServer() {
    fake->release();
    stop();
    join();
  }
  void stop() { server_->stop(); }
  bool ended() const { return ended_; }
  void join() {
    if (thread_.joinable()) thread_.join();
  }
  HttpServer& server() { return *server_; }
  std::uint16_t port() const { return server_->port(); }
  std::string url(const char* scheme = "http", const char* host = "127.0.0.1") const {
    return std::string(scheme) + "://" + host + ":" + std::to_string(port());
  }

  LogKeeper log;
  const std::shared_ptr<FakeServer> fake;

 private:
  std::unique_ptr<HttpServer> server_;
  std::atomic<bool> ended_{false};
  std::thread thread_;
};

/// A TCP socket that does what it is told, well-mannered or not.
class RawSocket {
 public:
  explicit RawSocket(int fd) : fd_(fd) {}
  /// From another address of this machine where `from` is given.
  static RawSocket connect_to(std::uint16_t port, const char* from = nullptr) {
    RawSocket out(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    if (from != nullptr) {
      EXPECT_EQ(::inet_pton(AF_INET, from, &address.sin_addr), 1);
      EXPECT_EQ(::bind(out.fd_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    }
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(out.fd_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    return out;
  }
  static RawSocket sending(std::uint16_t port, std::string_view text) {
    auto out = connect_to(port);
    out.send(text);
    return out;
  }
  RawSocket(RawSocket&& other) noexcept
      : fd_(std::exchange(other.fd_, -1)), unread_(std::move(other.unread_)) {}
  RawSocket& operator=(RawSocket&&) = delete;
  ~RawSocket() { close(); }
  int fd() const { return fd_; }

  void close() {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }
  void shut_write() { ::shutdown(fd_, SHUT_WR); }
  /// Closes with a reset.
  void reset() {
    const linger now{1, 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    close();
  }
  /// False when the peer has closed.
  bool send(std::string_view text) {
    while (!text.empty()) {
      const auto sent = ::send(fd_, text.data(), text.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      text.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }
  /// Something has come, or the end.
  bool readable_within(std::chrono::milliseconds timeout) {
    pollfd wait{fd_, POLLIN, 0};
    return ::poll(&wait, 1, static_cast<int>(timeout.count())) == 1;
  }
  /// Some bytes; empty at the end of the stream, on a reset, and after `timeout`.
  std::string receive_some(std::chrono::milliseconds timeout = kPatience) {
    if (!readable_within(timeout)) return {};
    char buffer[16384];
    const auto count = ::recv(fd_, buffer, sizeof buffer, 0);
    return count > 0 ? std::string(buffer, static_cast<std::size_t>(count)) : std::string();
  }
  /// Everything until the peer closes.
  std::string receive_all() {
    auto all = std::exchange(unread_, {});
    for (auto part = receive_some(); !part.empty(); part = receive_some()) all += part;
    return all;
  }
  /// One message with its Content-Length, of a reply or of a request.
  std::string receive_message() {
    for (;;) {
      const auto head = unread_.find("\r\n\r\n");
      if (head != std::string::npos) {
        const auto field = unread_.find("Content-Length: ");
        const auto length = field < head ? std::stoul(unread_.substr(field + 16)) : 0;
        if (unread_.size() >= head + 4 + length) {
          const auto message = unread_.substr(0, head + 4 + length);
          unread_.erase(0, message.size());
          return message;
        }
      }
      const auto part = receive_some();
      if (part.empty()) return std::exchange(unread_, {});
      unread_ += part;
    }
  }
  /// True when the peer closes within `timeout`.
  bool closed_within(std::chrono::milliseconds timeout = kPatience) {
    const auto deadline = Clock::now() + timeout;
    while (Clock::now() < deadline) {
      pollfd wait{fd_, POLLIN, 0};
      if (::poll(&wait, 1, 5) != 1) continue;
      char buffer[4096];
      if (::recv(fd_, buffer, sizeof buffer, 0) <= 0) return true;
    }
    return false;
  }

 private:
  int fd_;
  std::string unread_;
};

inline std::string query_text(const std::string& body) {
  return "POST /v1/query HTTP/1.1\r\nHost: x\r\nContent-Type: application/octet-stream\r\nContent-Length: " +
         std::to_string(body.size()) + "\r\n\r\n" + body;
}
inline std::string get_text(const std::string& path) {
  return "GET " + path + " HTTP/1.1\r\nHost: x\r\n\r\n";
}
inline std::string body_of(const std::string& message) {
  const auto at = message.find("\r\n\r\n");
  return at == std::string::npos ? "" : message.substr(at + 4);
}
inline bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}
/// "HTTP/1.1 404" and so on.
inline ::testing::AssertionResult is_status(const std::string& message, int status) {
  if (message.rfind("HTTP/1.1 " + std::to_string(status) + " ", 0) == 0) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "not a " << status << ": '" << message.substr(0, 400) << "'";
}

inline bool takes_connections(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const bool connected = ::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  ::close(fd);
  return connected;
}

/// What the page of metrics says of `name`. The connection that asks is a connection and a request, too.
inline double gauge(std::uint16_t port, const std::string& name) {
  auto socket = RawSocket::connect_to(port);
  socket.send(get_text("/metrics"));
  const auto page = socket.receive_message();
  const auto at = page.find("\n" + name + " ");
  EXPECT_NE(at, std::string::npos) << name << page;
  return at == std::string::npos ? -1 : std::stod(page.substr(at + name.size() + 2));
}

/// Listens on loopback and gives every connection to a script, each on its own thread.
class RawServer {
 public:
  using Script = std::function<void(RawSocket&)>;
  explicit RawServer(Script script)
      : script_(std::move(script)), fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    EXPECT_EQ(::bind(fd_, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(::listen(fd_, 64), 0);
    EXPECT_EQ(::getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &size), 0);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { accept_all(); });
  }
  ~RawServer() {
    stopping_ = true;
    ::shutdown(fd_, SHUT_RDWR);
    thread_.join();
    for (auto& thread : scripts_) thread.join();
    ::close(fd_);
  }
  int connections() const { return connections_; }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
  /// For scripts that sleep: until the test ends or `time` has passed.
  void doze(std::chrono::milliseconds time) const {
    const auto deadline = Clock::now() + time;
    while (!stopping_ && Clock::now() < deadline) std::this_thread::sleep_for(2ms);
  }

 private:
  void accept_all() {
    for (;;) {
      const int fd = ::accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC);
      if (fd < 0) return;
      ++connections_;
      scripts_.emplace_back([this, fd] {
        RawSocket socket(fd);
        script_(socket);
      });
    }
  }
  const Script script_;
  const int fd_;
  std::uint16_t port_ = 0;
  std::atomic<bool> stopping_{false};
  std::atomic<int> connections_{0};
  std::vector<std::thread> scripts_;
  std::thread thread_;
};

inline std::string raw_reply(const std::string& body, const std::string& type = "application/octet-stream") {
  return "HTTP/1.1 200 OK\r\nContent-Type: " + type + "\r\nContent-Length: " + std::to_string(body.size()) +
         "\r\n\r\n" + body;
}

/// A fresh certificate authority and a certificate of it for 127.0.0.1 and 127.0.0.3, as PEM files.
class Certificates {
 public:
  explicit Certificates(const char* authority_name = "pirx test authority") {
    EVP_PKEY* authority_key = authority_key_.get();
    EVP_PKEY* server_key = make_key();
    X509* authority =
        make(authority_name, authority_key, nullptr, authority_key, "critical,CA:TRUE", nullptr);
    X509* server = make("pirx test server", server_key, authority, authority_key, "CA:FALSE",
                        "IP:127.0.0.1,IP:127.0.0.3");
    write(ca_file, [&](FILE* out) { return PEM_write_X509(out, authority); });
    write(certificate_file, [&](FILE* out) { return PEM_write_X509(out, server); });
    write(key_file, [&](FILE* out) {
      return PEM_write_PrivateKey(out, server_key, nullptr, nullptr, 0, nullptr, nullptr);
    });
    EVP_PKEY* other_kind_key = EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519");
    write(other_kind_key_file, [&](FILE* out) {
      return PEM_write_PrivateKey(out, other_kind_key, nullptr, nullptr, 0, nullptr, nullptr);
    });
    EVP_PKEY_free(other_kind_key);
    write(locked_key_file, [&](FILE* out) {
      const unsigned char password[] = {'s', 'e', 'c', 'r', 'e', 't'};
      return PEM_write_PrivateKey(out, server_key, EVP_aes_256_cbc(), password, sizeof password, nullptr,
                                  nullptr);
    });
    X509_free(server);
    EVP_PKEY_free(server_key);
    authority_.reset(authority);
    issue("pirx test client", client_certificate_file, client_key_file);
  }

  /// A client's certificate of this authority, without a subject where the name is empty, and its key.
  void issue(const char* name, const std::string& certificate_to, const std::string& key_to) const {
    EVP_PKEY* key = make_key();
    X509* client = make(name, key, authority_.get(), authority_key_.get(), "CA:FALSE", nullptr);
    write(certificate_to, [&](FILE* out) { return PEM_write_X509(out, client); });
    write(key_to,
          [&](FILE* out) { return PEM_write_PrivateKey(out, key, nullptr, nullptr, 0, nullptr, nullptr); });
    X509_free(client);
    EVP_PKEY_free(key);
  }

 private:
  pirx::testing::TemporaryFolder folder_;

 public:
  const std::string ca_file = folder_ / "ca.pem", certificate_file = folder_ / "server.pem",
                    key_file = folder_ / "server.key", locked_key_file = folder_ / "locked.key",
                    other_kind_key_file = folder_ / "ed25519.key",
                    client_certificate_file = folder_ / "client.pem",
                    client_key_file = folder_ / "client.key";

 private:
  static EVP_PKEY* make_key() {  // the macro EVP_EC_gen casts away a const
    char curve[] = "P-256";
    return EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", curve);
  }
  static X509* make(const char* name, EVP_PKEY* key, X509* issuer, EVP_PKEY* issuer_key,
                    const char* constraints, const char* alternative) {
    static long serial = 1;
    X509* certificate = X509_new();
    X509_set_version(certificate, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(certificate), serial++);
    X509_gmtime_adj(X509_getm_notBefore(certificate), -3600);
    X509_gmtime_adj(X509_getm_notAfter(certificate), 3600);
    X509_set_pubkey(certificate, key);
    if (*name != 0) {
      X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), "CN", MBSTRING_ASC,
                                 reinterpret_cast<const unsigned char*>(name), -1, -1, 0);
    }
    X509_set_issuer_name(certificate, X509_get_subject_name(issuer != nullptr ? issuer : certificate));
    add(certificate, NID_basic_constraints, constraints);
    if (alternative != nullptr) add(certificate, NID_subject_alt_name, alternative);
    EXPECT_GT(X509_sign(certificate, issuer_key, EVP_sha256()), 0);
    return certificate;
  }
  static void add(X509* certificate, int id, const char* value) {
    X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, nullptr, id, value);
    ASSERT_NE(extension, nullptr);
    X509_add_ext(certificate, extension, -1);
    X509_EXTENSION_free(extension);
  }
  static void write(const std::string& path, const std::function<int(FILE*)>& body) {
    FILE* out = std::fopen(path.c_str(), "w");
    ASSERT_NE(out, nullptr);
    EXPECT_EQ(body(out), 1);
    std::fclose(out);
  }

  const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> authority_key_{make_key(), &EVP_PKEY_free};
  std::unique_ptr<X509, decltype(&X509_free)> authority_{nullptr, &X509_free};
};

}  // namespace pirx::http::testing
