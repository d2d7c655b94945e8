// SPDX-License-Identifier: Apache-2.0
// TLS between the real client and the real server: who is trusted, which versions, which files are refused.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <malloc.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <sys/stat.h>

#include <csignal>

#include "http/http_support.h"
#include "service/http/tls_messages.h"
#include "support/forks.h"

namespace {
std::string system_anchors;  // where the system keeps its trust anchors; empty: where it does
}

/// Stands before OpenSSL's function of this name, by which libcurl reads CURLOPT_CAPATH.
extern "C" int X509_STORE_load_path(X509_STORE* store, const char* path) {
  using Function = int (*)(X509_STORE*, const char*);
  static const auto original = reinterpret_cast<Function>(::dlsym(RTLD_NEXT, "X509_STORE_load_path"));
  return original(store, system_anchors.empty() ? path : system_anchors.c_str());
}

namespace pirx::http {
namespace {

using namespace testing;
using namespace std::string_literals;

const Certificates& certificates() {
  static const Certificates files;
  return files;
}

HttpServerOptions tls_options() {
  auto options = quick_options();
  options.tls_certificate_file = certificates().certificate_file;
  options.tls_key_file = certificates().key_file;
  return options;
}

Result<Bytes> ask(const Endpoint& endpoint, const std::string& request) {
  auto transport = HttpTransport::create({endpoint});
  if (!transport) return tl::unexpected(transport.error());
  return transport->query_all({bytes_of(request)}, {}).at(0).reply;
}

TEST(Tls, RoundTrips) {
  RunningServer server(tls_options());
  auto transport = HttpTransport::create({{server.url("https"), certificates().ca_file}});
  ASSERT_TRUE(transport);
  for (const std::size_t size : {std::size_t{1}, std::size_t{5000}, std::size_t{1} << 20}) {
    const auto outcome = transport->query_all({Bytes(size, std::byte{7})}, {}).at(0);
    ASSERT_TRUE(outcome.reply) << outcome.reply.error().to_string();
    EXPECT_EQ(*outcome.reply, Bytes(size, std::byte{7}));
  }
  const auto parameters = transport->parameters_all({}).at(0);
  ASSERT_TRUE(parameters.reply);
  EXPECT_EQ(text_of(*parameters.reply), "fake parameters");
}

TEST(Tls, AnotherAuthorityIsNotTrusted) {
  RunningServer server(tls_options());
  const Certificates others;
  const auto reply = ask({server.url("https"), others.ca_file}, "abc");
  expect_error(reply, ErrorCode::kUnauthenticated);
  EXPECT_TRUE(server.fake->seen().empty());
}

TEST(Tls, ACaFileThatNeverEndsIsNotOpened) {
  const pirx::testing::TemporaryFolder folder;
  const auto pipe = folder / "ca.pem";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  expect_error(HttpTransport::create({{"https://127.0.0.1:1", pipe.native()}}), ErrorCode::kInvalidArgument,
               "not a regular file");
  const auto huge = folder / "huge.pem";
  pirx::testing::write_file(huge, {});
  std::filesystem::resize_file(huge, std::uint64_t{1} << 40);  // takes no room
  expect_error(HttpTransport::create({{"https://127.0.0.1:1", huge.native()}}), ErrorCode::kInvalidArgument,
               "longer than the 524288 bytes");
}

/// What the file of the test's authority holds.
std::string authority_file() {
  const auto bytes = pirx::testing::read_file(certificates().ca_file);
  return std::string(as_text(bytes));
}

TEST(Tls, NoPassphraseIsAskedForACaFile) {
  const pirx::testing::TemporaryFolder folder;
  const auto path = folder / "ca.pem";
  // OpenSSL reads both alike: it skips what follows a zero byte in a line.
  for (const auto& header : {"Proc-Type: 4,ENCRYPTED\n"s, "Proc\0x\n-Type: 4,ENC\0x\nRYPTED\n"s}) {
    auto text = authority_file();
    text.insert(text.find('\n') + 1, header + "DEK-Info: AES-256-CBC,00112233445566778899AABBCCDDEEFF\n\n");
    pirx::testing::write_file(path, as_bytes(text));
    expect_error(HttpTransport::create({{"https://127.0.0.1:1", path.native()}}), ErrorCode::kInvalidArgument,
                 "encrypted");
  }
}

TEST(Tls, ACaFileWithoutACertificateIsRefused) {
  const pirx::testing::TemporaryFolder folder;
  const auto path = folder / "ca.pem";
  for (const std::string& text : {""s, "rubbish"s, "-----BEGIN CERTIFICATE-----\nrubbish\n"s}) {
    pirx::testing::write_file(path, as_bytes(text));
    expect_error(HttpTransport::create({{"https://127.0.0.1:1", path.native()}}), ErrorCode::kInvalidArgument,
                 "has no certificate in PEM");
  }
  expect_error(HttpTransport::create({{"https://127.0.0.1:1", certificates().key_file}}),
               ErrorCode::kInvalidArgument, "has no certificate in PEM");
}

TEST(Tls, ACaFileHasNoMoreCertificatesThanHandshakesHaveTimeFor) {
  const pirx::testing::TemporaryFolder folder;
  const auto path = folder / "ca.pem";
  std::string text = authority_file();
  for (int more = 0; more < 999; ++more) text += "-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n";
  pirx::testing::write_file(path, as_bytes(text));
  EXPECT_TRUE(pirx::testing::good(HttpTransport::create({{"https://127.0.0.1:1", path.native()}})));
  pirx::testing::write_file(path, as_bytes(text + authority_file()));
  expect_error(HttpTransport::create({{"https://127.0.0.1:1", path.native()}}), ErrorCode::kInvalidArgument,
               "more than the 1000 certificates");
}

TEST(Tls, CaFilesThatSayTheSameAreKeptOnce) {
  const pirx::testing::TemporaryFolder folder;
  const auto path = folder / "ca.pem", other = folder / "other.pem";
  for (const auto& file : {path, other}) {
    pirx::testing::write_file(file, as_bytes(std::string(500'000, '#') + "\n" + authority_file()));
  }
  std::vector<Endpoint> endpoints;
  for (int server = 1; server <= 100; ++server) {
    endpoints.push_back(
        {"https://127.0.0.1:" + std::to_string(server), server % 2 == 0 ? path.native() : other.native()});
  }
  const auto taken = [] { return ::mallinfo2().uordblks + ::mallinfo2().hblkhd; };
  const auto before = taken();
  const auto transport = HttpTransport::create(endpoints);
  ASSERT_TRUE(pirx::testing::good(transport));
  EXPECT_LT(taken(), before + 10'000'000);
}

TEST(Tls, TheSystemsAnchorsDoNotKnowTheTestAuthority) {
  RunningServer server(tls_options());
  const auto reply = ask({server.url("https"), ""}, "abc");
  expect_error(reply, ErrorCode::kUnauthenticated);
}

TEST(Tls, AnAnchorOfTheSystemDoesNotCountBesideACaFile) {
  const pirx::testing::TemporaryFolder folder;
  FILE* file = std::fopen(certificates().ca_file.c_str(), "r");
  X509* authority = PEM_read_X509(file, nullptr, nullptr, nullptr);
  std::fclose(file);
  char name[32];
  std::snprintf(name, sizeof name, "%08lx.0", X509_subject_name_hash(authority));
  X509_free(authority);
  std::filesystem::copy(certificates().ca_file, folder / name);
  system_anchors = folder.path().string();

  RunningServer server(tls_options());
  // An anchor of another name: where names are alike, OpenSSL looks at the file's only.
  const Certificates others;
  const auto by_system = ask({server.url("https"), ""}, "abc");
  const auto by_file = ask({server.url("https"), others.certificate_file}, "def");
  system_anchors.clear();
  ASSERT_TRUE(by_system) << by_system.error().to_string();  // so the system does know the authority
  expect_error(by_file, ErrorCode::kUnauthenticated);
  EXPECT_EQ(server.fake->seen(), std::vector<std::string>{"abc"});
}

TEST(Tls, TheNameMustMatch) {
  RunningServer server(tls_options());
  const auto reply = ask({server.url("https", "localhost"), certificates().ca_file}, "abc");
  expect_error(reply, ErrorCode::kUnauthenticated);
  EXPECT_TRUE(server.fake->seen().empty());
}

TEST(Tls, ANameThatLeadsToAnotherServersPlaceTakesNothingFromIt) {
  auto options = tls_options();
  options.address = "0.0.0.0";
  RunningServer server(options);
  // The certificate does not name 127.0.0.2, which is asked first.
  auto transport = HttpTransport::create({{server.url("https", "127.0.0.2"), certificates().ca_file},
                                          {server.url("https"), certificates().ca_file}});
  ASSERT_TRUE(transport);
  for (int round = 0; round < 2; ++round) {
    const auto outcomes = transport->query_all({bytes_of("one"), bytes_of("two")}, {});
    expect_error(outcomes[0].reply, ErrorCode::kUnauthenticated);
    EXPECT_TRUE(outcomes[1].reply) << outcomes[1].reply.error().to_string();
  }
  EXPECT_EQ(server.fake->seen(), (std::vector<std::string>{"two", "two"}));
}

TEST(Tls, OneServerUnderTwoNamesOfItsCertificateGetsNoSecondShare) {
  auto options = tls_options();
  options.address = "0.0.0.0";
  RunningServer server(options);
  auto transport = HttpTransport::create({{server.url("https"), certificates().ca_file},
                                          {server.url("https", "127.0.0.3"), certificates().ca_file}});
  ASSERT_TRUE(transport);
  for (std::size_t round = 1; round <= 3; ++round) {
    const auto outcomes = transport->query_all({bytes_of("one"), bytes_of("two")}, {});
    EXPECT_EQ(server.fake->seen(), std::vector<std::string>(round, server.fake->seen().at(0)));
    ASSERT_NE(outcomes[0].reply.has_value(), outcomes[1].reply.has_value());
    const auto& refused = outcomes[outcomes[0].reply ? 1 : 0].reply.error();
    EXPECT_EQ(refused.code(), ErrorCode::kInvalidArgument) << refused.to_string();
    EXPECT_TRUE(has(refused.message(), "the same address and port")) << refused.to_string();
  }
  // A round that asks only the other one finds the place taken, too, until the connections are closed.
  const bool first = server.fake->seen().at(0) == "one";
  const std::vector<Bytes> other{first ? Bytes() : bytes_of("one"), first ? bytes_of("two") : Bytes()};
  EXPECT_FALSE(transport->query_all(other, {}).at(first ? 1 : 0).reply);
  transport->close();
  EXPECT_TRUE(transport->query_all(other, {}).at(first ? 1 : 0).reply);
}

TEST(Tls, PlaintextClientAgainstTlsAndTheOtherWayAround) {
  RunningServer secure(tls_options());
  EXPECT_FALSE(ask({secure.url("http"), ""}, "abc"));
  RunningServer plain;
  const auto reply = ask({plain.url("https"), certificates().ca_file}, "abc");
  expect_error(reply, ErrorCode::kUnauthenticated);
}

/// The version that a client limited to `highest` and these groups gets, 0 for none.
int negotiated(std::uint16_t port, int highest, std::string groups = "X25519:P-256") {
  auto socket = RawSocket::connect_to(port);
  SSL_CTX* context = SSL_CTX_new(TLS_client_method());
  SSL_CTX_set_max_proto_version(context, highest);
  SSL_CTX_set1_groups_list(context, groups.data());
  SSL* tls = SSL_new(context);
  SSL_set_fd(tls, socket.fd());
  const int version = SSL_connect(tls) == 1 ? SSL_version(tls) : 0;
  SSL_free(tls);
  SSL_CTX_free(context);
  return version;
}

TEST(Tls, Version12OnlyWhenAllowed) {
  auto options = tls_options();
  {
    RunningServer server(options);
    EXPECT_EQ(negotiated(server.port(), TLS1_3_VERSION), TLS1_3_VERSION);
    EXPECT_EQ(negotiated(server.port(), TLS1_2_VERSION), 0);
  }
  options.tls_allow_1_2 = true;
  RunningServer server(options);
  EXPECT_EQ(negotiated(server.port(), TLS1_3_VERSION), TLS1_3_VERSION);
  EXPECT_EQ(negotiated(server.port(), TLS1_2_VERSION), TLS1_2_VERSION);
}

TEST(Tls, GroupsThatCostTheServerMoreThanTheClientAreRefused) {
  RunningServer server(tls_options());
  for (const char* groups : {"X25519", "P-256", "P-384", "X448:P-256"}) {  // the last by a HelloRetryRequest
    EXPECT_EQ(negotiated(server.port(), TLS1_3_VERSION, groups), TLS1_3_VERSION) << groups;
  }
  for (const char* groups : {"ffdhe2048", "ffdhe8192", "P-521", "X448"}) {
    EXPECT_EQ(negotiated(server.port(), TLS1_3_VERSION, groups), 0) << groups;
  }
}

/// Accepts one connection by this version of TLS at most, and answers each request on it, with so many
/// tickets before, and so many certificates beside its own: the same one, or another.
void serve_tls(RawSocket& socket, int highest, int tickets, const char* ciphers = "ALL",
               int more_certificates = 0, X509* another = nullptr) {
  SSL_CTX* context = SSL_CTX_new(TLS_server_method());
  SSL_CTX_set_max_proto_version(context, highest);
  SSL_CTX_set_cipher_list(context, ciphers);
  SSL_CTX_use_certificate_file(context, certificates().certificate_file.c_str(), SSL_FILETYPE_PEM);
  SSL_CTX_use_PrivateKey_file(context, certificates().key_file.c_str(), SSL_FILETYPE_PEM);
  for (int i = 0; i < more_certificates; ++i)
    SSL_CTX_add1_chain_cert(context, another != nullptr ? another : SSL_CTX_get0_certificate(context));
  SSL* tls = SSL_new(context);
  SSL_set_fd(tls, socket.fd());
  if (SSL_accept(tls) == 1) {
    char request[4096];
    const auto reply = raw_reply("old");
    while (SSL_read(tls, request, sizeof request) > 0) {
      for (int i = 0; i < tickets; ++i) SSL_new_session_ticket(tls);
      SSL_write(tls, reply.data(), static_cast<int>(reply.size()));
    }
    SSL_shutdown(tls);
  }
  SSL_free(tls);
  SSL_CTX_free(context);
}

void serve_tls_1_2(RawSocket& socket) { serve_tls(socket, TLS1_2_VERSION, 0); }

TEST(Tls, TicketsWithoutEndEndTheConnection) {
  std::signal(SIGPIPE, SIG_IGN);  // OpenSSL writes to connections that the client has ended
  for (const int tickets : {10, 1000}) {
    RawServer server([tickets](RawSocket& socket) { serve_tls(socket, TLS1_3_VERSION, tickets); });
    const Endpoint endpoint{"https" + server.url().substr(4), certificates().ca_file};
    const auto reply = HttpTransport::create({endpoint})->parameters_all({}).at(0).reply;
    if (tickets == 10) {
      EXPECT_TRUE(pirx::testing::good(reply));
    } else {
      expect_error(reply, ErrorCode::kUnavailable);
    }
  }
}

TEST(Tls, HelloRequestsWithoutEndEndTheConnection) {
  // Before any certificate: whoever is on the way to a server can send them.
  std::string requests;
  for (int i = 0; i < 1000; ++i) requests += std::string("\x16\x03\x03\x00\x04\x00\x00\x00\x00", 9);
  std::atomic<int> taken{0};
  RawServer server([&](RawSocket& socket) {
    while (taken < 5000 && ::send(socket.fd(), requests.data(), requests.size(), MSG_NOSIGNAL) > 0) ++taken;
  });
  const Endpoint endpoint{"https" + server.url().substr(4), certificates().ca_file};
  EXPECT_FALSE(HttpTransport::create({endpoint})->parameters_all({}).at(0).reply);
  EXPECT_LT(taken, 5000) << "the client read 45 MB of them";
}

TEST(Tls, RecordsWithoutEndEndTheConnection) {
  // One message, a byte of it in each record.
  std::string records("\x16\x03\x03\x00\x01\x02\x16\x03\x03\x00\x01\x00", 12);
  for (int i = 0; i < 1000; ++i) records += std::string("\x16\x03\x03\x00\x01\x40", 6);
  RawServer server([&](RawSocket& socket) {
    socket.send(records);
    char taken[4096];
    while (::recv(socket.fd(), taken, sizeof taken, 0) > 0) {
    }
  });
  const Endpoint endpoint{"https" + server.url().substr(4), certificates().ca_file};
  const auto reply =
      HttpTransport::create({endpoint})->parameters_all({.deadline = std::chrono::minutes(1)}).at(0).reply;
  expect_error(reply, ErrorCode::kUnauthenticated, "ZERO_RETURN");  // as if the server had ended it
}

TEST(Tls, LongChainsOfCertificatesAreRefused) {
  for (const auto& [count, taken] : {std::pair(8, true), {16, false}}) {
    RawServer server(
        [more = count](RawSocket& socket) { serve_tls(socket, TLS1_3_VERSION, 0, "ALL", more); });
    const Endpoint endpoint{"https" + server.url().substr(4), certificates().ca_file};
    EXPECT_EQ(HttpTransport::create({endpoint})->parameters_all({}).at(0).reply.has_value(), taken) << count;
  }
}

/// A certificate whose curve it names or defines, and whose key is whole or compressed.
std::shared_ptr<X509> certificate(bool names_curve, bool whole = true, int curve = NID_X9_62_prime256v1) {
  const std::shared_ptr<EVP_PKEY_CTX> context(EVP_PKEY_CTX_new_id(EVP_PKEY_EC, nullptr), EVP_PKEY_CTX_free);
  EVP_PKEY* key = nullptr;
  EVP_PKEY_keygen_init(context.get());
  EVP_PKEY_CTX_set_ec_paramgen_curve_nid(context.get(), curve);
  EVP_PKEY_CTX_set_ec_param_enc(context.get(),
                                names_curve ? OPENSSL_EC_NAMED_CURVE : OPENSSL_EC_EXPLICIT_CURVE);
  EVP_PKEY_keygen(context.get(), &key);
  if (!whole) EVP_PKEY_set_utf8_string_param(key, OSSL_PKEY_PARAM_EC_POINT_CONVERSION_FORMAT, "compressed");
  std::shared_ptr<X509> made(X509_new(), X509_free);
  X509_gmtime_adj(X509_getm_notBefore(made.get()), 0);
  X509_gmtime_adj(X509_getm_notAfter(made.get()), 3600);
  X509_set_pubkey(made.get(), key);
  X509_sign(made.get(), key, EVP_sha256());
  EVP_PKEY_free(key);
  return made;
}

// OpenSSL would take half a second to read some of them, of which 40 fit into a chain, before it trusts any.
TEST(Tls, CurvesThatCertificatesDefineAreNotRead) {
  const pirx::testing::TemporaryFolder folder;
  const auto path = folder / "ca.pem";
  for (const bool names_curve : {true, false}) {
    const auto more = certificate(names_curve);
    for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
      RawServer server([&](RawSocket& socket) { serve_tls(socket, version, 0, "ALL", 1, more.get()); });
      const Endpoint endpoint{
          .url = "https" + server.url().substr(4), .ca_file = certificates().ca_file, .allow_tls_1_2 = true};
      EXPECT_EQ(HttpTransport::create({endpoint})->parameters_all({}).at(0).reply.has_value(), names_curve);
    }
    std::FILE* file = std::fopen(path.c_str(), "w");
    ASSERT_TRUE(file != nullptr && PEM_write_X509(file, more.get()) == 1);
    std::fclose(file);
    const auto transport = HttpTransport::create({{"https://127.0.0.1:1", path.native()}});
    EXPECT_EQ(transport.has_value(), names_curve);
    if (!names_curve) expect_error(transport, ErrorCode::kInvalidArgument, "an elliptic curve of its own");
  }
}

// They take long, too, and a client of a server with authorities may send sixteen in each of many
// connections.
TEST(Tls, CompressedKeysAreNotRead) {
  for (const int curve : {NID_X9_62_prime256v1, NID_secp224r1, NID_secp521r1}) {
    for (const bool whole : {true, false}) {
      const auto more = certificate(true, whole, curve);
      RawServer server(
          [&](RawSocket& socket) { serve_tls(socket, TLS1_3_VERSION, 0, "ALL", 1, more.get()); });
      const Endpoint endpoint{"https" + server.url().substr(4), certificates().ca_file};
      EXPECT_EQ(HttpTransport::create({endpoint})->parameters_all({}).at(0).reply.has_value(), whole)
          << curve;
    }
  }
}

TEST(Tls, CompressedKeysAreSeenHoweverTheirLengthsAreWritten) {
  const auto key = [](std::initializer_list<int> kind, std::initializer_list<int> curve,
                      std::initializer_list<int> bits) {
    Bytes text{std::byte{0x30}};
    for (const auto& part : {kind, std::initializer_list<int>{0x2A, 0x86, 0x48, 0xCE, 0x3D, 2, 1}, curve,
                             std::initializer_list<int>{0x2B, 0x81, 4, 0, 0x21}, bits}) {
      for (const int byte : part) text.push_back(static_cast<std::byte>(byte));
    }
    return text;
  };
  EXPECT_FALSE(has_compressed_key({}));
  EXPECT_FALSE(has_compressed_key(key({6, 7}, {6, 5}, {3, 0x39, 0, 4, 1, 2})));
  EXPECT_FALSE(has_compressed_key(key({6, 7}, {6, 5}, {3, 0x81, 0x85, 0, 4, 1, 2})));
  for (const auto& hidden :
       {key({6, 7}, {6, 5}, {3, 0x1D, 0, 2, 1}), key({6, 7}, {6, 5}, {3, 0x81, 0x1D, 0, 3, 1}),
        key({6, 0x81, 7}, {6, 5}, {3, 0x1D, 0, 4}), key({6, 7}, {6, 0x81, 5}, {3, 0x1D, 0, 4}),
        key({6, 7}, {6, 5}, {3, 0x82, 0, 4, 1}), key({6, 7}, {6, 5}, {0x23, 0x1D, 0, 4}), key({}, {}, {}),
        Bytes{std::byte{6}, std::byte{8}, std::byte{0x2A}, std::byte{0x81}, std::byte{0x1C}, std::byte{0xCF},
              std::byte{0x55}, std::byte{1}, std::byte{0x82}, std::byte{0x2D}}}) {
    EXPECT_TRUE(has_compressed_key(hidden));
  }
}

/// Whether a server still answers on a connection after so many updates of its client's key, each of which
/// costs it as much as a thousand bytes of data.
bool answers_after_key_updates(std::uint16_t port, int updates) {
  auto socket = RawSocket::connect_to(port);
  SSL_CTX* context = SSL_CTX_new(TLS_client_method());
  SSL* tls = SSL_new(context);
  SSL_set_fd(tls, socket.fd());
  bool good = SSL_connect(tls) == 1;
  for (int i = 0; i < updates && good; ++i) {
    good = SSL_key_update(tls, SSL_KEY_UPDATE_NOT_REQUESTED) == 1 && SSL_do_handshake(tls) == 1;
  }
  const auto request = get_text("/readyz");
  char reply[4096];
  good = good && SSL_write(tls, request.data(), static_cast<int>(request.size())) > 0 &&
         SSL_read(tls, reply, sizeof reply) > 0;
  SSL_free(tls);
  SSL_CTX_free(context);
  return good;
}

TEST(Tls, KeyUpdatesWithoutEndEndTheConnection) {
  std::signal(SIGPIPE, SIG_IGN);
  RunningServer server(tls_options());
  EXPECT_TRUE(answers_after_key_updates(server.port(), 2));
  EXPECT_FALSE(answers_after_key_updates(server.port(), 3));
  EXPECT_TRUE(answers_after_key_updates(server.port(), 0));
}

TEST(Tls, TheClientTakesVersion12OnlyWhenAllowed) {
  RawServer server(serve_tls_1_2);
  Endpoint endpoint{"https" + server.url().substr(4), certificates().ca_file};
  const auto refused = HttpTransport::create({endpoint})->parameters_all({}).at(0).reply;
  expect_error(refused, ErrorCode::kUnauthenticated, "speaks no TLS 1.3");
  endpoint.allow_tls_1_2 = true;
  const auto taken = HttpTransport::create({endpoint})->parameters_all({}).at(0).reply;
  ASSERT_TRUE(taken) << taken.error().to_string();
  EXPECT_EQ(text_of(*taken), "old");
}

TEST(Tls, TheClientSendsNothingWithoutForwardSecrecy) {
  // The certificates' keys are of elliptic curves, so that "kRSA" alone would fail for want of a key.
  for (const auto& [ciphers, taken] :
       {std::pair("ECDHE-ECDSA-AES128-GCM-SHA256", true), {"ECDHE-ECDSA-AES128-SHA", false}}) {
    RawServer server([list = ciphers](RawSocket& socket) { serve_tls(socket, TLS1_2_VERSION, 0, list); });
    Endpoint endpoint{"https" + server.url().substr(4), certificates().ca_file};
    endpoint.allow_tls_1_2 = true;
    EXPECT_EQ(HttpTransport::create({endpoint})->parameters_all({}).at(0).reply.has_value(), taken)
        << ciphers;
  }
}

/// What the server says first (22: its hello, 21: an alert) to a hello with so many groups and ciphers, so
/// many bytes of names of authorities, and so many signatures in each of their two lists.
int answer_to_hello(std::uint16_t port, std::size_t groups, std::size_t ciphers, std::size_t names,
                    std::size_t signatures = 1, std::size_t of_certificates = 0) {
  const auto u16 = [](std::size_t n) { return std::string{static_cast<char>(n >> 8), static_cast<char>(n)}; };
  const auto with_length = [&](const std::string& body) { return u16(body.size()) + body; };
  std::string list, suites, authorities, first, second;
  for (std::size_t i = 0; i < groups; ++i) list += u16(i == 0 ? 0x001D : 0x0100 + i);
  for (std::size_t i = 0; i < ciphers; ++i) suites += u16(0x1301);
  for (std::size_t i = 0; i < names; i += 4) authorities += std::string("\x00\x02\x30\x00", 4);
  for (std::size_t i = 0; i < signatures; ++i) first += u16(0x0403);
  for (std::size_t i = 0; i < of_certificates; ++i) second += u16(0x0403);
  const auto share = u16(0x001D) + with_length(std::string(32, '\x09'));
  auto extensions = u16(10) + with_length(with_length(list)) + u16(43) +
                    with_length(std::string("\x02\x03\x04", 3)) + u16(13) + with_length(with_length(first)) +
                    u16(51) + with_length(with_length(share));
  if (of_certificates > 0) extensions += u16(50) + with_length(with_length(second));
  if (names > 0) extensions += u16(47) + with_length(with_length(authorities));
  const auto body = u16(0x0303) + std::string(32, 'r') + std::string(1, '\0') + with_length(suites) +
                    std::string("\x01\x00", 2) + with_length(extensions);
  auto socket = RawSocket::connect_to(port);
  socket.send(std::string("\x16\x03\x01", 3) + with_length(std::string("\x01\x00", 2) + with_length(body)));
  const auto answer = socket.receive_some();
  return answer.empty() ? 0 : answer[0];
}

TEST(Tls, HellosThatTakeTimeOrMemoryAreRefused) {
  RunningServer server(tls_options());
  EXPECT_EQ(answer_to_hello(server.port(), 60, 1, 0), 22);
  EXPECT_EQ(answer_to_hello(server.port(), 70, 1, 0), 21);
  EXPECT_EQ(answer_to_hello(server.port(), 1, 500, 0), 22);
  EXPECT_EQ(answer_to_hello(server.port(), 1, 600, 0), 21);
  EXPECT_EQ(answer_to_hello(server.port(), 1, 1, 0, 60, 60), 22);
  EXPECT_EQ(answer_to_hello(server.port(), 1, 1, 0, 70), 21);
  EXPECT_EQ(answer_to_hello(server.port(), 1, 1, 0, 1, 70), 21);
  EXPECT_EQ(answer_to_hello(server.port(), 1, 1, 100), 22);
  EXPECT_EQ(answer_to_hello(server.port(), 1, 1, 200), 21);
}

TEST(Tls, AChildOfForkThatClosesTellsTheServerNothing) {
  RawServer server(serve_tls_1_2);
  Endpoint endpoint{"https" + server.url().substr(4), certificates().ca_file};
  endpoint.allow_tls_1_2 = true;
  auto transport = HttpTransport::create({endpoint});
  ASSERT_TRUE(transport);
  EXPECT_TRUE(transport->parameters_all({}).at(0).reply);
  EXPECT_EQ(pirx::testing::status_of_child([&] {
              transport->close();
              return true;
            }),
            0);
  EXPECT_TRUE(transport->parameters_all({}).at(0).reply);
  EXPECT_EQ(server.connections(), 1) << "the child ended its parent's";
  transport->close();
}

TEST(Tls, AConnectionIsChargedForItsHandshakeUntilThatIsDone) {
  RunningServer server(tls_options());
  // What the server charges for `count` more connections, which have shaken hands or are silent.
  const auto charged = [&server](bool shake, std::size_t count) {
    const std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context(SSL_CTX_new(TLS_client_method()),
                                                                    &SSL_CTX_free);
    const auto connect = [&](RawSocket& socket, bool now) {
      std::unique_ptr<SSL, decltype(&SSL_free)> tls(SSL_new(context.get()), &SSL_free);
      SSL_set_fd(tls.get(), socket.fd());
      EXPECT_TRUE(!now || SSL_connect(tls.get()) == 1);
      return tls;
    };
    const auto get = [](SSL* tls, const std::string& path) {
      const auto request = get_text(path);
      std::string page;
      char part[16384];
      EXPECT_GT(SSL_write(tls, request.data(), static_cast<int>(request.size())), 0);
      while (page.find("pirx_connection_bytes ") == std::string::npos || page.back() != '\n') {
        const int got = SSL_read(tls, part, sizeof part);
        if (got <= 0) break;
        page.append(part, static_cast<std::size_t>(got));
        if (path == "/healthz") break;
      }
      return page;
    };
    auto asking = RawSocket::connect_to(server.port());
    const auto asks = connect(asking, true);
    const auto bytes = [&]() -> std::size_t {
      const auto page = get(asks.get(), "/metrics");
      const auto at = page.find("\npirx_connection_bytes ");
      return at == std::string::npos ? 0 : std::stoul(page.substr(at + 23));
    };
    const auto before = bytes();
    EXPECT_GT(before, 0u);
    std::vector<RawSocket> sockets;
    std::vector<std::unique_ptr<SSL, decltype(&SSL_free)>> kept;
    for (std::size_t i = 0; i < count; ++i) {
      sockets.push_back(RawSocket::connect_to(server.port()));
      kept.push_back(connect(sockets.back(), shake));
      if (shake) get(kept.back().get(), "/healthz");
    }
    // Those that have got an answer are all known; the silent ones, soon.
    const auto enough = [&] { return bytes() - before > (shake ? 0 : count * 200 * 1024); };
    EXPECT_TRUE(eventually(enough));
    return bytes() - before;
  };
  EXPECT_GT(charged(false, 5), 5 * std::size_t{200} * 1024);
  EXPECT_LT(charged(true, 5), 5 * std::size_t{150} * 1024);
}

TEST(Tls, AHandshakeThatNeverEndsIsCut) {
  auto options = tls_options();
  options.header_timeout = 100ms;
  RunningServer server(options);
  auto silent = RawSocket::connect_to(server.port());
  EXPECT_TRUE(silent.closed_within());
  auto half = RawSocket::sending(server.port(), std::string("\x16\x03\x01\x02\x00\x01", 6));
  EXPECT_TRUE(half.closed_within());
  auto garbage = RawSocket::sending(server.port(), "GET / HTTP/1.1\r\n\r\n");
  EXPECT_TRUE(garbage.closed_within());
}

TEST(Tls, AClientThatLeavesIsTakenOutOfTheQueue) {
  auto options = tls_options();
  RunningServer server(options);
  server.fake->hold();
  const Endpoint endpoint{server.url("https"), certificates().ca_file};
  std::thread first([&] { EXPECT_TRUE(ask(endpoint, "first")); });
  ASSERT_TRUE(eventually([&] { return server.fake->batches().size() == 1; }));
  auto transport = HttpTransport::create({endpoint});
  ASSERT_TRUE(transport);
  CallOptions call;
  call.deadline = 300ms;
  EXPECT_FALSE(transport->query_all({bytes_of("gone")}, call).at(0).reply);
  std::this_thread::sleep_for(100ms);
  server.fake->release();
  first.join();
  EXPECT_TRUE(ask(endpoint, "last"));
  EXPECT_EQ(server.fake->seen(), (std::vector<std::string>{"first", "last"}));
}

TEST(Tls, UnusableFilesAreRefusedAtTheStart) {
  const auto create = [](const std::string& certificate, const std::string& key) {
    auto options = quick_options();
    options.tls_certificate_file = certificate;
    options.tls_key_file = key;
    auto server = HttpServer::create(std::make_shared<FakeServer>(), options, {});
    return server ? ErrorCode{} : server.error().code();
  };
  const auto& own = certificates();
  const Certificates others;
  EXPECT_EQ(create(own.certificate_file, own.key_file), ErrorCode{});
  EXPECT_EQ(create(own.certificate_file, ""), ErrorCode::kInvalidArgument);
  EXPECT_EQ(create("", own.key_file), ErrorCode::kInvalidArgument);
  EXPECT_EQ(create("/nonexistent", own.key_file), ErrorCode::kUnauthenticated);
  EXPECT_EQ(create(own.certificate_file, "/nonexistent"), ErrorCode::kUnauthenticated);
  EXPECT_EQ(create(own.key_file, own.certificate_file), ErrorCode::kUnauthenticated);
  EXPECT_EQ(create(own.certificate_file, others.key_file), ErrorCode::kUnauthenticated);
  EXPECT_EQ(create(own.certificate_file, own.locked_key_file), ErrorCode::kUnauthenticated);
  EXPECT_EQ(create(own.certificate_file, own.other_kind_key_file), ErrorCode::kUnauthenticated);
}

}  // namespace
}  // namespace pirx::http
