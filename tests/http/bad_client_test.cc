// SPDX-License-Identifier: Apache-2.0
// A server among bad clients, played on raw sockets: whatever they do, they get a typed refusal or the end of
// their connection, good clients are answered, and afterwards nothing of them is left: no connection, no
// request, no byte. What one request or reply can be wrong about is http_server_test's and tls_test's, and
// queries are those of bad_query_test in tests/client; here bad clients come in crowds, or go on.
#include <gtest/gtest.h>
#include <openssl/ssl.h>

#include <csignal>
#include <optional>

#include "http/http_support.h"

namespace pirx::http {
namespace {

using namespace testing;

constexpr int kCrowd = 8;  // of each kind

/// What the metrics say of `name`; nothing when the connection that asks was cut, as limits here are short.
std::optional<double> metric(std::uint16_t port, const std::string& name) {
  const auto page = RawSocket::sending(port, get_text("/metrics")).receive_message();
  const auto at = page.find("\n" + name + " ");
  if (at == std::string::npos) return std::nullopt;
  return std::stod(page.substr(at + name.size() + 2));
}

/// Waits until the connection that asks is all there is.
::testing::AssertionResult nothing_is_left(std::uint16_t port) {
  for (const auto& [name, least] : {std::pair("pirx_connections", 1),
                                    {"pirx_in_flight_requests", 1},
                                    {"pirx_queued_requests", 0},
                                    {"pirx_in_flight_bytes", 0}}) {
    std::optional<double> value;
    if (!eventually([&] { return (value = metric(port, name)) == least; })) {
      return ::testing::AssertionFailure() << name << " stays at " << value.value_or(-1);
    }
  }
  return ::testing::AssertionSuccess();
}

std::string ask(std::uint16_t port, const std::string& text) {
  return RawSocket::sending(port, text).receive_message();
}

std::string query_head(std::size_t length) {
  return "POST /v1/query HTTP/1.1\r\nHost: x\r\nContent-Type: application/octet-stream\r\nContent-Length: " +
         std::to_string(length) + "\r\n\r\n";
}

const std::string kHeaderPart = "GET /healthz HTTP/1.1\r\nX: ";
const std::string kBodyPart = query_head(100'000) + "x";
const std::string kDeaf = query_text("deaf");  // to a server whose replies are longer than sockets hold

/// kCrowd connections for each of the texts, which they have sent.
std::vector<RawSocket> crowd_of(std::uint16_t port, const std::vector<std::string>& texts) {
  std::vector<RawSocket> crowd;
  for (int i = 0; i < kCrowd; ++i) {
    for (const auto& text : texts) {
      crowd.push_back(RawSocket::connect_to(port));
      crowd.back().send(text);
    }
  }
  return crowd;
}

HttpServerOptions patient_options() {
  auto options = quick_options();
  options.header_timeout = options.body_timeout = options.write_timeout = options.idle_timeout = 10min;
  return options;
}

std::shared_ptr<FakeServer> long_replies() {
  auto fake = std::make_shared<FakeServer>();
  fake->reply_bytes = 16 << 20;  // beyond what the sockets buffer
  return fake;
}

TEST(BadClient, SlowOnesKeepNobodyFromAnAnswerAndLeaveNothing) {
  for (const int io_threads : {1, 2}) {
    auto options = patient_options();
    options.io_threads = io_threads;
    RunningServer server(options, long_replies());
    auto crowd = crowd_of(server.port(), {kHeaderPart, kBodyPart, kDeaf});
    // All are there and stay there, as nothing is over for ten minutes.
    ASSERT_TRUE(
        eventually([&] { return gauge(server.port(), "pirx_in_flight_requests") == 2 * kCrowd + 1; }));
    auto good = RawSocket::sending(server.port(), query_text("abc"));
    EXPECT_TRUE(is_status(good.receive_some(), 200));
    EXPECT_EQ(ask(server.port(), get_text("/readyz")).substr(0, 12), "HTTP/1.1 200");
    good.close();
    EXPECT_GE(metric(server.port(), "pirx_connections"), 3 * kCrowd + 1);
    for (auto& socket : crowd) socket.reset();
    EXPECT_TRUE(nothing_is_left(server.port()));
  }
}

TEST(BadClient, SlowOnesAreCutByTheLimitsAndLeaveNothing) {
  auto options = patient_options();
  options.header_timeout = options.body_timeout = options.write_timeout = 200ms;
  RunningServer server(options, long_replies());
  auto crowd = crowd_of(server.port(), {kHeaderPart, kBodyPart, kDeaf});
  // The headers and bodies drip on; that buys no time.
  const auto all_cut = [&] {
    bool open = false;
    for (auto& socket : crowd) open |= socket.send("x");
    return !open;
  };
  EXPECT_TRUE(eventually(all_cut));
  EXPECT_TRUE(nothing_is_left(server.port()));
  EXPECT_GE(server.log.of("timeout").size(), 2u * kCrowd);
}

TEST(BadClient, BodiesThatDoNotComeHoldNoMemory) {
  auto fake = std::make_shared<FakeServer>();
  fake->max_bytes = 16 << 20;
  RunningServer server(patient_options(), fake);
  std::vector<RawSocket> crowd;
  for (int i = 0; i < kCrowd; ++i) {
    crowd.push_back(RawSocket::connect_to(server.port()));
    crowd.back().send(query_head(fake->max_bytes) + std::string(1000, 'x'));
  }
  ASSERT_TRUE(eventually([&] { return metric(server.port(), "pirx_in_flight_requests") == kCrowd + 1; }));
  EXPECT_LE(metric(server.port(), "pirx_in_flight_bytes"), kCrowd * 64 * 1024);
  // They end in the middle in every way a stream can end.
  for (std::size_t i = 0; i < crowd.size(); ++i) {
    if (i % 3 == 0) crowd[i].shut_write();
    if (i % 3 == 1) crowd[i].close();
    if (i % 3 == 2) crowd[i].reset();
  }
  EXPECT_TRUE(nothing_is_left(server.port()));
  EXPECT_TRUE(fake->seen().empty());
}

TEST(BadClient, GarbageBehindAQueryNeitherStopsItsAnswerNorIsKept) {
  RunningServer server(patient_options());
  server.fake->hold();
  auto socket = RawSocket::sending(server.port(), query_text("abc"));
  ASSERT_TRUE(eventually([&] { return server.fake->batches().size() == 1; }));
  // More than server and sockets hold: the sender is stopped, not believed.
  std::atomic<bool> cut{false};
  std::thread flood([&] {
    const std::string garbage(1 << 16, 'g');
    while (socket.send(garbage)) {
    }
    cut = true;
  });
  std::this_thread::sleep_for(50ms);
  EXPECT_FALSE(cut);
  EXPECT_EQ(metric(server.port(), "pirx_in_flight_bytes"), PageBuffer::taken(3));
  server.fake->release();
  const auto answer = socket.receive_message();
  EXPECT_EQ(body_of(answer).substr(0, 3), "cba") << answer;
  flood.join();  // by the end of the connection
  EXPECT_TRUE(nothing_is_left(server.port()));
  EXPECT_EQ(server.fake->seen(), std::vector<std::string>{"abc"});
}

TEST(BadClient, GarbageIsNeverTakenForARequestBehindIt) {
  RunningServer server;
  // Two lengths, or a length and a transfer coding: whoever reads the one sees another request than who
  // reads the other. None is answered but by a refusal, and nothing behind it is read as a request.
  const std::string post = "POST /v1/query HTTP/1.1\r\nHost: x\r\nContent-Type: application/octet-stream\r\n";
  const std::string hidden = get_text("/healthz");
  for (const std::string& fields :
       {std::string("Content-Length: 3\r\nTransfer-Encoding: chunked\r\n"),
        std::string("Transfer-Encoding: chunked\r\nContent-Length: 3\r\n"),
        std::string("Transfer-Encoding: identity\r\n"), std::string("Transfer-Encoding: \x0b chunked\r\n"),
        std::string("Content-Length: 3\r\nContent-Length: 40\r\n"), std::string("Content-Length: 3, 40\r\n"),
        std::string("Content-Length: +3\r\n"), std::string("Content-Length : 3\r\n"),
        std::string("Content-Length: 3\rX: y\r\n"), std::string("X: y\0z\r\nContent-Length: 3\r\n", 27),
        std::string("\x80: y\r\nContent-Length: 3\r\n"), std::string("X y: z\r\nContent-Length: 3\r\n"),
        std::string("Host: y\r\nContent-Length: 3\r\n")}) {
    const auto all =
        RawSocket::sending(server.port(), post + fields + "\r\n" + "0\r\n\r\n" + hidden).receive_all();
    EXPECT_TRUE(is_status(all, 400) || is_status(all, 411)) << fields << all;
    EXPECT_TRUE(has(all, "\r\nPirx-Error: InvalidArgument\r\n")) << fields << all;
    EXPECT_EQ(all.rfind("\r\nConnection: "), all.find("\r\nConnection: "))
        << "a second answer to " << fields << all;
  }
  EXPECT_TRUE(server.fake->seen().empty());
  EXPECT_TRUE(nothing_is_left(server.port()));
}

TEST(BadClient, AbsurdHeadersAreRefusedByTheirLengthAlone) {
  RunningServer server(patient_options());
  const std::string end = "\r\nHost: x\r\n\r\n";
  const std::string endless(500'000, 'A');
  for (const std::string& text :
       {endless, endless + " / HTTP/1.1" + end, "GET " + endless, "GET / HTTP/1.1\r\n" + endless,
        "GET / HTTP/1.1\r\nHost: " + endless, "GET / HTTP/1.1\r\n" + endless + ": x" + end}) {
    const auto answer = RawSocket::sending(server.port(), text).receive_all();
    EXPECT_TRUE(is_status(answer, 431) || is_status(answer, 400)) << text.substr(0, 40);
  }
  EXPECT_TRUE(nothing_is_left(server.port()));
  EXPECT_TRUE(is_status(ask(server.port(), query_text("abc")), 200));
}

TEST(BadClient, SlowOnesDoNotHoldAStopBeyondTheirLimits) {
  auto options = patient_options();
  options.body_timeout = 500ms;
  options.drain_timeout = 10min;  // the test's patience is shorter
  RunningServer server(options);
  server.fake->hold();
  auto in_flight = RawSocket::sending(server.port(), query_text("abc"));
  ASSERT_TRUE(eventually([&] { return server.fake->batches().size() == 1; }));
  const auto crowd = crowd_of(server.port(), {kHeaderPart, kBodyPart});
  // Each body has begun, or is over already where this thread slept.
  ASSERT_TRUE(eventually([&] {
    const double begun = metric(server.port(), "pirx_in_flight_requests").value_or(0) - 2;
    return begun + static_cast<double>(server.log.of("timeout").size()) >= kCrowd;
  }));
  server.stop();
  ASSERT_TRUE(eventually([&] { return !takes_connections(server.port()); }));
  server.fake->release();
  EXPECT_EQ(body_of(in_flight.receive_message()), "cba");
  EXPECT_TRUE(eventually([&] { return server.ended(); }));
  const auto stop = server.log.of("stop");
  ASSERT_EQ(stop.size(), 1u);
  EXPECT_EQ(stop[0].numbers.at(0).second, 0);  // abandoned: each was answered, or cut before the end
}

// --- TLS

/// A client's end of TLS on a raw socket, which does not look at certificates.
class TlsSocket {
 public:
  TlsSocket(std::uint16_t port, int version)
      : socket_(RawSocket::connect_to(port)), context_(SSL_CTX_new(TLS_client_method())) {
    SSL_CTX_set_max_proto_version(context_, version);
    tls_ = SSL_new(context_);
    SSL_set_fd(tls_, socket_.fd());
    SSL_set_mode(tls_, SSL_MODE_AUTO_RETRY);
    open_ = SSL_connect(tls_) == 1;
  }
  TlsSocket(const TlsSocket&) = delete;
  TlsSocket& operator=(const TlsSocket&) = delete;
  ~TlsSocket() {
    SSL_free(tls_);
    SSL_CTX_free(context_);
  }
  bool open() const { return open_; }
  SSL* get() { return tls_; }
  bool send(const std::string& text) {
    return SSL_write(tls_, text.data(), static_cast<int>(text.size())) == static_cast<int>(text.size());
  }
  /// So many bytes at least, or what came before the end.
  std::string receive(std::size_t least) {
    std::string all;
    char buffer[4096];
    while (all.size() < least) {
      const int count = SSL_read(tls_, buffer, sizeof buffer);
      if (count <= 0) break;
      all.append(buffer, static_cast<std::size_t>(count));
    }
    return all;
  }

 private:
  RawSocket socket_;
  SSL_CTX* context_;
  SSL* tls_ = nullptr;
  bool open_ = false;
};

class BadTlsClient : public ::testing::Test {
 protected:
  /// OpenSSL writes to a connection that the server may have ended.
  static void SetUpTestSuite() { std::signal(SIGPIPE, SIG_IGN); }
  static HttpServerOptions options(bool allow_1_2) {
    auto options = patient_options();
    options.tls_certificate_file = certificates().certificate_file;
    options.tls_key_file = certificates().key_file;
    options.tls_allow_1_2 = allow_1_2;
    return options;
  }
  static const Certificates& certificates() {
    static const Certificates files;
    return files;
  }
  static Result<Bytes> good_answer(const RunningServer& server) {
    PIRX_ASSIGN(auto transport, HttpTransport::create({{server.url("https"), certificates().ca_file}}));
    return transport.query_all({bytes_of("abc")}, {.deadline = kPatience}).at(0).reply;
  }
  static void expect_healthy(const RunningServer& server) {
    const auto reply = good_answer(server);
    ASSERT_TRUE(reply) << reply.error().to_string();
    EXPECT_EQ(text_of(*reply), "cba");
  }
};

TEST_F(BadTlsClient, RenegotiationIsRefused) {
  RunningServer server(options(true));
  for (int i = 0; i < 3; ++i) {
    TlsSocket client(server.port(), TLS1_2_VERSION);
    ASSERT_TRUE(client.open());
    ASSERT_TRUE(client.send(query_text("one")));
    const auto reply = client.receive(1);
    ASSERT_TRUE(is_status(reply, 200));
    ASSERT_EQ(SSL_renegotiate(client.get()), 1);
    EXPECT_NE(SSL_do_handshake(client.get()), 1);
  }
  expect_healthy(server);
}

TEST_F(BadTlsClient, NewKeysWithoutEndAreEndured) {
  RunningServer server(options(false));
  TlsSocket client(server.port(), TLS1_3_VERSION);
  ASSERT_TRUE(client.open());
  // Each asks the server for a new key of its own in return. It may give them, or end the connection.
  for (int i = 0; i < 2000; ++i) {
    if (SSL_key_update(client.get(), SSL_KEY_UPDATE_REQUESTED) != 1 || SSL_do_handshake(client.get()) != 1)
      break;
  }
  expect_healthy(server);
}

TEST_F(BadTlsClient, HandshakesThatBreakOffLeaveNothing) {
  RunningServer server(options(false));
  const Certificates others;
  for (int i = 0; i < 8; ++i) {
    // A client that does not trust the server says so in the middle of the handshake.
    auto transport = HttpTransport::create({{server.url("https"), others.ca_file}});
    ASSERT_TRUE(transport);
    const auto reply = transport->query_all({bytes_of("abc")}, {.deadline = kPatience}).at(0).reply;
    expect_error(reply, ErrorCode::kUnauthenticated);
    TlsSocket old(server.port(), TLS1_2_VERSION);
    EXPECT_FALSE(old.open());
    auto half = RawSocket::sending(server.port(), std::string("\x16\x03\x01\x02\x00\x01", 6));
    half.reset();
    // One record that claims more than TLS allows, and one that is an alert.
    for (const auto& record : {std::string("\x17\x03\x03\xff\xff", 5) + std::string(70'000, 'x'),
                               std::string("\x15\x03\x03\x00\x02\x02\x28", 7)}) {
      auto socket = RawSocket::sending(server.port(), record);
      EXPECT_TRUE(socket.closed_within());
    }
  }
  EXPECT_TRUE(server.fake->seen().empty());
  expect_healthy(server);
  server.stop();
  EXPECT_TRUE(eventually([&] { return server.ended(); }));  // no session is left behind that would hold it
}

}  // namespace
}  // namespace pirx::http
