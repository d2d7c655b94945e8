// SPDX-License-Identifier: Apache-2.0
// The server against good clients in parallel, and against every kind of bad client that raw sockets can
// play.
#include "pirx/http/http_server.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <future>

#include "http/http_support.h"
#include "support/seed.h"

namespace pirx::http {
namespace {

using namespace testing;

/// The whole answer of a server to some bytes, after which the client sends nothing more but keeps reading.
std::string answer_to(const RunningServer& server, const std::string& text) {
  return RawSocket::sending(server.port(), text).receive_message();
}

/// `text` must be answered with `status`, a typed JSON error and the end of the connection.
void expect_refused_and_closed(const RunningServer& server, const std::string& text, int status) {
  auto socket = RawSocket::sending(server.port(), text);
  const auto answer = socket.receive_message();
  EXPECT_TRUE(is_status(answer, status)) << "to " << text.substr(0, 200);
  EXPECT_TRUE(has(answer, "\r\nPirx-Error: InvalidArgument\r\n")) << answer;
  EXPECT_TRUE(has(answer, "\r\nConnection: close\r\n")) << answer;
  EXPECT_TRUE(has(body_of(answer), R"({"error":{"code":"InvalidArgument","message":")")) << answer;
  EXPECT_EQ(socket.receive_all(), "");
}

void expect_healthy(const RunningServer& server) {
  EXPECT_TRUE(is_status(answer_to(server, query_text("still here")), 200));
}

TEST(HttpServer, AnswersQueriesAndPaths) {
  RunningServer server;
  auto socket = RawSocket::sending(server.port(), query_text("abc"));
  const auto answer = socket.receive_message();
  const auto instance = answer.find("Pirx-Instance: ");
  ASSERT_NE(instance, std::string::npos) << answer;
  EXPECT_EQ(answer,
            "HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\nContent-Length: 3\r\n"
            "Cache-Control: no-store\r\nConnection: keep-alive\r\n" +
                answer.substr(instance, 47) + "\r\n\r\ncba");
  socket.send(get_text("/v1/parameters"));
  EXPECT_EQ(body_of(socket.receive_message()), "fake parameters");
  socket.send(get_text("/healthz"));
  EXPECT_EQ(body_of(socket.receive_message()), "alive\n");
  socket.send(get_text("/readyz"));
  EXPECT_EQ(body_of(socket.receive_message()), "ready\n");
  socket.send(query_text(""));
  EXPECT_TRUE(is_status(socket.receive_message(), 200));
  socket.send(
      "POST /v1/query HTTP/1.1\r\nhost: x\r\ncontent-type: Application/Octet-Stream ; v=1\r\ncontent-length: "
      "2\r\n"
      "connection: close\r\n\r\nxy");
  const auto last = socket.receive_message();
  EXPECT_EQ(body_of(last), "yx");
  EXPECT_TRUE(has(last, "Connection: close"));
  EXPECT_EQ(socket.receive_all(), "");
}

TEST(HttpServer, NeverCompresses) {
  RunningServer server;
  const auto answer =
      answer_to(server,
                "POST /v1/query HTTP/1.1\r\nHost: x\r\nAccept-Encoding: gzip, br\r\nContent-Type: "
                "application/octet-stream\r\nContent-Length: 1000\r\n\r\n" +
                    std::string(1000, 'a'));
  EXPECT_FALSE(has(answer, "Encoding"));
  EXPECT_EQ(body_of(answer), std::string(1000, 'a'));
}

TEST(HttpServer, ListensOnIpv6) {
  auto options = quick_options();
  options.address = "::1";
  RunningServer server(options);
  auto transport = HttpTransport::create({{server.url("http", "[::1]"), "", false}});
  ASSERT_TRUE(transport);
  const auto reply = transport->query_all({bytes_of("abc")}, {}).at(0).reply;
  ASSERT_TRUE(reply) << reply.error().to_string();
  EXPECT_EQ(text_of(*reply), "cba");
}

TEST(HttpServer, Http10WorksAndCloses) {
  RunningServer server;
  auto socket = RawSocket::sending(server.port(), "GET /healthz HTTP/1.0\r\n\r\n");
  EXPECT_TRUE(is_status(socket.receive_message(), 200));
  EXPECT_EQ(socket.receive_all(), "");
}

TEST(HttpServer, ParallelClientsShareBatches) {
  auto options = quick_options();
  options.io_threads = 2;
  options.batch_window = 5ms;
  RunningServer server(options);
  server.fake->delay = 5ms;
  std::vector<std::thread> clients;
  for (int c = 0; c < 8; ++c) {
    clients.emplace_back([&, c] {
      auto random = pirx::testing::seeded_engine(static_cast<std::uint64_t>(c));
      auto transport = HttpTransport::create({{server.url(), "", false}});
      ASSERT_TRUE(transport);
      for (int i = 0; i < 20; ++i) {
        const auto size = random() % 3 == 0 ? 200'000 + random() % 100'000 : 1 + random() % 100;
        std::string text = std::to_string(c) + "," + std::to_string(i) + "." + std::string(size, 'p');
        const auto reply = transport->query_all({bytes_of(text)}, {}).at(0).reply;
        ASSERT_TRUE(reply) << reply.error().to_string();
        std::reverse(text.begin(), text.end());
        ASSERT_EQ(text_of(*reply), text);
      }
    });
  }
  for (auto& client : clients) client.join();
  const auto batches = server.fake->batches();
  std::size_t requests = 0;
  for (const auto size : batches) requests += size;
  EXPECT_EQ(requests, 160u);
  EXPECT_GT(*std::max_element(batches.begin(), batches.end()), 1u);
  EXPECT_LT(batches.size(), 100u);  // far fewer passes than requests
  double logged = 0;
  for (const auto& event : server.log.of("batch")) logged += event.numbers.at(0).second;
  EXPECT_EQ(logged, 160);
}

TEST(HttpServer, MetricsCountRequests) {
  RunningServer server;
  auto socket = RawSocket::sending(server.port(), query_text("q3"));
  ASSERT_TRUE(is_status(socket.receive_message(), 200));
  socket.send(query_text("e1"));
  ASSERT_TRUE(is_status(socket.receive_message(), 400));
  socket.send(get_text("/metrics"));
  const auto page = socket.receive_message();
  ASSERT_TRUE(is_status(page, 200));
  for (const char* line :
       {"Content-Type: text/plain; version=0.0.4\r\n", "\npirx_requests_total{status=\"200\"} 1\n",
        "\npirx_requests_total{status=\"400\"} 1\n", "\npirx_queries_total 3\n",
        "\npirx_request_bytes_total 2\n", "\npirx_connections 1\n", "\npirx_queued_requests 0\n",
        "\npirx_in_flight_requests 1\n", "\n# TYPE pirx_pass_seconds histogram\n",
        "\npirx_resident_bytes "}) {
    EXPECT_NE(page.find(line), std::string::npos) << line << page;
  }
}

TEST(HttpServer, ATimeoutThatCannotBeKeptIsRefused) {
  RunningServer server;
  auto socket = RawSocket::connect_to(server.port());
  const auto with_timeout = [](const std::string& value) {
    auto text = query_text("abc");
    return text.insert(text.find("\r\n") + 2, "Pirx-Timeout: " + value + "\r\n");
  };
  for (const char* bad : {"0", "-1", "1.5", "86400001", "99999999999999999999", "soon"}) {
    auto another = RawSocket::sending(server.port(), with_timeout(bad));
    EXPECT_TRUE(is_status(another.receive_message(), 400)) << bad;
  }
  socket.send(with_timeout("60000"));
  EXPECT_TRUE(is_status(socket.receive_message(), 200));
  server.fake->delay = 300ms;
  for (int i = 0; i < 2; ++i) {  // teach what a pass takes: one might be a machine that stood still
    socket.send(with_timeout("60000"));
    EXPECT_TRUE(is_status(socket.receive_message(), 200));
  }
  const auto seen = server.fake->seen().size();
  socket.send(with_timeout("10"));
  const auto refusal = socket.receive_message();
  EXPECT_TRUE(is_status(refusal, 429));
  EXPECT_NE(refusal.find("Retry-After: "), std::string::npos);
  EXPECT_EQ(server.fake->seen().size(), seen);
}

TEST(HttpServer, IPv4ClientsOfASocketForBothAreThemselves) {
  auto options = quick_options();
  options.address = "::";
  options.allow_plaintext = true;
  if (!HttpServer::create(std::make_shared<FakeServer>(), options, LogSink())) GTEST_SKIP() << "no IPv6 here";
  RunningServer server(options);
  auto socket = RawSocket::connect_to(server.port());  // 127.0.0.1
  socket.send(get_text("/metrics"));
  EXPECT_TRUE(is_status(socket.receive_message(), 200));
}

TEST(HttpServer, ErrorsOfTheProtocolHaveTheirStatus) {
  RunningServer server;
  auto socket = RawSocket::connect_to(server.port());
  const std::vector<std::pair<std::string, int>> expected = {
      {"InvalidArgument", 400}, {"OutOfRange", 400},        {"DataLoss", 400},
      {"Unavailable", 503},     {"ResourceExhausted", 429}, {"Unauthenticated", 401},
      {"StaleEpoch", 409},      {"Undecodable", 500},       {"Internal", 500}};
  for (std::size_t i = 0; i < expected.size(); ++i) {
    for (const char* where : {"e", "a"}) {
      socket.send(query_text(where + std::to_string(i + 1)));
      const auto answer = socket.receive_message();
      EXPECT_TRUE(is_status(answer, expected[i].second));
      EXPECT_TRUE(has(answer, "\r\nPirx-Error: " + expected[i].first + "\r\n"));
      EXPECT_TRUE(has(answer, "\r\nContent-Type: application/json\r\n"));
      EXPECT_TRUE(has(answer, "Connection: keep-alive"));  // the body was read: the connection goes on
      EXPECT_EQ(has(answer, "\r\nRetry-After: 1\r\n"),
                expected[i].second == 503 || expected[i].second == 429);
      const auto said = *where == 'e' ? R"(admit \"says\" no)" : "answer says no";
      EXPECT_EQ(body_of(answer),
                R"({"error":{"code":")" + expected[i].first + R"(","message":")" + said + "\"}}");
    }
  }
  EXPECT_EQ(server.log.of("refused").size(), 18u);
}

TEST(HttpServer, AThrowingProtocolIsAnInternalError) {
  RunningServer server;
  server.fake->throw_in_admit = true;
  EXPECT_TRUE(is_status(answer_to(server, query_text("abc")), 500));
  server.fake->throw_in_admit = false;
  server.fake->throw_other = true;
  EXPECT_TRUE(is_status(answer_to(server, query_text("abc")), 500));
  server.fake->throw_other = false;
  server.fake->throw_bad_alloc = true;
  EXPECT_TRUE(is_status(answer_to(server, query_text("abc")), 429));
  server.fake->throw_bad_alloc = false;
  expect_healthy(server);
}

TEST(HttpServer, RefusesWhatIsNoQuery) {
  RunningServer server;
  const std::string type = "Content-Type: application/octet-stream\r\n";
  const std::string post = "POST /v1/query HTTP/1.1\r\nHost: x\r\n";
  expect_refused_and_closed(server, post + type + "\r\n", 411);
  expect_refused_and_closed(server, post + type + "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
                            411);
  expect_refused_and_closed(server, post + type + "Transfer-Encoding: gzip, chunked\r\n\r\n", 411);
  expect_refused_and_closed(server, post + type + "Transfer-Encoding: gzip\r\nContent-Length: 3\r\n\r\nabc",
                            411);
  expect_refused_and_closed(server, post + "Content-Length: 3\r\n\r\nabc", 415);
  expect_refused_and_closed(server, post + "Content-Type: text/plain\r\nContent-Length: 3\r\n\r\nabc", 415);
  expect_refused_and_closed(
      server, post + "Content-Type: application/octet-streams\r\nContent-Length: 3\r\n\r\nabc", 415);
  expect_refused_and_closed(server, post + type + "Expect: a miracle\r\nContent-Length: 3\r\n\r\nabc", 417);
  expect_refused_and_closed(server, "PUT /v1/query HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc", 405);
  expect_refused_and_closed(server, "HEAD /healthz HTTP/1.1\r\nHost: x\r\n\r\n", 405);
  // A body where none belongs: the answer is right, but the connection cannot go on behind it.
  auto socket =
      RawSocket::sending(server.port(), "GET /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc");
  const auto answer = socket.receive_message();
  EXPECT_TRUE(is_status(answer, 200));
  EXPECT_TRUE(has(answer, "Connection: close"));
  EXPECT_EQ(socket.receive_all(), "");
  EXPECT_TRUE(server.fake->seen().empty());
}

TEST(HttpServer, WrongPathsAndMethodsKeepTheConnection) {
  RunningServer server;
  auto socket = RawSocket::connect_to(server.port());
  const auto ask = [&](const std::string& text) {
    socket.send(text);
    return socket.receive_message();
  };
  EXPECT_TRUE(is_status(ask(get_text("/nothing")), 404));
  EXPECT_TRUE(is_status(ask(get_text("/v1/query/")), 404));
  EXPECT_TRUE(is_status(ask(get_text("/healthz?x")), 404));
  EXPECT_TRUE(is_status(ask(get_text("/../../etc/passwd")), 404));
  EXPECT_TRUE(is_status(ask(get_text("http://other/healthz")), 404));
  const auto get = ask(get_text("/v1/query"));
  EXPECT_TRUE(is_status(get, 405));
  EXPECT_TRUE(has(get, "\r\nAllow: POST\r\n"));
  const auto post = ask("DELETE /v1/parameters HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_TRUE(is_status(post, 405));
  EXPECT_TRUE(has(post, "\r\nAllow: GET\r\n"));
  EXPECT_TRUE(is_status(ask("BREW /readyz HTTP/1.1\r\nHost: x\r\n\r\n"), 405));
  EXPECT_TRUE(is_status(ask(get_text("/readyz")), 200));
}

TEST(HttpServer, ATooLongBodyIsRefusedFromItsHead) {
  auto fake = std::make_shared<FakeServer>();
  fake->max_bytes = 1000;
  RunningServer server(quick_options(), fake);
  const auto post = [](const std::string& length) {
    return "POST /v1/query HTTP/1.1\r\nHost: x\r\nContent-Type: "
           "application/octet-stream\r\nContent-Length: " +
           length + "\r\n\r\n";
  };
  // The head of the message says which epoch it is for: that is settled before its length.
  for (const char* length : {"1001", "2147483648", "18446744073709551615"}) {
    expect_refused_and_closed(server, post(length) + std::string(80, 'x'), 413);
    const auto stale = "e" + std::to_string(static_cast<int>(ErrorCode::kStaleEpoch)) + std::string(78, 'x');
    EXPECT_TRUE(is_status(answer_to(server, post(length) + stale), 409));
    const auto other = "e" + std::to_string(static_cast<int>(ErrorCode::kDataLoss)) + std::string(78, 'x');
    expect_refused_and_closed(server, post(length) + other, 413);
  }
  // Numbers that are none.
  for (const char* length :
       {"18446744073709551616", "-1", "0x10", "1 2", "", "1e3", "99999999999999999999999999"}) {
    expect_refused_and_closed(server, post(length), 400);
  }
  expect_refused_and_closed(
      server, "POST /v1/query HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400);
  EXPECT_EQ(body_of(answer_to(server, query_text(std::string(1000, 'x')))).size(), 1000u);
  EXPECT_EQ(server.fake->seen().size(), 1u);
}

/// Advice fits the server: which flag, if any, allows longer requests.
TEST(HttpServer, ATooLongBodyIsToldWhatToDo) {
  const auto told = [](ProtocolId protocol, std::uint64_t max_body) {
    auto fake = std::make_shared<FakeServer>();
    fake->of = protocol;
    fake->max_bytes = 1000;
    auto options = quick_options();
    options.max_body_bytes = max_body;
    RunningServer server(options, fake);
    const auto answer = answer_to(server, query_text(std::string(1001, 'x')));
    EXPECT_TRUE(is_status(answer, 413));
    return body_of(answer);
  };
  const auto several = told(ProtocolId::kGoldberg, 1 << 20);
  EXPECT_TRUE(has(several, "no request of this database is longer than 1000 bytes")) << several;
  EXPECT_TRUE(has(several, "pirx serve --max-queries")) << several;
  // Its requests hold one query each.
  for (const auto protocol : {ProtocolId::kInspire, ProtocolId::kSpiral, ProtocolId::kDownload}) {
    const auto one = told(protocol, 1 << 20);
    EXPECT_TRUE(has(one, "no request of this database is longer than 1000 bytes")) << one;
    EXPECT_TRUE(has(one, "parameters again")) << one;
    EXPECT_FALSE(has(one, "--max")) << one;
  }
  for (const auto protocol : {ProtocolId::kInspire, ProtocolId::kGoldberg}) {
    const auto limited = told(protocol, 999);
    EXPECT_TRUE(has(limited, "longer than 999 bytes (pirx serve --max-body allows more)")) << limited;
    EXPECT_FALSE(has(limited, "--max-queries")) << limited;
  }
}

TEST(HttpServer, ARefusalIsNotLostUnderABodyOnItsWay) {
  auto fake = std::make_shared<FakeServer>();
  fake->max_bytes = 1000;
  RunningServer server(quick_options(), fake);
  auto socket = RawSocket::sending(server.port(), query_text(std::string(500'000, 'x')));
  std::this_thread::sleep_for(50ms);
  EXPECT_TRUE(is_status(socket.receive_message(), 413));
  // And one that goes on sending is cut.
  auto flood = RawSocket::sending(
      server.port(),
      "POST /v1/query HTTP/1.1\r\nHost: x\r\nContent-Type: application/octet-stream\r\nContent-Length: "
      "9999999999\r\n\r\n");
  EXPECT_TRUE(eventually([&] { return !flood.send(std::string(65536, 'x')); }));
}

TEST(HttpServer, GarbageIsRefusedAndCloses) {
  RunningServer server;
  for (const std::string& text :
       {std::string("GET /healthz\r\n\r\n"), std::string("GET /healthz HTTP/0.9\r\n\r\n"),
        std::string("GET /healthz HTTP/2.0\r\n\r\n"), std::string("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
        std::string("\x16\x03\x01\x02\r\n\r\n"), std::string("\0\0\0\0\r\n\r\n", 8),
        std::string("GET  /healthz HTTP/1.1\r\n\r\n"), std::string("GET /healthz HTTP/1.1\r\nHost x\r\n\r\n"),
        std::string("GET /healthz HTTP/1.1\r\nHost: x\r\n bad: x\r\n: y\r\n\r\n"),
        std::string("GET /healthz HTTP/1.1\r\n\r\n"),
        std::string("GET /healthz HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"),
        std::string("GET /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: a\r\n\r\n"),
        std::string("garbage garbage garbage\r\n\r\n")}) {
    expect_refused_and_closed(server, text, 400);
  }
  expect_healthy(server);
}

TEST(HttpServer, HeadersAreBounded) {
  auto options = quick_options();
  options.max_header_bytes = 1024;
  RunningServer server(options);
  const std::string start = "GET /healthz HTTP/1.1\r\nHost: x\r\n";
  expect_refused_and_closed(server, start + "X: " + std::string(2000, 'h') + "\r\n\r\n", 431);
  expect_refused_and_closed(server, start + "X: " + std::string(100'000, 'h'), 431);
  std::string many = start;
  for (int i = 0; i < 200; ++i) many += "a: b\r\n";
  expect_refused_and_closed(server, many + "\r\n", 431);
  expect_refused_and_closed(server, "GET /" + std::string(5000, 'p') + " HTTP/1.1\r\n\r\n", 431);
  EXPECT_TRUE(is_status(answer_to(server, start + "X: " + std::string(900, 'h') + "\r\n\r\n"), 200));
  // Short fields take more than their bytes: 64 are enough, Host among them.
  std::string fields = start;
  for (int i = 0; i < 63; ++i) fields += "a: b\r\n";
  EXPECT_TRUE(is_status(answer_to(server, fields + "\r\n"), 200));
  expect_refused_and_closed(server, fields + "a: b\r\n\r\n", 431);
  expect_refused_and_closed(server, fields + "a: b\r\na: b\r\n", 431);  // without the header's end
}

TEST(HttpServer, RandomBytesNeverHurt) {
  auto options = quick_options();
  options.header_timeout = options.body_timeout = 500ms;
  RunningServer server(options);
  auto random = pirx::testing::seeded_engine();
  const auto good = query_text("some query");
  for (int i = 0; i < 200; ++i) {
    auto text = good;
    for (std::uint64_t change = 0; change < 1 + random() % 4; ++change) {
      const auto at = random() % text.size();
      switch (random() % 3) {
        case 0:
          text[at] = static_cast<char>(random());
          break;
        case 1:
          text.erase(at, 1 + random() % 8);
          break;
        default:
          text.insert(at, 1, static_cast<char>(random()));
      }
      if (text.empty()) text = "x";
    }
    auto socket = RawSocket::sending(server.port(), text);
    if (i % 2 == 0) {
      socket.shut_write();
      EXPECT_LT(socket.receive_all().size(), 2000u);
    }
  }
  expect_healthy(server);
}

TEST(HttpServer, PipelinedRequestsAreAnsweredInOrderAndGarbageCloses) {
  RunningServer server;
  auto socket =
      RawSocket::sending(server.port(), query_text("one") + get_text("/healthz") + query_text("three") +
                                            query_text(std::string(20'000, 'z')) + "garbage\r\n\r\n");
  EXPECT_EQ(body_of(socket.receive_message()), "eno");
  EXPECT_EQ(body_of(socket.receive_message()), "alive\n");
  EXPECT_EQ(body_of(socket.receive_message()), "eerht");
  EXPECT_EQ(body_of(socket.receive_message()), std::string(20'000, 'z'));
  EXPECT_TRUE(is_status(socket.receive_message(), 400));
  EXPECT_EQ(socket.receive_all(), "");
}

TEST(HttpServer, ADripIsPutTogether) {
  RunningServer server;
  auto socket = RawSocket::connect_to(server.port());
  const auto text = query_text("drip drip");
  for (const char c : text) socket.send(std::string_view(&c, 1));
  EXPECT_EQ(body_of(socket.receive_message()), "pird pird");
}

TEST(HttpServer, ContinueIsSaidWhenAskedFor) {
  RunningServer server;
  const auto head = [](const std::string& expect, std::size_t length, const char* version = "1.1") {
    return std::string("POST /v1/query HTTP/") + version +
           "\r\nHost: x\r\nContent-Type: " + "application/octet-stream\r\n" + expect +
           "Content-Length: " + std::to_string(length) + "\r\n\r\n";
  };
  const std::string expect = "Expect: 100-continue\r\n";
  auto socket = RawSocket::sending(server.port(), head("expect: 100-Continue\r\n", 3));
  EXPECT_EQ(socket.receive_message(), "HTTP/1.1 100 Continue\r\n\r\n");
  socket.send("abc");
  EXPECT_EQ(body_of(socket.receive_message()), "cba");
  // Nobody waits for it who sends the body with the header, has no body, or speaks HTTP/1.0, which has no
  // 100.
  socket.send(head(expect, 3) + "abc");
  EXPECT_EQ(body_of(socket.receive_message()), "cba");
  socket.send(head(expect, 0));
  EXPECT_TRUE(is_status(socket.receive_message(), 200));
  auto old = RawSocket::sending(server.port(), head(expect, 3, "1.0"));
  old.send("abc");
  EXPECT_TRUE(is_status(old.receive_message(), 200));
  // A refusal takes its place, and the body stays where it is.
  EXPECT_EQ(server.fake->seen().size(), 4u);
  expect_refused_and_closed(server, head("Expect: 100-continue, more\r\n", 3), 417);
  expect_refused_and_closed(server, head(expect + expect, 3), 417);
  EXPECT_EQ(server.fake->seen().size(), 4u);
  // Only the head of a body that is too long is read.
  auto longer = RawSocket::sending(server.port(), head(expect, 99'999'999));
  EXPECT_EQ(longer.receive_message(), "HTTP/1.1 100 Continue\r\n\r\n");
  longer.send(std::string(80, 'x'));
  EXPECT_TRUE(is_status(longer.receive_message(), 413));
}

TEST(HttpServer, SlowHeadersAndBodiesAreCut) {
  auto options = quick_options();
  options.header_timeout = 300ms;
  options.body_timeout = 400ms;
  options.idle_timeout = 1500ms;
  RunningServer server(options);
  {
    auto silent = RawSocket::connect_to(server.port());
    EXPECT_TRUE(silent.closed_within());
  }
  const auto drip = [&](const std::string& first) {
    auto socket = RawSocket::sending(server.port(), first);
    // Each byte comes long before the limit, which is on all of them.
    return eventually([&] { return !socket.send("x") || socket.closed_within(10ms); });
  };
  EXPECT_TRUE(drip("GET /healthz HTTP/1.1\r\nX: "));
  EXPECT_TRUE(
      drip("POST /v1/query HTTP/1.1\r\nHost: x\r\nContent-Type: "
           "application/octet-stream\r\nContent-Length: 999999\r\n\r\n"));
  {
    auto idle = RawSocket::sending(server.port(), query_text("abc"));
    EXPECT_TRUE(is_status(idle.receive_message(), 200));
    std::this_thread::sleep_for(350ms);  // longer than a header may take, shorter than a pause may
    idle.send(query_text("abc"));
    EXPECT_TRUE(is_status(idle.receive_message(), 200));
    EXPECT_FALSE(idle.closed_within(100ms));
    EXPECT_TRUE(idle.closed_within());
  }
  EXPECT_GE(server.log.of("timeout").size(), 4u);
  expect_healthy(server);
}

TEST(HttpServer, AComputingServerDoesNotTimeItsClientOut) {
  auto options = quick_options();
  options.header_timeout = options.body_timeout = options.idle_timeout = options.write_timeout = 800ms;
  RunningServer server(options);
  server.fake->delay = 1600ms;
  EXPECT_TRUE(is_status(answer_to(server, query_text("abc")), 200));
}

TEST(HttpServer, AClientThatNeverReadsIsCut) {
  auto options = quick_options();
  options.write_timeout = 100ms;
  auto fake = std::make_shared<FakeServer>();
  fake->reply_bytes = 32 << 20;  // beyond what the sockets buffer
  RunningServer server(options, fake);
  auto socket = RawSocket::sending(server.port(), query_text("abc"));
  EXPECT_TRUE(eventually([&] { return server.log.of("timeout").size() == 1; }));
  EXPECT_LT(socket.receive_all().size(), fake->reply_bytes);
}

TEST(HttpServer, AReplyIsToBeTakenStepByStep) {
  auto options = quick_options();
  options.write_timeout = 24s;
  auto fake = std::make_shared<FakeServer>();
  fake->reply_bytes = 32 << 20;
  RunningServer server(options, fake);
  auto deaf = RawSocket::sending(server.port(), query_text("abc"));
  auto slow = RawSocket::sending(server.port(), query_text("abc"));
  // Who takes nothing is cut at the second look; who is slow has it all.
  std::size_t taken = 0;
  while (server.log.of("timeout").empty()) {
    const auto part = slow.receive_some();
    ASSERT_FALSE(part.empty()) << taken;
    taken += part.size();
    std::this_thread::sleep_for(50ms);
  }
  EXPECT_LT(taken, fake->reply_bytes) << "this test's reader is too fast to show anything";
  while (taken < fake->reply_bytes) {
    const auto part = slow.receive_some();
    ASSERT_FALSE(part.empty()) << taken;
    taken += part.size();
  }
  EXPECT_LT(deaf.receive_all().size(), fake->reply_bytes);
}

TEST(HttpServer, WhoDoesNotReadKeepsNoOtherAddressFromItsReplies) {
  auto options = quick_options();
  options.max_in_flight_bytes = with_connections(152 << 20);
  options.write_timeout = 10min;
  auto fake = std::make_shared<FakeServer>();
  fake->most_queries = 1;
  fake->reply_bytes = fake->reply_per_query = 8 << 20;  // beyond what the sockets buffer
  RunningServer server(options, fake);
  std::vector<RawSocket> deaf;
  for (int i = 0; i < 12; ++i) {
    deaf.push_back(RawSocket::connect_to(server.port()));
    deaf.back().send(query_text("abc"));
  }
  ASSERT_TRUE(eventually([&] { return !server.log.of("refused").empty(); }));
  for (int i = 0; i < 3; ++i) {
    auto other = RawSocket::connect_to(server.port(), "127.0.0.2");
    other.send(query_text("abc"));
    EXPECT_TRUE(is_status(other.receive_message(), 200));
  }
}

TEST(HttpServer, FilesAreReplacedWhileItRuns) {
  const auto files = [](std::string_view text) {
    return std::make_shared<const std::vector<StaticFile>>(std::vector<StaticFile>{
        {.path = "/page", .type = "text/html", .policy = "", .gzip = false, .content = bytes_of(text)}});
  };
  RunningServer server(quick_options());
  const auto get = [&server] {
    auto socket = RawSocket::connect_to(server.port());
    socket.send(get_text("/page"));
    return socket.receive_message();
  };
  EXPECT_TRUE(is_status(get(), 404));
  for (const char* text : {"old", "new"}) {
    server.server().replace_files(files(text));
    EXPECT_TRUE(get().ends_with(text));
  }
  server.server().replace_files(nullptr);
  EXPECT_TRUE(is_status(get(), 404));
}

TEST(HttpServer, RepliesThatAllShareCostNoMemory) {
  auto options = quick_options();
  options.max_in_flight_bytes = with_connections(20 << 20);
  options.write_timeout = 10min;
  options.files =
      std::make_shared<const std::vector<StaticFile>>(std::vector<StaticFile>{{.path = "/page.wasm",
                                                                               .type = "application/wasm",
                                                                               .policy = "",
                                                                               .gzip = false,
                                                                               .content = Bytes(16 << 20)}});
  RunningServer server(options);
  std::vector<RawSocket> deaf;
  for (int i = 0; i < 30; ++i) {
    deaf.push_back(RawSocket::connect_to(server.port()));
    deaf.back().send(get_text("/page.wasm"));
    EXPECT_TRUE(is_status(deaf.back().receive_some(), 200));
  }
  EXPECT_LT(gauge(server.port(), "pirx_in_flight_bytes"), 2 << 20);
  for (const char* from : {"127.0.0.1", "127.0.0.2"}) {
    for (const auto& text : {get_text("/healthz"), get_text("/v1/parameters"), query_text("abc")}) {
      auto other = RawSocket::connect_to(server.port(), from);
      other.send(text);
      EXPECT_TRUE(is_status(other.receive_message(), 200));
    }
  }
}

/// Thousands of connections of one address have a request each at all times, as headers or as bodies that
/// came after them. One of another address is not behind all of them, but behind those that were begun,
/// sixteen at a time.
void expect_turns(const std::function<std::string(const std::string& name)>& early,
                  const std::function<std::string(const std::string& name)>& late, bool bodies) {
  std::promise<void> entered, released;
  std::vector<std::string> order;  // of the network thread
  const auto note = [&](std::string_view name) {
    order.emplace_back(name);
    if (name == "first") {
      entered.set_value();
      released.get_future().wait();
    }
  };
  auto options = quick_options();
  if (!bodies) {
    options.authenticate = [&](std::string_view token) {
      note(token);
      return std::optional<std::string>(token);
    };
  }
  auto fake = std::make_shared<FakeServer>();
  fake->on_admit = note;
  RunningServer server(options, fake);
  std::vector<RawSocket> many;
  for (int i = 0; i < 90; ++i) many.push_back(RawSocket::connect_to(server.port()));
  many.push_back(RawSocket::connect_to(server.port(), "127.0.0.2"));
  const auto name = [](std::size_t i) { return i == 0 ? "first" : i < 90 ? "crowd" : "other"; };
  for (std::size_t i = 0; i < many.size(); ++i) {
    many[i].send(get_text("/healthz"));
    ASSERT_TRUE(is_status(many[i].receive_message(), 200));
    many[i].send(early(name(i)));
  }
  if (bodies) std::this_thread::sleep_for(50ms);  // until the headers have been read
  many[0].send(late("first"));
  entered.get_future().wait();
  for (std::size_t i = 1; i < many.size(); ++i) many[i].send(late(name(i)));
  released.set_value();
  for (auto& socket : many) EXPECT_TRUE(is_status(socket.receive_message(), 200));
  server.stop();
  server.join();
  ASSERT_EQ(order.size(), 91u);
  EXPECT_LE(std::find(order.begin(), order.end(), "other") - order.begin(), 20);
}

TEST(HttpServer, ConnectionsOfOneAddressAnswerInTurnWithOthers) {
  expect_turns([](const std::string&) { return std::string(); },
               [](const std::string& token) {
                 return "GET /v1/parameters HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + token +
                        "\r\n\r\n";
               },
               false);
}

TEST(HttpServer, BodiesOfOneAddressAreLookedAtInTurnWithOthers) {
  expect_turns(
      [](const std::string& name) {
        const auto text = query_text(name);
        return text.substr(0, text.size() - 1);
      },
      [](const std::string& name) { return name.substr(name.size() - 1); }, true);
}

TEST(HttpServer, ConnectionsAreBounded) {
  auto options = quick_options();
  options.max_connections = options.connections_per_client = 3;
  RunningServer server(options);
  std::vector<RawSocket> open;
  for (int i = 0; i < 3; ++i) {
    open.push_back(RawSocket::connect_to(server.port()));
    open.back().send(get_text("/healthz"));
    EXPECT_TRUE(is_status(open.back().receive_message(), 200));
  }
  for (int i = 0; i < 5; ++i) {
    auto fourth = RawSocket::sending(server.port(), "GET");
    EXPECT_TRUE(fourth.closed_within());
  }
  EXPECT_EQ(server.log.of("connections_refused").size(), 1u);  // a minute
  open.back().close();
  EXPECT_TRUE(eventually([&] {
    auto next = RawSocket::sending(server.port(), get_text("/healthz"));
    return has(next.receive_message(), "alive");
  }));
}

/// The attack: one address opens connections until no more are taken, and keeps them.
TEST(HttpServer, OneAddressNeverHasEveryConnection) {
  auto options = quick_options();
  options.max_connections = 20;
  RunningServer server(options);
  std::vector<RawSocket> greedy;
  for (int i = 0; i < 40; ++i) {
    auto socket = RawSocket::sending(server.port(), get_text("/healthz"));
    if (has(socket.receive_message(), "alive")) greedy.push_back(std::move(socket));
  }
  EXPECT_EQ(greedy.size(), 10u);
  auto other = RawSocket::connect_to(server.port(), "127.0.0.2");
  other.send(query_text("abc"));
  EXPECT_EQ(body_of(other.receive_message()), "cba");
  other.send(get_text("/metrics"));
  const auto page = other.receive_message();
  EXPECT_TRUE(has(page, "\npirx_connections_refused_total{limit=\"connections_per_client\"} 30\n")) << page;
  EXPECT_TRUE(has(page, "\npirx_connections_refused_total{limit=\"max_connections\"} 0\n")) << page;
  greedy.clear();
  EXPECT_TRUE(eventually([&] { return has(answer_to(server, get_text("/healthz")), "alive"); }));
  server.stop();
  server.join();
  // A line at the first refusal, and one at the end for those of the same minute.
  double counted = 0;
  const auto lines = server.log.of("connections_refused");
  EXPECT_EQ(lines.size(), 2u);
  for (const auto& line : lines) counted += line.numbers.at(1).second;
  EXPECT_GE(counted, 30);
  EXPECT_TRUE(server.log.of("refused").empty());
}

TEST(HttpServer, RunningOutOfDescriptorsIsAPauseOnly) {
  RunningServer server;
  auto socket = RawSocket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const int next = ::dup(socket.fd());
  ::close(next);
  const rlimit none_left{static_cast<rlim_t>(next), before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none_left), 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(server.port());
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(::connect(socket.fd(), reinterpret_cast<sockaddr*>(&address), sizeof address),
            0);  // by the kernel
  socket.send(get_text("/healthz"));
  EXPECT_EQ(socket.receive_some(120ms), "");
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_TRUE(is_status(socket.receive_message(), 200));
  expect_healthy(server);
}

TEST(HttpServer, TheQueueIsBounded) {
  auto options = quick_options();
  options.max_queued_requests = 2;
  RunningServer server(options);
  server.fake->hold();
  std::vector<RawSocket> waiting;
  for (std::size_t i = 0; i < 3; ++i) {
    waiting.push_back(RawSocket::connect_to(server.port()));
    waiting.back().send(query_text("abc"));
    if (i > 0) continue;
    ASSERT_TRUE(eventually([&] { return server.fake->batches().size() == 1; }));
  }
  EXPECT_TRUE(eventually([&] {  // once both have arrived
    auto more = RawSocket::sending(server.port(), query_text("def"));
    pollfd wait{more.fd(), POLLIN, 0};
    if (::poll(&wait, 1, 50) != 1) return false;
    const auto answer = more.receive_message();
    return static_cast<bool>(is_status(answer, 429)) && has(answer, "Retry-After: 1");
  }));
  server.fake->release();
  for (auto& socket : waiting) EXPECT_TRUE(is_status(socket.receive_message(), 200));
}

TEST(HttpServer, BytesInFlightAreBounded) {
  auto options = quick_options();
  options.max_in_flight_bytes = with_connections(2 << 20);
  RunningServer server(options, of_many_queries());
  // Half-sent bodies are charged for what has arrived, not for what they announce.
  std::vector<RawSocket> announcing;
  for (int i = 0; i < 16; ++i) {
    announcing.push_back(RawSocket::connect_to(server.port()));
    announcing.back().send(
        "POST /v1/query HTTP/1.1\r\nHost: x\r\nContent-Type: application/octet-stream\r\nContent-Length: "
        "1048576\r\n\r\nx");
  }
  expect_healthy(server);
  for (auto& socket : announcing) socket.send(std::string(140'000, 'x'));
  EXPECT_TRUE(eventually([&] { return !server.log.of("refused").empty(); }));
  for (const auto& event : server.log.of("refused")) EXPECT_EQ(event.text.at(0).second, "ResourceExhausted");
  announcing.clear();
  EXPECT_TRUE(eventually([&] {
    return static_cast<bool>(is_status(answer_to(server, query_text(std::string(400'000, 'y'))), 200));
  }));
}

TEST(HttpServer, AClientThatLeavesIsTakenOutOfTheQueue) {
  RunningServer server;
  server.fake->hold();
  auto first = RawSocket::sending(server.port(), query_text("first"));
  ASSERT_TRUE(eventually([&] { return server.fake->batches().size() == 1; }));
  auto closing = RawSocket::sending(server.port(), query_text("closing"));
  auto resetting = RawSocket::sending(server.port(), query_text("resetting"));
  auto halving = RawSocket::sending(server.port(), query_text("halving"));
  auto staying = RawSocket::sending(server.port(), query_text("staying"));
  auto pipelining = RawSocket::sending(server.port(), query_text("pipelining") + "POST");
  auto middle = RawSocket::sending(server.port(), query_text("middle").substr(0, 50));
  ASSERT_TRUE(eventually([&] { return gauge(server.port(), "pirx_queued_requests") == 5; }));
  pipelining.close();
  closing.close();
  resetting.reset();
  middle.reset();
  halving.shut_write();
  ASSERT_TRUE(eventually([&] { return gauge(server.port(), "pirx_queued_requests") == 1; }));
  server.fake->release();
  EXPECT_EQ(body_of(first.receive_message()), "tsrif");
  EXPECT_EQ(body_of(staying.receive_message()), "gniyats");
  EXPECT_EQ(halving.receive_all(), "");
  EXPECT_EQ(server.fake->seen(), (std::vector<std::string>{"first", "staying"}));
}

TEST(HttpServer, AClientThatLeavesDuringItsBatchHurtsNobody) {
  RunningServer server;
  server.fake->hold();
  auto leaving = RawSocket::sending(server.port(), query_text("leaving"));
  ASSERT_TRUE(eventually([&] { return server.fake->batches().size() == 1; }));
  leaving.reset();
  std::this_thread::sleep_for(20ms);
  server.fake->release();
  expect_healthy(server);
}

TEST(HttpServer, StoppingFinishesWhatIsInFlight) {
  RunningServer server;
  server.fake->hold();
  auto idle = RawSocket::sending(server.port(), get_text("/readyz"));
  EXPECT_TRUE(is_status(idle.receive_message(), 200));
  auto asking = RawSocket::sending(server.port(), query_text("abc"));
  ASSERT_TRUE(eventually([&] { return server.fake->batches().size() == 1; }));
  auto queued = RawSocket::sending(server.port(), query_text("waiting"));
  auto sending = RawSocket::connect_to(server.port());
  const auto text = query_text("half sent");
  sending.send(text.substr(0, text.size() - 4));
  // The one that computes, the one that waits, the one half sent, and the one that asks.
  ASSERT_TRUE(eventually([&] { return gauge(server.port(), "pirx_in_flight_requests") == 4; }));

  server.stop();
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(server.port());
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_NE(::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  ::close(fd);
  // Those that are open learn it.
  idle.send(get_text("/readyz"));
  const auto ready = idle.receive_message();
  EXPECT_TRUE(is_status(ready, 503));
  EXPECT_TRUE(has(ready, "Connection: close"));

  sending.send(text.substr(text.size() - 4));
  std::this_thread::sleep_for(20ms);
  server.fake->release();
  EXPECT_EQ(body_of(asking.receive_message()), "cba");
  EXPECT_EQ(body_of(queued.receive_message()), "gnitiaw");
  EXPECT_EQ(body_of(sending.receive_message()), "tnes flah");
  EXPECT_TRUE(eventually([&] { return server.ended(); }));
  ASSERT_EQ(server.log.of("stop").size(), 1u);
  EXPECT_EQ(server.log.of("stop")[0].numbers.at(0).second, 0);
}

TEST(HttpServer, WhileStoppingQueriesAreRefusedAndTheProcessIsAlive) {
  RunningServer server;
  server.fake->hold();
  auto asking = RawSocket::sending(server.port(), query_text("abc"));
  auto query = RawSocket::connect_to(server.port());
  auto health = RawSocket::connect_to(server.port());
  ASSERT_TRUE(eventually([&] { return server.fake->batches().size() == 1; }));
  for (auto* socket : {&query, &health}) {
    socket->send(get_text("/healthz"));
    EXPECT_TRUE(is_status(socket->receive_message(), 200));
  }
  server.stop();
  ASSERT_TRUE(eventually([&] { return !takes_connections(server.port()); }));
  query.send(query_text("late"));
  const auto answer = query.receive_message();
  EXPECT_TRUE(is_status(answer, 503));
  EXPECT_TRUE(has(answer, "Pirx-Error: Unavailable"));
  health.send(get_text("/healthz"));
  EXPECT_TRUE(is_status(health.receive_message(), 200));
}

TEST(HttpServer, TheDrainHasAnEnd) {
  auto options = quick_options();
  options.drain_timeout = 100ms;
  RunningServer server(options);
  server.fake->hold();
  auto asking = RawSocket::sending(server.port(), query_text("abc"));
  ASSERT_TRUE(eventually([&] { return server.fake->batches().size() == 1; }));
  const auto start = Clock::now();
  server.stop();
  EXPECT_TRUE(eventually([&] { return server.ended(); }));
  EXPECT_GE(ms_since(start), 95);
  EXPECT_EQ(asking.receive_all(), "");
  ASSERT_EQ(server.log.of("stop").size(), 1u);
  EXPECT_EQ(server.log.of("stop")[0].numbers.at(0).second, 1);
}

TEST(HttpServer, StoppingUnderLoadLosesNoReply) {
  auto options = quick_options();
  options.io_threads = 2;
  RunningServer server(options);
  server.fake->delay = 2ms;
  std::atomic<int> answered{0}, unavailable{0}, other{0};
  std::vector<std::thread> clients;
  for (int c = 0; c < 4; ++c) {
    clients.emplace_back([&] {
      auto transport = HttpTransport::create({{server.url(), "", false}});
      ASSERT_TRUE(transport);
      for (;;) {
        const auto reply = transport->query_all({bytes_of("load")}, {}).at(0).reply;
        if (reply) {
          EXPECT_EQ(text_of(*reply), "daol");
          ++answered;
          continue;
        }
        ++(reply.error().code() == ErrorCode::kUnavailable ? unavailable : other);
        return;
      }
    });
  }
  ASSERT_TRUE(eventually([&] { return answered > 50; }));
  server.stop();
  for (auto& client : clients) client.join();
  server.join();
  EXPECT_EQ(other, 0);
  EXPECT_EQ(unavailable, 4);
  EXPECT_EQ(static_cast<std::size_t>(answered),
            server.fake->seen().size());  // what was computed was delivered
}

TEST(HttpServer, ChangingTheServerUnderLoadFailsNoRequest) {
  auto options = quick_options();
  options.io_threads = 2;
  options.batch_window = 0us;
  RunningServer server(options);
  std::atomic<bool> done{false};
  std::atomic<int> answered{0};
  std::vector<std::thread> clients;
  for (int c = 0; c < 4; ++c) {
    clients.emplace_back([&] {
      auto transport = HttpTransport::create({{server.url(), "", false}});
      ASSERT_TRUE(transport);
      while (!done) {
        const auto reply = transport->query_all({bytes_of("load")}, {}).at(0).reply;
        ASSERT_TRUE(reply) << reply.error().to_string();
        EXPECT_EQ(text_of(*reply), "daol");
        ++answered;
      }
    });
  }
  auto socket = RawSocket::connect_to(server.port());
  for (int epoch = 1; epoch <= 30; ++epoch) {
    const int before = answered;
    auto next = std::make_shared<FakeServer>();
    next->parameters_text = "epoch " + std::to_string(epoch);
    next->delay = 1ms;
    const auto watched = next.get();
    auto old = server.server().replace(std::move(next));
    ASSERT_TRUE(old);
    socket.send(get_text("/v1/parameters"));
    EXPECT_EQ(body_of(socket.receive_message()), "epoch " + std::to_string(epoch));
    // The old one is left alone once its last request is answered; the new one is asked.
    EXPECT_TRUE(eventually([&] { return old->use_count() == (epoch == 1 ? 2 : 1); }));
    EXPECT_TRUE(eventually([&] { return answered > before && !watched->seen().empty(); }));
  }
  done = true;
  for (auto& client : clients) client.join();
  EXPECT_GT(answered, 30);
}

TEST(HttpServer, ARequestInItsBatchIsAnsweredByTheServerBefore) {
  RunningServer server;
  server.fake->hold();
  auto socket = RawSocket::sending(server.port(), query_text("abc"));
  ASSERT_TRUE(eventually([&] { return server.fake->batches().size() == 1; }));
  auto next = std::make_shared<FakeServer>();
  next->max_bytes = 10;
  ASSERT_TRUE(server.server().replace(next));
  server.fake->release();
  EXPECT_EQ(body_of(socket.receive_message()), "cba");
  EXPECT_TRUE(next->seen().empty());
  // What fitted the server before is still read: only the new one can say what is wrong with it.
  socket.send(query_text(std::string(100, 'x')));
  EXPECT_TRUE(is_status(socket.receive_message(), 200));
  EXPECT_EQ(next->seen().size(), 1u);
}

TEST(HttpServer, MemoryOfPassesIsSetAside) {
  auto options = quick_options();
  options.max_in_flight_bytes = with_connections((2 << 20) + 500'000);
  const auto with_pass = [](std::size_t bytes) {
    auto fake = of_many_queries();
    fake->per_pass = bytes;
    return fake;
  };
  EXPECT_FALSE(HttpServer::create(with_pass(500'010), options, {}));
  RunningServer server(options, with_pass(400'000));
  const auto in_flight = [&] {
    const auto page = answer_to(server, get_text("/metrics"));
    const auto at = page.find("\npirx_in_flight_bytes ");
    return page.substr(at + 1, page.find('\n', at + 1) - at - 1);
  };
  EXPECT_EQ(in_flight(), "pirx_in_flight_bytes 400000");
  ASSERT_TRUE(server.server().replace(with_pass(500'000)));
  EXPECT_EQ(in_flight(), "pirx_in_flight_bytes 500000");
  const auto refused = server.server().replace(with_pass(500'010));
  expect_error(refused, ErrorCode::kInvalidArgument);
  EXPECT_TRUE(is_status(answer_to(server, query_text(std::string(1 << 20, 'y'))), 200));
}

/// Or requests that wait take the memory of passes with more queries than a request has.
TEST(HttpServer, PassesOfManyRequestsHaveHalfOfTheMemoryThatIsLeft) {
  for (const auto& [each, bytes] : {std::pair(10'000, "722232"), {100, "25600"}}) {
    auto fake = std::make_shared<FakeServer>();
    fake->most_queries = 1;
    fake->max_bytes = 4000;
    fake->working_per_query = static_cast<std::size_t>(each);
    auto options = quick_options();
    options.max_in_flight_bytes = 1'600'000;  // 1,500,000 beside connections; 65,536 for 16 requests
    RunningServer server(options, fake);
    EXPECT_TRUE(
        has(answer_to(server, get_text("/metrics")), std::string("pirx_in_flight_bytes ") + bytes + "\n"));
  }
}

/// However small it is, a body takes 64 KiB.
TEST(HttpServer, MemoryIsForFourteenRequestsOfOneQueryBesideTheLargest) {
  const auto fake = std::make_shared<FakeServer>();
  fake->most_queries = 8;
  fake->max_bytes = 67'664;
  fake->reply_per_query = 1000;
  auto options = quick_options();
  options.max_in_flight_bytes = with_connections(2 * ((68 << 10) + 8000), (64 << 10) + 1000);
  EXPECT_TRUE(HttpServer::create(fake, options, {}));
  options.max_in_flight_bytes -= 20;
  const auto refused = HttpServer::create(fake, options, {});
  expect_error(refused, ErrorCode::kInvalidArgument);
  EXPECT_TRUE(has(refused.error().message(), "fourteen of one query"));
}

TEST(HttpServer, AServerThatDoesNotFitTheLimitsIsRefused) {
  RunningServer server;
  auto next = std::make_shared<FakeServer>();
  next->working_per_query = std::size_t{1} << 40;
  const auto refused = server.server().replace(next);
  ASSERT_FALSE(refused);
  EXPECT_TRUE(has(refused.error().message(), "max_in_flight_bytes"));
  EXPECT_TRUE(has(refused.error().message(), "fewer threads (--threads)"));
  EXPECT_FALSE(server.server().replace(nullptr));
  expect_healthy(server);
  EXPECT_EQ(server.fake->seen().size(), 1u);
}

TEST(HttpServer, StopTwiceOrBeforeRunOrAfter) {
  RunningServer server;
  std::thread other([&] { server.stop(); });
  server.stop();
  other.join();
  server.join();
  server.stop();
  EXPECT_FALSE(server.server().run());

  auto early = HttpServer::create(std::make_shared<FakeServer>(), quick_options(), {});
  ASSERT_TRUE(early);
  early->stop();
  EXPECT_TRUE(early->run());
  // One that never runs.
  EXPECT_TRUE(HttpServer::create(std::make_shared<FakeServer>(), quick_options(), {}));
}

TEST(HttpServer, APortInUseIsUnavailable) {
  RunningServer server;
  auto options = quick_options();
  options.port = server.port();
  const auto second = HttpServer::create(std::make_shared<FakeServer>(), options, {});
  expect_error(second, ErrorCode::kUnavailable);
  EXPECT_TRUE(has(second.error().message(), std::to_string(server.port())));
}

TEST(HttpServer, BadOptionsAreRefused) {
  const auto expect_invalid = [](const std::function<void(HttpServerOptions&)>& change,
                                 const std::string& word) {
    auto options = quick_options();
    change(options);
    const auto server = HttpServer::create(std::make_shared<FakeServer>(), options, {});
    expect_error(server, ErrorCode::kInvalidArgument, word);
  };
  expect_invalid([](auto& o) { o.address = "0.0.0.0"; }, "plaintext");
  expect_invalid([](auto& o) { o.address = "::"; }, "plaintext");
  expect_invalid([](auto& o) { o.address = "::ffff:10.0.0.1"; }, "plaintext");
  expect_invalid([](auto& o) { o.address = "localhost"; }, "localhost");
  expect_invalid([](auto& o) { o.address = ""; }, "address");
  expect_invalid([](auto& o) { o.io_threads = 0; }, "io_threads");
  expect_invalid([](auto& o) { o.max_connections = 0; }, "max_connections");
  expect_invalid([](auto& o) { o.max_header_bytes = 10; }, "max_header");
  expect_invalid([](auto& o) { o.max_in_flight_bytes = 1000; }, "max_in_flight");
  expect_invalid([](auto& o) { o.max_queued_requests = 0; }, "max_queued");
  expect_invalid([](auto& o) { o.batch_max = 0; }, "batch_max");
  expect_invalid([](auto& o) { o.batch_window = -1us; }, "batch_window");
  expect_invalid([](auto& o) { o.header_timeout = 0ms; }, "header_timeout");
  expect_invalid([](auto& o) { o.body_timeout = -5ms; }, "body_timeout");
  expect_invalid([](auto& o) { o.idle_timeout = std::chrono::milliseconds::max(); }, "idle_timeout");
  expect_invalid([](auto& o) { o.write_timeout = 0ms; }, "write_timeout");
  expect_invalid([](auto& o) { o.drain_timeout = 0ms; }, "drain_timeout");
  auto hungry = std::make_shared<FakeServer>();  // its 9 queries take more than the limit
  hungry->working_per_query = std::size_t{1} << 30;
  const auto refused = HttpServer::create(hungry, quick_options(), {});
  expect_error(refused, ErrorCode::kInvalidArgument, "--max-in-flight");
  EXPECT_TRUE(has(refused.error().message(), "--max-queries")) << refused.error().message();
  hungry->most_queries = 1;  // it cannot take fewer
  const auto alone = HttpServer::create(hungry, quick_options(), {});
  ASSERT_FALSE(alone);
  EXPECT_TRUE(has(alone.error().message(), "--max-in-flight")) << alone.error().message();
  EXPECT_FALSE(has(alone.error().message(), "--max-queries")) << alone.error().message();
  EXPECT_FALSE(HttpServer::create(nullptr, quick_options(), {}));
  auto options = quick_options();
  options.address = "0.0.0.0";
  options.allow_plaintext = true;
  EXPECT_TRUE(HttpServer::create(std::make_shared<FakeServer>(), options, {}));
}

TEST(HttpServer, TheLogSaysLimitsAtTheStartAndNeverABody) {
  RunningServer server;
  EXPECT_TRUE(is_status(answer_to(server, query_text("SECRET-canary")), 200));
  EXPECT_TRUE(is_status(answer_to(server, query_text("e1SECRET-canary")), 400));
  EXPECT_TRUE(is_status(answer_to(server, get_text("/SECRET-canary")), 404));
  server.stop();
  server.join();
  const auto start = server.log.of("start");
  ASSERT_EQ(start.size(), 1u);
  const auto line = to_json(start[0]);
  for (const char* limit : {"max_connections", "max_header_bytes", "max_in_flight_bytes", "pass_bytes",
                            "max_queued", "max_body_bytes", "max_request_bytes", "header_timeout_ms",
                            "body_timeout_ms", "idle_timeout_ms", "write_timeout_ms", "batch_window_ms",
                            "batch_max", "max_queue_time_ms", "drain_timeout_ms", "port", "address", "tls"}) {
    EXPECT_TRUE(has(line, std::string("\"") + limit + "\":")) << limit;
  }
  const auto batch = server.log.of("batch");
  ASSERT_EQ(batch.size(), 1u);
  for (const char* field : {"requests", "queries", "queue_ms", "compute_ms", "stopped"})
    EXPECT_TRUE(has(to_json(batch[0]), field));
  EXPECT_FALSE(has(server.log.all(), "SECRET")) << server.log.all();
  EXPECT_FALSE(has(server.log.all(), "yranac"));
}

TEST(HttpServer, ManyConnectionsComeAndGo) {
  RunningServer server;
  for (int round = 0; round < 5; ++round) {
    std::vector<RawSocket> open;
    for (int i = 0; i < 100; ++i) open.push_back(RawSocket::connect_to(server.port()));
    for (auto& socket : open) socket.send(get_text("/healthz"));
    for (auto& socket : open) EXPECT_TRUE(is_status(socket.receive_message(), 200));
  }
  expect_healthy(server);
}

TEST(HttpServer, ConnectionsThatAreResetBeforeAnyByteAreNotAccepted) {
  RunningServer server;
  for (int i = 0; i < 50; ++i) RawSocket::connect_to(server.port()).reset();
  EXPECT_EQ(gauge(server.port(), "pirx_connections_total"), 1);
}

TEST(HttpServer, ClientsThatSayNothingYetAreAccepted) {
  RunningServer server;
  auto silent = RawSocket::connect_to(server.port());
  EXPECT_TRUE(eventually([&] { return gauge(server.port(), "pirx_connections") == 2; }));
  EXPECT_TRUE(silent.send(get_text("/healthz")));
  EXPECT_TRUE(is_status(silent.receive_message(), 200));
}

}  // namespace
}  // namespace pirx::http
