// SPDX-License-Identifier: Apache-2.0
// The client's transport against good servers, bad servers and none.
#include "pirx/http/http_client.h"

#include <gtest/gtest.h>

#include <atomic>

#include "http/http_support.h"
#include "support/forks.h"

namespace pirx::http {
namespace {

using namespace testing;

HttpTransport make_transport(const std::vector<std::string>& urls) {
  std::vector<Endpoint> endpoints;
  for (const auto& url : urls) endpoints.push_back({url, "", false});
  auto transport = HttpTransport::create(endpoints);
  if (!transport) {
    ADD_FAILURE() << transport.error().to_string();
    std::abort();
  }
  return std::move(*transport);
}

CallOutcome call(const std::string& url, const std::string& request = "abc",
                 const CallOptions& options = {}) {
  auto transport = make_transport({url});
  return std::move(transport.query_all({bytes_of(request)}, options).at(0));
}

/// The error of a call to a server that reads the request and answers with `raw`, then closes.
Error error_of(const std::string& raw, const CallOptions& options = {}) {
  RawServer server([&](RawSocket& socket) {
    socket.receive_message();
    socket.send(raw);
    socket.shut_write();
    socket.receive_all();
  });
  auto outcome = call(server.url(), "abc", options);
  if (outcome.reply) {
    ADD_FAILURE() << "accepted: " << raw.substr(0, 200);
    return {ErrorCode::kInternal, ""};
  }
  EXPECT_EQ(outcome.reply.error().message().rfind(server.url() + ": ", 0), 0u)
      << outcome.reply.error().to_string();
  return outcome.reply.error();
}

TEST(HttpClient, CreateChecksAddresses) {
  const auto code = [](std::vector<Endpoint> endpoints) {
    auto transport = HttpTransport::create(std::move(endpoints));
    return transport ? ErrorCode{} : transport.error().code();
  };
  constexpr auto kBad = ErrorCode::kInvalidArgument;
  EXPECT_EQ(code({}), kBad);
  for (const char* url : {"",
                          "http://",
                          "127.0.0.1:80",
                          "ftp://127.0.0.1",
                          "file:///etc/passwd",
                          "http://127.0.0.1/path",
                          "http://127.0.0.1?x",
                          "http://127.0.0.1#x",
                          "http://user@127.0.0.1",
                          "http://user:pw@127.0.0.1",
                          "http://127.0.0.1:99999",
                          "http://127.0.0.1:port",
                          "http://example.org",
                          "http://10.0.0.1",
                          "http://128.0.0.1",
                          "http://0.0.0.0",
                          "http://127.0.0.1.example.org",
                          "http://localhost.example.org",
                          "http://[::2]",
                          "http://a b",
                          "http://\n"}) {
    EXPECT_EQ(code({{url, "", false}}), kBad) << url;
  }
  for (const char* url :
       {"http://127.0.0.1", "http://127.8.9.1:1", "http://localhost:5/", "http://LOCALHOST",
        "http://[::1]:80", "https://example.org", "https://10.0.0.1:8100/", "https://[2001:db8::1]"}) {
    EXPECT_EQ(code({{url, "", false}}), ErrorCode{}) << url;
  }
  EXPECT_EQ(code({{"http://example.org", "", true}}), ErrorCode{});
  EXPECT_EQ(code({{"https://example.org", "/nonexistent/ca.pem", false}}), kBad);
  EXPECT_EQ(code({{"https://example.org", "", false}, {"https://EXAMPLE.org:443/", "", false}}), kBad);
}

TEST(HttpClient, OneServerUnderTwoAddressesGetsNoSecondShare) {
  auto everywhere = quick_options();
  everywhere.address = "::";  // takes IPv4, too
  everywhere.allow_plaintext = true;
  RunningServer server(everywhere), other;
  for (const char* host :
       {"localhost", "127.0.0.2", "127.1.2.3", "[::ffff:127.0.0.1]", "[::1]", "0.0.0.0", "[::]"}) {
    std::vector<Endpoint> endpoints(3);
    endpoints[0].url = server.url();
    endpoints[1].url = server.url("http", host);
    endpoints[1].allow_plaintext = true;
    endpoints[2].url = other.url();  // the same host, but another server
    auto transport = HttpTransport::create(endpoints);
    ASSERT_TRUE(transport) << transport.error().to_string();
    for (int round = 0; round < 2; ++round) {
      const auto before = server.fake->seen().size();
      const auto outcomes = transport->query_all({bytes_of("one"), bytes_of("two"), bytes_of("abc")}, {});
      EXPECT_EQ(server.fake->seen().size(), before + 1) << host;
      ASSERT_NE(outcomes[0].reply.has_value(), outcomes[1].reply.has_value()) << host;
      const auto& refused = outcomes[outcomes[0].reply ? 1 : 0].reply.error();
      EXPECT_EQ(refused.code(), ErrorCode::kInvalidArgument) << refused.to_string();
      EXPECT_TRUE(has(refused.message(), "the same address and port")) << refused.to_string();
      EXPECT_TRUE(outcomes[2].reply) << outcomes[2].reply.error().to_string();
    }
  }
}

TEST(HttpClient, AServersInstanceTellsItUnderAnyAddress) {
  // Two ports that lead to one server, as two addresses of its machine would.
  RunningServer server, other;
  RawServer forward([&](RawSocket& socket) {
    for (auto message = socket.receive_message(); !message.empty(); message = socket.receive_message()) {
      auto onward = RawSocket::sending(server.port(), message);
      socket.send(onward.receive_message());
    }
  });
  auto transport = make_transport({server.url(), other.url(), forward.url()});
  for (const auto& outcomes :
       {transport.parameters_all({}), transport.query_all(std::vector<Bytes>(3, bytes_of("abc")), {})}) {
    for (const auto& outcome : outcomes) EXPECT_TRUE(outcome.reply);
    EXPECT_FALSE(outcomes[1].same_as);
    // Whichever settles last is told to be the other one.
    EXPECT_EQ(outcomes[0].same_as, 2u);
    EXPECT_EQ(outcomes[2].same_as, 0u);
  }
  const auto instance_of = [](const RunningServer& from) {
    const auto reply = RawSocket::sending(from.port(), get_text("/healthz")).receive_message();
    const auto at = reply.find("\r\nPirx-Instance: ");
    return at == std::string::npos ? "" : reply.substr(at + 17, reply.find('\r', at + 2) - at - 17);
  };
  EXPECT_EQ(instance_of(server).size(), 32u);
  EXPECT_EQ(instance_of(server), instance_of(server));
  EXPECT_NE(instance_of(server), instance_of(other));
}

TEST(HttpClient, RequestsMustMatchTheServers) {
  auto transport = make_transport({"http://127.0.0.1:1", "http://127.0.0.1:2"});
  const auto outcomes = transport.query_all({bytes_of("only one")}, {});
  ASSERT_EQ(outcomes.size(), 2u);
  for (const auto& outcome : outcomes) EXPECT_EQ(outcome.reply.error().code(), ErrorCode::kInvalidArgument);
}

TEST(HttpClient, EachServerGetsItsOwnRequest) {
  RunningServer a, b, c;
  auto transport = make_transport({a.url(), b.url(), c.url()});
  for (int round = 0; round < 3; ++round) {
    std::vector<std::size_t> settled;
    const auto outcomes = transport.query_all({bytes_of("to a"), bytes_of("to b"), bytes_of("to c")}, {},
                                              [&](std::size_t i, const CallOutcome& outcome) {
                                                settled.push_back(i);
                                                EXPECT_TRUE(outcome.reply);
                                                return false;
                                              });
    std::sort(settled.begin(), settled.end());
    EXPECT_EQ(settled, (std::vector<std::size_t>{0, 1, 2}));
    ASSERT_EQ(outcomes.size(), 3u);
    for (std::size_t i = 0; i < 3; ++i) {
      ASSERT_TRUE(outcomes[i].reply) << outcomes[i].reply.error().to_string();
      EXPECT_EQ(text_of(*outcomes[i].reply), std::string(1, "abc"[i]) + " ot");
      EXPECT_GT(outcomes[i].milliseconds, 0);
    }
  }
  EXPECT_EQ(a.fake->seen(), (std::vector<std::string>{"to a", "to a", "to a"}));
  for (const auto& outcome : transport.parameters_all({}))
    EXPECT_EQ(text_of(*outcome.reply), "fake parameters");
}

TEST(HttpClient, MovesLikeAValue) {
  RunningServer server;
  auto first = make_transport({server.url()});
  auto second = std::move(first);
  EXPECT_TRUE(second.query_all({bytes_of("abc")}, {}).at(0).reply);
}

TEST(HttpClient, SendsExactlyThisAndCountsIt) {
  std::string seen;
  const auto raw = raw_reply("reply");
  RawServer server([&](RawSocket& socket) {
    seen = socket.receive_message();
    socket.send(raw);
    socket.receive_all();
  });
  for (const char* name : {"http_proxy", "HTTP_PROXY", "ALL_PROXY", "all_proxy"})
    ::setenv(name, "http://127.0.0.1:1", 1);
  const auto body = std::string(100'000, 'z');
  const auto outcome = call(server.url(), body);
  for (const char* name : {"http_proxy", "HTTP_PROXY", "ALL_PROXY", "all_proxy"}) ::unsetenv(name);
  ASSERT_TRUE(outcome.reply) << outcome.reply.error().to_string();
  EXPECT_EQ(text_of(*outcome.reply), "reply");
  EXPECT_EQ(outcome.bytes_up, seen.size());
  EXPECT_EQ(outcome.bytes_down, raw.size());
  const auto head = seen.substr(0, seen.find("\r\n\r\n") + 2);
  EXPECT_EQ(head, "POST /v1/query HTTP/1.1\r\nHost: " + server.url().substr(7) +
                      "\r\nAccept: */*\r\nContent-Type: application/octet-stream\r\nPirx-Timeout: "
                      "10000\r\nContent-Length: 100000\r\n");
  EXPECT_EQ(body_of(seen), body);
}

TEST(HttpClient, KeepsConnections) {
  RawServer server([](RawSocket& socket) {
    while (!socket.receive_message().empty()) socket.send(raw_reply("reply"));
  });
  {
    auto transport = make_transport({server.url()});
    for (int round = 0; round < 5; ++round)
      EXPECT_TRUE(transport.query_all({bytes_of("abc")}, {}).at(0).reply);
  }
  EXPECT_EQ(server.connections(), 1);
}

TEST(HttpClient, AFoldedFirstHeaderOnAKeptConnectionDoesNoHarm) {
  // libcurl 7.83 to 8.0 take the line for the rest of the last header of the reply before, which is freed.
  const std::string folded = "HTTP/1.1 200 OK\r\n folded: " + std::string(3000, 'B') +
                             "\r\nContent-Type: application/octet-stream\r\nContent-Length: 4\r\n\r\nevil";
  RawServer server([&](RawSocket& socket) {
    while (!socket.receive_message().empty()) {
      socket.send(raw_reply("good"));
      if (socket.receive_message().empty()) return;
      socket.send(folded);
    }
  });
  auto transport = make_transport({server.url()});
  for (int round = 0; round < 20; ++round) {
    const auto good = transport.query_all({bytes_of("abc")}, {}).at(0).reply;
    ASSERT_TRUE(good) << good.error().to_string();
    EXPECT_EQ(text_of(*good), "good");
    // Newer versions take the header for one of its own.
    const auto evil = transport.query_all({bytes_of("abc")}, {}).at(0).reply;
    if (!evil) {
      EXPECT_EQ(evil.error().code(), ErrorCode::kDataLoss) << evil.error().to_string();
    }
  }
}

TEST(HttpClient, AForkedChildUsesNoneOfItsParentsConnections) {
  RawServer server([](RawSocket& socket) {
    while (!socket.receive_message().empty()) socket.send(raw_reply("reply"));
  });
  std::optional<HttpTransport> transport = make_transport({server.url()});
  EXPECT_TRUE(transport->query_all({bytes_of("abc")}, {}).at(0).reply);
  const auto in_child = pirx::testing::in_child([&] {
    const auto outcome = transport->query_all({bytes_of("of the child")}, {}).at(0);
    transport.reset();
    return bytes_of(outcome.reply ? "asked" : outcome.reply.error().to_string());
  });
  EXPECT_NE(as_text(in_child.value()).find("before a fork"), std::string_view::npos) << as_text(*in_child);
  EXPECT_TRUE(transport->query_all({bytes_of("abc")}, {}).at(0).reply);
  transport.reset();
}

TEST(HttpClient, AConnectionThatDiesUnderARequestIsNotRetried) {
  // The server answers once, keeps the connection, reads the second request and closes without a word: to
  // libcurl a kept-alive connection that had died, which it would like to repeat on a fresh one.
  std::atomic<int> bodies{0};
  RawServer server([&](RawSocket& socket) {
    for (int i = 0;; ++i) {
      const auto message = socket.receive_message();
      if (!message.empty() && !body_of(message).empty()) ++bodies;
      if (i == 1 || message.empty()) return;
      socket.send(raw_reply("reply"));
    }
  });
  {
    auto transport = make_transport({server.url()});
    EXPECT_TRUE(transport.query_all({bytes_of("first")}, {}).at(0).reply);
    const auto second = transport.query_all({bytes_of("second")}, {}).at(0);
    expect_error(second.reply, ErrorCode::kUnavailable);
    EXPECT_EQ(bodies, 2);
    EXPECT_TRUE(transport.query_all({bytes_of("third")}, {}).at(0).reply);  // and the transport goes on
  }
  EXPECT_EQ(bodies, 3);
}

TEST(HttpClient, AConnectionClosedWhileIdleIsReplaced) {
  RawServer server([&](RawSocket& socket) {
    socket.receive_message();
    socket.send(raw_reply("reply"));
  });
  auto transport = make_transport({server.url()});
  EXPECT_TRUE(transport.query_all({bytes_of("first")}, {}).at(0).reply);
  std::this_thread::sleep_for(30ms);
  const auto second = transport.query_all({bytes_of("second")}, {}).at(0);
  EXPECT_TRUE(second.reply) << second.reply.error().to_string();
}

TEST(HttpClient, ARefusalIsItsTypedError) {
  RunningServer server;
  auto transport = make_transport({server.url()});
  for (int number = 1; number <= 9; ++number) {
    for (const char* where : {"e", "a"}) {
      const auto reply = transport.query_all({bytes_of(where + std::to_string(number))}, {}).at(0).reply;
      ASSERT_FALSE(reply);
      EXPECT_EQ(static_cast<int>(reply.error().code()), number);
      const auto said = std::string(*where == 'e' ? "admit \"says\" no" : "answer says no");
      EXPECT_EQ(reply.error().message(), server.url() + ": " + said);
    }
  }
}

TEST(HttpClient, ARefusalThatComesBeforeTheBodyIsSentIsHeard) {
  RunningServer server;
  const auto outcome = call(server.url(), std::string(8 << 20, 'x'));
  expect_error(outcome.reply, ErrorCode::kInvalidArgument, "longer than");
}

TEST(HttpClient, AHostileRefusalIsBoundedAndPlain) {
  const auto refusal = [](const std::string& body) {
    return error_of("HTTP/1.1 409 Conflict\r\npirx-error:StaleEpoch \r\nContent-Length: " +
                    std::to_string(body.size()) + "\r\n\r\n" + body);
  };
  const auto escape = refusal(R"({"error":{"code":"x","message":"a\u001b[2J\nb"}})");
  EXPECT_EQ(escape.code(), ErrorCode::kStaleEpoch);
  EXPECT_TRUE(has(escape.message(), ": a?[2J?b"));
  const auto lengthy = refusal(R"({"error":{"message":")" + std::string(10'000, 'm') + "\"}}");
  EXPECT_EQ(lengthy.code(), ErrorCode::kStaleEpoch);
  EXPECT_LT(lengthy.message().size(), 1024u + 64u);
  EXPECT_EQ(refusal("not json").code(), ErrorCode::kStaleEpoch);
  EXPECT_EQ(refusal(std::string(1 << 20, 'x')).code(), ErrorCode::kStaleEpoch);
}

TEST(HttpClient, OtherStatusesAreErrors) {
  const auto of = [](const std::string& status, const std::string& headers = "") {
    return error_of("HTTP/1.1 " + status + "\r\n" + headers + "Content-Length: 0\r\n\r\n").code();
  };
  EXPECT_EQ(of("503 Busy"), ErrorCode::kUnavailable);
  EXPECT_EQ(of("502 Bad Gateway"), ErrorCode::kUnavailable);
  EXPECT_EQ(of("429 Slow"), ErrorCode::kResourceExhausted);
  EXPECT_EQ(of("404 Not Found"), ErrorCode::kDataLoss);
  EXPECT_EQ(of("500 Oops", "Pirx-Error: Nonsense\r\n"), ErrorCode::kDataLoss);
  EXPECT_EQ(of("204 No Content"), ErrorCode::kDataLoss);
  EXPECT_EQ(of("200 OK"), ErrorCode::kDataLoss);  // no type
  EXPECT_EQ(of("200 OK", "Content-Type: text/html\r\n"), ErrorCode::kDataLoss);
  // A success does not become a failure by a header, nor the other way around.
  EXPECT_EQ(of("200 OK", "Pirx-Error: StaleEpoch\r\n"), ErrorCode::kDataLoss);
}

TEST(HttpClient, RedirectsAreNotFollowed) {
  std::atomic<bool> reached{false};
  RawServer other([&](RawSocket&) { reached = true; });
  for (const char* status : {"301", "302", "307", "308"}) {
    const auto error = error_of(std::string("HTTP/1.1 ") + status + " Moved\r\nLocation: " + other.url() +
                                "/v1/query\r\nContent-Length: 0\r\n\r\n");
    EXPECT_EQ(error.code(), ErrorCode::kDataLoss);
  }
  EXPECT_FALSE(reached);
}

TEST(HttpClient, AskingForCredentialsGetsNone) {
  const auto error =
      error_of("HTTP/1.1 401 Who\r\nWWW-Authenticate: Basic realm=\"x\"\r\nContent-Length: 0\r\n\r\n");
  EXPECT_EQ(error.code(), ErrorCode::kDataLoss);
}

TEST(HttpClient, GarbageIsAnError) {
  EXPECT_EQ(error_of("garbage\r\n\r\n").code(), ErrorCode::kDataLoss);
  EXPECT_EQ(error_of(std::string("\0\0\0\0\0\0\0\0\0\0", 10)).code(), ErrorCode::kDataLoss);
  EXPECT_EQ(error_of("").code(), ErrorCode::kUnavailable);
  EXPECT_EQ(error_of("HTTP/1.1 200 OK\r\nContent-Le").code(), ErrorCode::kUnavailable);
  EXPECT_EQ(error_of("HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\nCon").code(),
            ErrorCode::kUnavailable);
  EXPECT_FALSE(call("http://127.0.0.1:1").reply);
  EXPECT_EQ(error_of("HTTP/1.1 200 OK\r\n" + std::string(70'000, 'h') + ": x\r\n\r\n").code(),
            ErrorCode::kDataLoss);
  std::string many = "HTTP/1.1 200 OK\r\n";
  for (int i = 0; i < 10'000; ++i) many += "X-Header: value\r\n";
  EXPECT_EQ(error_of(many).code(), ErrorCode::kDataLoss);
}

TEST(HttpClient, EncodedTransfersAreRefused) {
  const std::string head = "HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\nTransfer-Encoding: ";
  for (const char* coding : {"gzip", "gzip, gzip", "gzip, chunked", "chunked, gzip", "identity", "x", ""}) {
    EXPECT_EQ(error_of(head + coding + "\r\n\r\n1\r\na\r\n0\r\n\r\n").code(), ErrorCode::kDataLoss) << coding;
  }
  RawServer server([&](RawSocket& socket) {
    socket.receive_message();
    socket.send(head + "Chunked \r\n\r\n1\r\na\r\n0\r\n\r\n");
  });
  EXPECT_EQ(text_of(*call(server.url()).reply), "a");
}

TEST(HttpClient, AReplyThatBreaksOffIsUnavailable) {
  const auto whole = raw_reply(std::string(1000, 'x'));
  const auto error = error_of(whole.substr(0, whole.size() - 1));
  EXPECT_EQ(error.code(), ErrorCode::kUnavailable);
  EXPECT_TRUE(has(error.message(), "middle of its reply"));
  RawServer resetting([&](RawSocket& socket) {
    socket.receive_message();
    socket.send(whole.substr(0, whole.size() / 2));
    socket.reset();
  });
  const auto outcome = call(resetting.url());
  expect_error(outcome.reply, ErrorCode::kUnavailable);
}

TEST(HttpClient, RepliesAreBoundedToTheByte) {
  CallOptions options;
  options.max_reply_bytes = 1000;
  EXPECT_EQ(error_of(raw_reply(std::string(1001, 'x')), options).code(), ErrorCode::kDataLoss);
  const std::string chunked =
      "HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\nTransfer-Encoding: "
      "chunked\r\n\r\n3e9\r\n" +
      std::string(1001, 'x') + "\r\n0\r\n\r\n";
  EXPECT_EQ(error_of(chunked, options).code(), ErrorCode::kDataLoss);
  RawServer exact([](RawSocket& socket) {
    socket.receive_message();
    socket.send(raw_reply(std::string(1000, 'x')));
    socket.receive_all();
  });
  EXPECT_TRUE(call(exact.url(), "abc", options).reply);
  // One that never stops is cut off at once, not at the deadline.
  RawServer endless([](RawSocket& socket) {
    socket.receive_message();
    socket.send("HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\n\r\n");
    while (socket.send(std::string(65536, 'x'))) {
    }
  });
  const auto outcome = call(endless.url(), "abc", options);
  expect_error(outcome.reply, ErrorCode::kDataLoss, "1000");
}

TEST(HttpClient, ADeadlineBeyondTheClockIsNone) {
  RunningServer server;
  auto transport = make_transport({server.url()});
  CallOptions options;
  options.deadline = std::chrono::milliseconds::max();
  const auto reply = transport.query_all({bytes_of("abc")}, options).at(0).reply;
  ASSERT_TRUE(reply) << reply.error().to_string();
  EXPECT_EQ(text_of(*reply), "cba");
}

TEST(HttpClient, TheDeadlineHolds) {
  RawServer* self = nullptr;
  RawServer silent([&](RawSocket& socket) {
    socket.receive_message();
    self->doze(60s);
  });
  self = &silent;
  RawServer* self2 = nullptr;
  RawServer dripping([&](RawSocket& socket) {
    socket.receive_message();
    socket.send("HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\nContent-Length: 1000\r\n\r\n");
    for (int i = 0; i < 999 && socket.send("x"); ++i) self2->doze(60ms);
  });
  self2 = &dripping;
  RunningServer good;
  auto transport = make_transport({silent.url(), good.url(), dripping.url()});
  CallOptions options;
  options.deadline = 1s;
  const auto start = Clock::now();
  std::vector<std::size_t> settled;
  const auto outcomes = transport.query_all({bytes_of("ab"), bytes_of("ab"), bytes_of("ab")}, options,
                                            [&](std::size_t i, const CallOutcome&) {
                                              settled.push_back(i);
                                              return false;
                                            });
  const auto took = ms_since(start);
  EXPECT_GE(took, 995);
  EXPECT_LE(took, 20'000);  // the others would take a minute
  EXPECT_EQ(outcomes[0].reply.error().code(), ErrorCode::kUnavailable);
  EXPECT_EQ(outcomes[2].reply.error().code(), ErrorCode::kUnavailable);
  ASSERT_TRUE(outcomes[1].reply);
  ASSERT_EQ(settled.size(), 3u);
  EXPECT_EQ(settled[0], 1u);
}

TEST(HttpClient, TheCallersStopEndsTheRound) {
  RawServer* self = nullptr;
  std::atomic<int> asked = 0;
  RawServer silent([&](RawSocket& socket) {
    socket.receive_message();
    ++asked;
    self->doze(60s);
  });
  self = &silent;
  auto transport = make_transport({silent.url()});
  CallOptions options;
  options.deadline = 120s;
  options.stop = [&] { return asked > 0; };
  const auto start = Clock::now();
  const auto outcomes = transport.query_all({bytes_of("ab")}, options);
  EXPECT_LE(ms_since(start), 50'000);
  expect_error(outcomes[0].reply, ErrorCode::kUnavailable, "ended by the caller");
}

TEST(HttpClient, EnoughRepliesAbandonTheSlow) {
  RawServer* self = nullptr;
  std::atomic<bool> saw_close{false};
  RawServer sleeping([&](RawSocket& socket) {
    socket.receive_message();
    saw_close = socket.closed_within();
  });
  self = &sleeping;
  RunningServer a, b;
  auto transport = make_transport({self->url(), a.url(), b.url()});
  std::size_t replies = 0;
  const auto outcomes = transport.query_all({bytes_of("ab"), bytes_of("ab"), bytes_of("ab")}, {},
                                            [&](std::size_t, const CallOutcome& outcome) {
                                              replies += outcome.reply ? 1 : 0;
                                              return replies == 2;
                                            });
  EXPECT_TRUE(outcomes[1].reply);
  EXPECT_TRUE(outcomes[2].reply);
  expect_error(outcomes[0].reply, ErrorCode::kUnavailable, "abandoned");
  EXPECT_TRUE(eventually([&] { return saw_close.load(); }));
  // The next round is not confused by the one that was broken off.
  const auto again = transport.query_all({bytes_of("cd"), bytes_of("cd"), bytes_of("cd")}, {},
                                         [&](std::size_t i, const CallOutcome&) { return i == 2; });
  EXPECT_EQ(text_of(*again[2].reply), "dc");
}

TEST(HttpClient, ACallbackThatThrowsLeavesACleanTransport) {
  RunningServer a, b;
  auto transport = make_transport({a.url(), b.url()});
  EXPECT_THROW(transport.query_all(
                   {bytes_of("ab"), bytes_of("ab")}, {},
                   [](std::size_t, const CallOutcome&) -> bool { throw std::runtime_error("caller"); }),
               std::runtime_error);
  for (const auto& outcome : transport.query_all({bytes_of("cd"), bytes_of("cd")}, {})) {
    ASSERT_TRUE(outcome.reply) << outcome.reply.error().to_string();
    EXPECT_EQ(text_of(*outcome.reply), "dc");
  }
}

TEST(HttpClient, AServerThatIsDownIsUnavailableAtOnce) {
  std::string url;
  {
    RunningServer gone;
    url = gone.url();
  }
  RunningServer good;
  auto transport = make_transport({url, good.url()});
  const auto outcomes = transport.query_all({bytes_of("ab"), bytes_of("ab")}, {});
  expect_error(outcomes[0].reply, ErrorCode::kUnavailable);
  EXPECT_TRUE(outcomes[1].reply);
}

}  // namespace
}  // namespace pirx::http
