// SPDX-License-Identifier: Apache-2.0
// Who may ask: bearer tokens, client certificates, and under which names clients take turns.
#include "pirx/http/tokens.h"

#include <gtest/gtest.h>
#include <openssl/ssl.h>

#include <csignal>
#include <fstream>

#include "http/http_support.h"
#include "pirx/base/sha256.h"

namespace pirx::http {
namespace {

using namespace testing;

constexpr char kAlice[] = "alice-s3cret-token", kBob[] = "bob-s3cret-token";

std::string line_of(const std::string& name, std::string_view token) {
  return name + " " + to_hex(sha256(as_bytes(token))) + "\n";
}

HttpServerOptions with_tokens() {
  auto options = quick_options();
  options.authenticate = *parse_tokens(line_of("alice", kAlice) + line_of("bob", kBob));
  return options;
}

std::string with_header(const std::string& request, const std::string& header) {
  const auto at = request.find("Host: x\r\n") + 9;
  return request.substr(0, at) + header + "\r\n" + request.substr(at);
}
std::string asked_by(const std::string& token, const std::string& request) {
  return with_header(request, "Authorization: Bearer " + token);
}

TEST(Tokens, FilesAreRead) {
  const auto known = parse_tokens("# who may ask\n\n" + line_of("alice", kAlice) + "bob " +
                                  to_hex(sha256(as_bytes(kBob))) + "\r\n" + line_of("x.y-z_1", "third"));
  ASSERT_TRUE(known) << known.error().to_string();
  EXPECT_EQ((*known)(kAlice), "alice");
  EXPECT_EQ((*known)(kBob), "bob");
  EXPECT_EQ((*known)("third"), "x.y-z_1");
  for (const std::string& token : {std::string(), std::string("alice"), kAlice + std::string("x"),
                                   std::string(kAlice, 5), to_hex(sha256(as_bytes(kAlice)))}) {
    EXPECT_EQ((*known)(token), std::nullopt) << token;
  }
}

/// A line that a shell wrote with a variable that is not set would let in whoever sends no token.
TEST(Tokens, TheEmptyTokenIsRefused) {
  for (const char* token : {"", "\n"}) {
    const auto known = parse_tokens(line_of("alice", kAlice) + line_of("bob", token));
    expect_error(known, ErrorCode::kDataLoss, "line 2: this is the digest of an empty token");
  }
}

/// A guess is as good as its token where a server compares a part of the digests only, say their first byte.
TEST(Tokens, EveryByteOfADigestCounts) {
  const auto digest = sha256(as_bytes(kAlice));
  for (std::size_t i = 0; i < digest.size(); ++i) {
    auto others = digest;
    others[i] ^= std::byte{1};
    const auto known = parse_tokens("other " + to_hex(others) + "\n");
    ASSERT_TRUE(known) << known.error().to_string();
    EXPECT_EQ((*known)(kAlice), std::nullopt) << "byte " << i << " is not compared";
  }
}

TEST(Tokens, BrokenFilesAreRefusedWithoutTheirWords) {
  const auto digest = to_hex(sha256(as_bytes("t0ken")));
  for (const auto& text :
       {std::string(), std::string("# nothing\n"), std::string("alice t0ken\n"), "alice  " + digest,
        "alice\t" + digest, "alice " + digest + " ", "alice " + digest.substr(2), "alice " + digest + "00",
        digest, " alice " + digest, "al/ice " + digest, std::string(65, 'a') + " " + digest,
        "alice " + digest + "\nalice " + std::string(64, '0'), "alice " + digest + "\nbob " + digest,
        std::string("\0\xff\x1b[31m", 7), "ok " + digest + "\nt0ken"}) {
    const auto tokens = parse_tokens(text);
    ASSERT_FALSE(tokens) << text;
    EXPECT_EQ(tokens.error().code(), ErrorCode::kDataLoss);
    EXPECT_FALSE(has(tokens.error().message(), "t0ken")) << tokens.error().message();
    EXPECT_FALSE(has(tokens.error().message(), digest)) << tokens.error().message();
  }
  EXPECT_EQ(load_tokens("/nowhere/tokens").error().code(), ErrorCode::kUnavailable);
  const pirx::testing::TemporaryFolder folder;
  std::ofstream(folder / "long") << std::string((1 << 20) + 1, '\n');
  EXPECT_EQ(load_tokens(folder / "long").error().code(), ErrorCode::kDataLoss);
  std::ofstream(folder / "good") << line_of("alice", kAlice);
  EXPECT_TRUE(load_tokens(folder / "good"));
}

TEST(Tokens, OpenTheServerAndNothingElseDoes) {
  RunningServer server(with_tokens());
  auto socket = RawSocket::connect_to(server.port());
  for (const char* token : {kAlice, kBob}) {
    socket.send(asked_by(token, query_text("abc")));
    EXPECT_EQ(body_of(socket.receive_message()), "cba");
    socket.send(asked_by(token, get_text("/v1/parameters")));
    EXPECT_TRUE(is_status(socket.receive_message(), 200));
  }
  socket.send(with_header(get_text("/v1/parameters"), std::string("authorization: bEARER ") + kAlice));
  EXPECT_TRUE(is_status(socket.receive_message(), 200));
  const std::string good = std::string("Authorization: Bearer ") + kAlice;
  for (const auto& header :
       {std::string("X: y"), std::string("Authorization: Bearer"), std::string("Authorization: Bearer wrong"),
        good + "x", std::string("Authorization: Basic ") + kAlice,
        "Authorization: Bearer  " + std::string(kAlice), std::string("Authorization: ") + kAlice,
        good + "\r\n" + good, std::string("Authorization: Bearer alice")}) {
    for (const char* path : {"/v1/parameters", "/v1/db/none/parameters"}) {
      socket.send(with_header(get_text(path), header));
      const auto refused = socket.receive_message();
      EXPECT_TRUE(is_status(refused, 401)) << header;
      EXPECT_TRUE(has(refused, "WWW-Authenticate: Bearer realm=\"pirx\"\r\n")) << refused;
      EXPECT_TRUE(has(refused, "Pirx-Error: Unauthenticated\r\n")) << refused;
    }
  }
  // Health is nobody's secret; a body without a token is not read.
  for (const char* path : {"/healthz", "/readyz", "/metrics"}) {
    socket.send(get_text(path));
    EXPECT_TRUE(is_status(socket.receive_message(), 200)) << path;
  }
  const auto asked = server.fake->seen().size();
  socket.send(query_text("abc"));
  EXPECT_TRUE(is_status(socket.receive_message(), 401));
  EXPECT_EQ(server.fake->seen().size(), asked);
  const auto log = server.log.all();
  for (const char* word : {kAlice, kBob, "alice", "bob"}) EXPECT_FALSE(has(log, word)) << log;
}

TEST(Tokens, TheClientSendsItsTokenAndNeverSaysIt) {
  RunningServer server(with_tokens());
  Endpoint endpoint{server.url()};
  const auto ask = [&] {
    return HttpTransport::create({endpoint})->query_all({bytes_of("abc")}, {}).at(0).reply;
  };
  EXPECT_EQ(ask().error().code(), ErrorCode::kUnauthenticated);
  endpoint.token = kAlice;
  ASSERT_TRUE(ask());
  EXPECT_TRUE(HttpTransport::create({endpoint})->parameters_all({}).at(0).reply);
  endpoint.token = "wr0ng";
  const auto refused = ask();
  expect_error(refused, ErrorCode::kUnauthenticated);
  EXPECT_FALSE(has(refused.error().message(), "wr0ng"));
  for (const std::string bad : {"two words", "line\nbreak", "line\r\nX: y", "\x7f", "\xc3\xa4"}) {
    endpoint.token = bad;
    const auto transport = HttpTransport::create({endpoint});
    expect_error(transport, ErrorCode::kInvalidArgument);
    EXPECT_FALSE(has(transport.error().message(), bad.substr(0, 4)));
  }
}

TEST(Tokens, TheirNamesTakeTurns) {
  auto options = with_tokens();
  options.max_queued_requests = 2;
  options.batch_max = 1;
  RunningServer server(options);
  server.fake->hold();
  std::vector<RawSocket> sockets;
  const auto send = [&](const char* token, const std::string& text) -> RawSocket& {
    sockets.push_back(RawSocket::connect_to(server.port()));
    sockets.back().send(asked_by(token, query_text(text)));
    return sockets.back();
  };
  sockets.reserve(4);
  send(kAlice, "first");
  ASSERT_TRUE(eventually([&] { return server.fake->batches().size() == 1; }));
  send(kAlice, "second");
  ASSERT_TRUE(eventually([&] { return gauge(server.port(), "pirx_queued_requests") == 1; }));
  send(kAlice, "third");
  ASSERT_TRUE(eventually([&] { return gauge(server.port(), "pirx_queued_requests") == 2; }));
  // From the same address, but in another name: it takes the place of alice's newest.
  send(kBob, "other");
  EXPECT_TRUE(is_status(sockets[2].receive_message(), 429));
  server.fake->release();
  for (const std::size_t i : {0u, 1u, 3u}) EXPECT_TRUE(is_status(sockets[i].receive_message(), 200)) << i;
}

TEST(Tokens, ConnectionsAreTheirsWhereverTheyComeFrom) {
  auto options = with_tokens();
  options.max_connections = 8;
  RunningServer server(options);
  std::vector<RawSocket> kept;
  const auto ask = [&](const char* token, const char* from) {
    auto socket = RawSocket::connect_to(server.port(), from);
    socket.send(asked_by(token, query_text("abc")));
    const auto answer = socket.receive_message();
    if (body_of(answer) == "cba") kept.push_back(std::move(socket));
    return answer;
  };
  for (const char* from : {"127.0.0.1", "127.0.0.2", "127.0.0.3", "127.0.0.4"}) {
    EXPECT_TRUE(is_status(ask(kAlice, from), 200)) << from;
  }
  const auto refused = ask(kAlice, "127.0.0.5");
  EXPECT_TRUE(is_status(refused, 429));
  EXPECT_TRUE(has(refused, "Connection: close")) << refused;
  EXPECT_TRUE(has(refused, "Retry-After: ")) << refused;
  EXPECT_TRUE(is_status(ask(kBob, "127.0.0.1"), 200));
  // Refusals of connections have a line of their own, whoever they were of.
  EXPECT_TRUE(server.log.of("refused").empty());
  EXPECT_EQ(server.log.of("connections_refused").size(), 1u);
  EXPECT_FALSE(has(server.log.all(), "alice"));
}

/// Connections with client certificates to a server of eight, each from another address.
class CertifiedConnections {
 public:
  explicit CertifiedConnections(const Certificates& files, const std::string& authorities) {
    auto options = quick_options();
    options.max_connections = 8;
    options.tls_certificate_file = files.certificate_file;
    options.tls_key_file = files.key_file;
    options.tls_client_ca_file = authorities;
    server_.emplace(options);
    std::signal(SIGPIPE, SIG_IGN);  // OpenSSL writes to connections that the server has ended
  }
  /// Whether the server takes one more from this client. It stays open.
  bool add(const std::string& certificate_file, const std::string& key_file) {
    const std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context(SSL_CTX_new(TLS_client_method()),
                                                                    &SSL_CTX_free);
    EXPECT_EQ(SSL_CTX_use_certificate_file(context.get(), certificate_file.c_str(), SSL_FILETYPE_PEM), 1);
    EXPECT_EQ(SSL_CTX_use_PrivateKey_file(context.get(), key_file.c_str(), SSL_FILETYPE_PEM), 1);
    auto socket = RawSocket::connect_to(server_->port(), ("127.0.0." + std::to_string(++last_)).c_str());
    const std::unique_ptr<SSL, decltype(&SSL_free)> tls(SSL_new(context.get()), &SSL_free);
    SSL_set_fd(tls.get(), socket.fd());
    const std::string request = get_text("/healthz");
    char answer[512];
    if (SSL_connect(tls.get()) != 1 ||
        SSL_write(tls.get(), request.data(), static_cast<int>(request.size())) <= 0 ||
        SSL_read(tls.get(), answer, sizeof answer) <= 0) {
      return false;
    }
    kept_.push_back(std::move(socket));
    return true;
  }

 private:
  std::optional<RunningServer> server_;
  int last_ = 0;
  std::vector<RawSocket> kept_;
};

TEST(ClientCertificates, ConnectionsAreTheirsWhereverTheyComeFrom) {
  const Certificates files;
  CertifiedConnections connections(files, files.ca_file);
  for (int i = 0; i < 6; ++i) {
    EXPECT_EQ(connections.add(files.client_certificate_file, files.client_key_file), i < 4) << i;
  }
}

/// Another client is another subject, the same subject of another authority, or another certificate where
/// there is no subject.
TEST(ClientCertificates, TellClientsApart) {
  const Certificates files, others("another authority");
  const pirx::testing::TemporaryFolder folder;
  const auto authorities = folder / "authorities.pem";
  std::ofstream(authorities) << std::ifstream(files.ca_file).rdbuf() << std::ifstream(others.ca_file).rdbuf();
  const auto issue = [&](const char* name, const std::string& file) {
    files.issue(name, folder / (file + ".pem"), folder / (file + ".key"));
  };
  issue("another client", "another");
  issue("", "nameless");
  issue("", "nameless too");
  {
    CertifiedConnections connections(files, authorities);
    for (int i = 0; i < 5; ++i) {
      EXPECT_EQ(connections.add(files.client_certificate_file, files.client_key_file), i < 4);
    }
    EXPECT_TRUE(connections.add(folder / "another.pem", folder / "another.key"));
    EXPECT_TRUE(connections.add(others.client_certificate_file, others.client_key_file));
  }
  CertifiedConnections connections(files, authorities);
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(connections.add(folder / "nameless.pem", folder / "nameless.key"), i < 4);
  }
  EXPECT_TRUE(connections.add(folder / "nameless too.pem", folder / "nameless too.key"));
}

TEST(ClientCertificates, LongChainsAreRefusedUnread) {
  const Certificates files;
  auto options = quick_options();
  options.tls_certificate_file = files.certificate_file;
  options.tls_key_file = files.key_file;
  options.tls_client_ca_file = files.ca_file;
  RunningServer server(options);
  std::signal(SIGPIPE, SIG_IGN);
  const std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context(SSL_CTX_new(TLS_client_method()),
                                                                  &SSL_CTX_free);
  ASSERT_EQ(
      SSL_CTX_use_certificate_file(context.get(), files.client_certificate_file.c_str(), SSL_FILETYPE_PEM),
      1);
  ASSERT_EQ(SSL_CTX_use_PrivateKey_file(context.get(), files.client_key_file.c_str(), SSL_FILETYPE_PEM), 1);
  const auto answered = [&] {
    auto socket = RawSocket::connect_to(server.port());
    const std::unique_ptr<SSL, decltype(&SSL_free)> tls(SSL_new(context.get()), &SSL_free);
    SSL_set_fd(tls.get(), socket.fd());
    const std::string request = get_text("/healthz");
    char answer[512];
    return SSL_connect(tls.get()) == 1 &&
           SSL_write(tls.get(), request.data(), static_cast<int>(request.size())) > 0 &&
           SSL_read(tls.get(), answer, sizeof answer) > 0;
  };
  for (int certificates = 1; certificates <= 5; ++certificates) {
    EXPECT_EQ(answered(), certificates <= 4) << certificates;
    ASSERT_EQ(SSL_CTX_add1_chain_cert(context.get(), SSL_CTX_get0_certificate(context.get())), 1);
  }
}

TEST(ClientCertificates, OpenTheServerAndNothingElseDoes) {
  const Certificates files, others;
  auto options = quick_options();
  options.tls_certificate_file = files.certificate_file;
  options.tls_key_file = files.key_file;
  options.tls_client_ca_file = files.ca_file;
  for (const bool old : {false, true}) {
    options.tls_allow_1_2 = old;
    RunningServer server(options);
    Endpoint endpoint{server.url("https"), files.ca_file};
    const auto ask = [&] {
      return HttpTransport::create({endpoint})->query_all({bytes_of("abc")}, {}).at(0).reply;
    };
    const auto none = ask();
    expect_error(none, ErrorCode::kUnauthenticated);
    endpoint.certificate_file = others.client_certificate_file;
    endpoint.key_file = others.client_key_file;
    const auto strange = ask();
    expect_error(strange, ErrorCode::kUnauthenticated);
    EXPECT_TRUE(server.fake->seen().empty());
    endpoint.certificate_file = files.client_certificate_file;
    endpoint.key_file = files.client_key_file;
    const auto reply = ask();
    ASSERT_TRUE(reply) << reply.error().to_string();
    EXPECT_EQ(text_of(*reply), "cba");
  }
}

TEST(ClientCertificates, FilesThatDoNotDoAreRefused) {
  const Certificates files;
  const auto server_error = [&](auto change) {
    auto options = quick_options();
    options.tls_certificate_file = files.certificate_file;
    options.tls_key_file = files.key_file;
    change(options);
    const auto server = HttpServer::create(std::make_shared<FakeServer>(), options, {});
    return server ? ErrorCode::kInternal : server.error().code();
  };
  EXPECT_EQ(server_error([&](auto& o) { o.tls_client_ca_file = "/nowhere"; }), ErrorCode::kUnauthenticated);
  EXPECT_EQ(server_error([&](auto& o) { o.tls_client_ca_file = files.key_file; }),
            ErrorCode::kUnauthenticated);
  EXPECT_EQ(server_error([&](auto& o) {
              o.tls_client_ca_file = files.ca_file;
              o.tls_certificate_file = o.tls_key_file = "";
            }),
            ErrorCode::kInvalidArgument);
  const auto client_refused = [&](const std::string& certificate, const std::string& key) {
    return !HttpTransport::create({{"https://127.0.0.1:1", files.ca_file, false, "", certificate, key}});
  };
  EXPECT_TRUE(client_refused(files.client_certificate_file, ""));
  EXPECT_TRUE(client_refused("", files.client_key_file));
  EXPECT_TRUE(client_refused("/nowhere", files.client_key_file));
  EXPECT_FALSE(client_refused(files.client_certificate_file, files.client_key_file));
}

}  // namespace
}  // namespace pirx::http
