// SPDX-License-Identifier: Apache-2.0
// HTTP: a connection of the server, on a pair of sockets without a network, and what both sides read of
// headers, paths, errors, addresses and tokens.
#include <sys/socket.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>

#include "pirx/base/json.h"
#include "pirx/http/credentials.h"
#include "pirx/http/tokens.h"
#include "service/http/http_error.h"
#include "service/http/paths.h"
#include "service/http/session.h"
#include "world.h"

namespace pirx::fuzz {
namespace {

constexpr char kTokens[] =
    "alice 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08\n";  // of "test"

/// What a server has around its connections. Lives as long as the process.
struct Surroundings {
  http::SessionHost host;
  boost::asio::io_context io{1};
  http::ComputeThread compute;
  http::Hosted hosted;

  explicit Surroundings(const http::HttpServerOptions& options)
      : host(options, nullptr),
        hosted({.name = "name",
                .server = std::shared_ptr<const AnyServer>(std::shared_ptr<void>(),
                                                           &World::of(Room::kGoldberg).server(0))},
               nullptr, compute) {
    host.databases = {&hosted};
    host.instance = std::string(32, 'a');
    host.on_drained = [] {};
  }
  std::size_t sessions() {
    const std::lock_guard lock(host.mutex);
    return host.sessions.size();
  }
  void poll() {
    io.restart();
    io.poll();
  }
};

http::HttpServerOptions options(bool closed) {
  http::HttpServerOptions options;
  options.batch_window = std::chrono::microseconds(0);
  options.metrics_for_all = !closed;
  options.max_header_bytes = 2048;
  if (closed) {
    options.authenticate = http::parse_tokens(kTokens).value();
    options.cors_origins = {"https://example.org"};
  }
  options.files = std::make_shared<const std::vector<http::StaticFile>>(
      std::vector<http::StaticFile>{{.path = "/page.html",
                                     .type = "text/html",
                                     .policy = "default-src 'self'",
                                     .gzip = true,
                                     .content = bytes_of("<p>")}});
  return options;
}

std::string query() {
  const auto body = World::of(Room::kGoldberg).requests().at(0).bytes;
  return "POST /v1/query HTTP/1.1\r\nHost: x\r\nContent-Type: application/octet-stream\r\nContent-Length: " +
         std::to_string(body.size()) + "\r\n\r\n" + std::string(as_text(body));
}

Seeds requests() {
  Seeds seeds;
  for (const std::string& text :
       {std::string("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\nGET /readyz HTTP/1.1\r\nHost: x\r\n\r\n"),
        std::string("GET /v1/parameters HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer test\r\n\r\n"),
        std::string("GET /v1/db/name/parameters HTTP/1.0\r\n\r\n"), query(), query() + query(),
        std::string(
            "GET / HTTP/1.1\r\nHost: x\r\nAccept: text/html\r\n\r\nGET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"),
        std::string("OPTIONS /v1/query HTTP/1.1\r\nHost: x\r\nOrigin: https://example.org\r\n"
                    "Access-Control-Request-Method: POST\r\n\r\n"),
        std::string(
            "POST /v1/query HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"),
        std::string("POST /v1/query HTTP/1.1\r\nHost: x\r\nContent-Type: application/octet-stream\r\n"
                    "Content-Length: 4294967296\r\nExpect: 100-continue\r\nPirx-Timeout: 100\r\n\r\nPIRX"),
        std::string("GET /page.html HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")}) {
    for (const char how : {0, 1, 64}) {
      seeds.push_back(bytes_of(how + text));
      seeds.back().front() = static_cast<std::byte>(how);
    }
  }
  return seeds;
}

}  // namespace

/// The first byte says which of two servers, and in pieces of which size the rest comes. Then the client
/// ends its side, and the connection must end.
PIRX_FUZZ(http_session, requests) {
  static auto* const open = new Surroundings(options(false));
  static auto* const closed = new Surroundings(options(true));
  Script script(input);
  const auto how = script.byte();
  auto& around = how & 1 ? *closed : *open;
  int ends[2];
  expect(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) == 0,
         "there are sockets");
  boost::asio::ip::tcp::socket socket(around.io);
  socket.assign(boost::asio::ip::tcp::v4(), ends[1]);
  auto session = http::make_session(std::move(socket), nullptr, around.host);
  expect(session != nullptr, "there is room for one connection");
  session->start();
  session.reset();
  std::string heard;
  const auto listen = [&] {
    char buffer[4096];
    for (;;) {
      const auto count = ::recv(ends[0], buffer, sizeof buffer, MSG_DONTWAIT);
      if (count <= 0) break;
      heard.append(buffer, static_cast<std::size_t>(count));
    }
  };
  const std::size_t piece = how >> 1 == 0 ? 1 << 16 : how >> 1;
  const auto all = script.rest();
  std::size_t pieces = 0;
  for (std::size_t at = 0; at < all.size() && pieces < 200; ++pieces) {
    const auto size = pieces == 199 ? all.size() - at : std::min(piece, all.size() - at);
    const auto sent = ::send(ends[0], all.data() + at, size, MSG_NOSIGNAL | MSG_DONTWAIT);
    around.poll();
    listen();
    if (sent <= 0) break;
    at += static_cast<std::size_t>(sent);
  }
  // A query that was admitted may be answered, if the client waits.
  if (all.size() > 4 && script.empty() && (all.size() & 7) == 0) {
    for (int i = 0; i < 20 && around.host.in_flight > 0; ++i) {
      around.io.restart();
      around.io.run_for(std::chrono::milliseconds(1));
      listen();
    }
  }
  ::shutdown(ends[0], SHUT_WR);
  const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (around.sessions() > 0) {
    around.io.restart();
    around.io.run_for(std::chrono::milliseconds(1));
    listen();
    expect(std::chrono::steady_clock::now() < patience, "a connection ends with its client");
  }
  ::close(ends[0]);
  expect(heard.empty() || heard.starts_with("HTTP/1.1 "), "what comes is HTTP/1.1");
  expect(around.host.in_flight == 0, "no request is left");
}

PIRX_FUZZ(http_path, [] {
  return texts({"/v1/query", "/v1/db/a.b-c_d/parameters", "/", "/metrics", "/v1/db//query", "/healthz"});
}) {
  const auto target = http::parse_target(as_text(input));
  if (!target.database.empty()) {
    expect(http::is_database_name(target.database) || target.page == http::Page::kNone, "a name is a name");
  }
  if (target.page == http::Page::kQuery || target.page == http::Page::kParameters) {
    const auto root = target.database.empty() ? std::string(http::kRootPath)
                                              : http::kDatabasePath + std::string(target.database);
    const auto* page = target.page == http::Page::kQuery ? http::kQueryPath : http::kParametersPath;
    expect(root + page == as_text(input), "paths are exact");
  }
}

PIRX_FUZZ(http_error, [] {
  auto seeds = texts({"{\"error\":{\"code\":\"StaleEpoch\",\"message\":\"new\"}}", "StaleEpoch", "{}"});
  seeds.push_back(bytes_of(http::error_body(Error(ErrorCode::kStaleEpoch, "epoch 2"),
                                            World::of(Room::kGoldberg).server(0).parameters())));
  return seeds;
}) {
  const auto text = as_text(input);
  const auto message = http::error_message(text, 100);
  expect(message.size() <= 100, "a message is cut");
  for (const auto c : message) expect(c >= 0x20 && c <= 0x7E, "a message steers no terminal");
  const auto parameters = http::error_parameters(text);
  expect(parameters.empty() || parameters_epoch(parameters).has_value(), "parameters have an epoch");
  const auto code = http::error_code_from_name(text);
  if (code) {
    expect(error_code_name(*code) == text, "a code has one name");
    static_cast<void>(http::http_status(*code));
  }
  const auto body = http::error_body(Error(kLoss, std::string(text)), input);
  expect(Json::parse(body, {.max_bytes = ~std::size_t{0}}).has_value(), "an error is JSON");
}

PIRX_FUZZ(tokens, [] { return texts({kTokens, "# c\n\na b\r\n", "bob"}); }) {
  const auto look = http::parse_tokens(as_text(input));
  expect_error(look, {kLoss}, "parse_tokens");
  if (look) {
    static_cast<void>((*look)("test"));
    expect(!(*look)(as_text(input)), "a file of digests is no token");
  }
}

PIRX_FUZZ(credentials, [] {
  return texts({"token-of-one", "https://a.example:443 first\nhttp://127.0.0.1:8100 second\n",
                "https://a.example first\r\n# x\n"});
}) {
  std::vector<http::Endpoint> servers(2);
  servers[0].url = "https://a.example";
  servers[1].url = "http://127.0.0.1:8100/v1/db/x";
  for (const std::size_t count : {std::size_t{1}, std::size_t{2}}) {
    auto endpoints = servers;
    const auto given = http::give_tokens(as_text(input), std::span(endpoints).first(count));
    expect_error(given, {kInvalid}, "give_tokens");
    for (const auto& endpoint : endpoints) {
      expect(endpoint.token.empty() || http::is_token(endpoint.token.expose()), "a token ends no header");
    }
    if (given) continue;
    for (const auto& endpoint : endpoints) {
      const auto& token = endpoint.token.expose();
      expect(token.size() < 12 || given.error().message().find(token) == std::string::npos,
             "no error has a token");
    }
  }
}

PIRX_FUZZ(address, [] {
  return texts({"https://pir.example.org", "http://127.0.0.1:8100/v1/db/x", "https://[::1]:1",
                "http://localhost:65535", "HTTPS://A.B:00443", "https://user@host", "https://xn--a.org:0"});
}) {
  const std::string url(as_text(input));
  const bool loopback = http::is_loopback_url(url);
  static_cast<void>(http::is_loopback(url));
  for (const bool plain : {false, true}) {
    const auto address = http::parse_address({.url = url, .allow_plaintext = plain});
    expect_error(address, {kInvalid}, "parse_address");
    if (!address) continue;
    const bool secure = address->origin.starts_with("https://");
    expect(secure || address->origin.starts_with("http://"), "an origin has a scheme");
    expect(secure || plain || loopback, "plain HTTP stays on this machine unless it is allowed");
    expect(address->root == http::kRootPath || address->root.starts_with(http::kDatabasePath),
           "a root is one");
    const auto again = http::parse_address({.url = address->origin, .allow_plaintext = plain});
    expect(again && again->origin == address->origin, "an origin is its own spelling");
    for (const auto c : address->origin) {
      expect(static_cast<unsigned char>(c) > 0x20 && c != 0x7F, "an origin ends no header");
    }
  }
}

PIRX_FUZZ(log_line, [] {
  return texts(
      {"\x05"
       "event\x03"
       "key\x05"
       "value\x01\x02",
       "\x03"
       "\xff\n\"\x01k\x04\\\t\x1b["});
}) {
  Script script(input);
  http::LogEvent event{script.text(), {}, {}};
  for (unsigned n = 0; n < 10 && !script.empty(); ++n) {
    auto name = script.text();
    event.text.emplace_back(std::move(name), script.text());
    event.numbers.emplace_back("n" + std::to_string(n), std::bit_cast<double>(script.number()));
  }
  const auto json = http::to_json(event);
  expect(json.find('\n') == std::string::npos, "an event is one line");
  expect(Json::parse(json, {.max_bytes = ~std::size_t{0}}).has_value() || event.text.size() > 1,
         "an event is JSON");
  for (const auto c : http::to_text(event)) expect(c >= 0x20 && c <= 0x7E, "a line steers no terminal");
}

}  // namespace pirx::fuzz
