// SPDX-License-Identifier: Apache-2.0
// The status page (GET /) and what /metrics says about the program.
#include <gtest/gtest.h>
#include <ifaddrs.h>
#include <openssl/sha.h>

#include <limits>
#include <regex>

#include "http/http_support.h"
#include "pirx/base/json.h"
#include "pirx/http/content_state.h"
#include "service/http/session.h"

namespace pirx::http {
namespace {

using namespace testing;

constexpr char kBrowser[] = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";

/// A server's state with no server around it: databases of any name, with what happened to them.
struct Rig {
  explicit Rig(std::vector<std::string> names) {
    for (auto& name : names) {
      auto fake = std::make_shared<FakeServer>();
      hosted.push_back(std::make_unique<Hosted>(
          HostedDatabase{std::move(name), std::move(fake), {}, "goldberg"}, LogSink(), compute));
      host.databases.push_back(hosted.back().get());
    }
  }
  std::string html() { return status_page(host, true).text; }
  Json json() { return *Json::parse(status_page(host, false).text, {}); }
  Json database(std::size_t i = 0) { return (*json()["databases"].list())[i]; }

  SessionHost host{HttpServerOptions(), LogSink()};
  ComputeThread compute;
  std::vector<std::unique_ptr<Hosted>> hosted;
};

std::string asked(const RunningServer& server, const std::string& path, const std::string& accept = "") {
  return RawSocket::sending(server.port(), "GET " + path + " HTTP/1.1\r\nHost: x\r\n" +
                                               (accept.empty() ? "" : "Accept: " + accept + "\r\n") + "\r\n")
      .receive_message();
}

bool is_html(const std::string& reply) {
  return has(reply, "\r\nContent-Type: text/html; charset=utf-8\r\n");
}
bool is_json(const std::string& reply) { return has(reply, "\r\nContent-Type: application/json\r\n"); }

TEST(StatusPage, PeopleGetHtmlAndProgramsJson) {
  RunningServer server;
  for (const char* accept : {kBrowser, "text/html", "TEXT/HTML ;q=0.1", "image/png, text/html;q=1.0"}) {
    const auto reply = asked(server, "/", accept);
    EXPECT_TRUE(is_status(reply, 200)) << reply;
    EXPECT_TRUE(is_html(reply)) << accept;
    EXPECT_TRUE(has(reply, "\r\nVary: Accept\r\n"));
    EXPECT_TRUE(has(body_of(reply), "<!DOCTYPE html>"));
  }
  for (const char* accept : {"", "*/*", "application/json", "text/html, application/json", "text/html;q=0",
                             "text/html; q=0.000", "text/htmlx", ",;,", "application/*"}) {
    const auto reply = asked(server, "/", accept);
    EXPECT_TRUE(is_json(reply)) << accept << reply;
    EXPECT_TRUE(has(reply, "\r\nX-Content-Type-Options: nosniff\r\n"));
    const auto json = Json::parse(body_of(reply), {});
    ASSERT_TRUE(json) << accept << json.error().to_string();
    EXPECT_EQ(*(*json)["state"].string(), "ready");
    EXPECT_EQ(*(*json)["in_flight_requests"].number(), 1u) << "the one that asks";
    EXPECT_EQ((*json)["databases"].list()->size(), 1u);
  }
  EXPECT_TRUE(is_status(asked(server, "/?x"), 404));
  EXPECT_TRUE(is_status(asked(server, "//"), 404));
  EXPECT_TRUE(
      is_status(RawSocket::sending(server.port(), "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n")
                    .receive_message(),
                405));
}

TEST(StatusPage, ItsPolicyLetsItsOwnStyleInAndNothingElse) {
  RunningServer server;
  const auto reply = asked(server, "/", kBrowser);
  std::smatch match;
  ASSERT_TRUE(
      std::regex_search(reply, match,
                        std::regex("\r\nContent-Security-Policy: default-src 'none'; style-src "
                                   "'sha256-([A-Za-z0-9+/=]{44})'; base-uri 'none'; form-action 'none'; "
                                   "frame-ancestors 'none'\r\n")))
      << reply;
  const auto wanted = match[1].str();
  const auto body = body_of(reply);
  ASSERT_TRUE(std::regex_search(body, match, std::regex("<style>([^<]*)</style>")));
  const auto style = match[1].str();
  unsigned char digest[SHA256_DIGEST_LENGTH], base64[45];
  SHA256(reinterpret_cast<const unsigned char*>(style.data()), style.size(), digest);
  EVP_EncodeBlock(base64, digest, sizeof digest);
  EXPECT_EQ(wanted, reinterpret_cast<const char*>(base64));
  EXPECT_FALSE(std::regex_search(body, std::regex("<script|style=|<link|<img| on[a-z]+=|http"))) << body;
}

// Servers refuse such names (Databases.NamesThatCannotBeAreRefused). The page does not rely on it.
TEST(StatusPage, NamesAreTextWhateverTheyHold) {
  Rig rig({"<script>alert('1')</script>", "a\"&b"});
  const auto html = rig.html();
  EXPECT_EQ(html.find("<script"), std::string::npos) << html;
  EXPECT_TRUE(has(html, "&#60;script&#62;alert(&#39;1&#39;)&#60;/script&#62;")) << html;
  EXPECT_TRUE(has(html, "a&#34;&#38;b")) << html;
  EXPECT_EQ(*rig.database(0)["name"].string(), "<script>alert('1')</script>");
  EXPECT_EQ(*rig.database(1)["name"].string(), "a\"&b");
  EXPECT_TRUE(has(Rig({""}).html(), "<td>-</td><td>goldberg</td>"))
      << "a server's only database may have no name";
}

TEST(StatusPage, NumbersAreThoseOfTheServerInUnitsThatPeopleRead) {
  Rig rig({"a"});
  EXPECT_FALSE(rig.database()["pass_seconds_median"].real()) << "null while there was no pass";
  auto& metrics = rig.hosted[0]->metrics();
  metrics.queries = 1'234'567;
  for (int i = 0; i < 99; ++i) metrics.pass_seconds.add(0.0034);
  metrics.pass_seconds.add(100);
  metrics.queue_seconds.add(0.00015);
  metrics.pass_queries.add(2);
  metrics.pass_queries.add(3);
  rig.host.metrics.count_reply(200, 1'234'567'890);
  rig.host.metrics.count_reply(429, 0);

  const auto json = rig.json();
  const auto database = rig.database();
  EXPECT_EQ(*database["queries"].number(), 1'234'567u);
  // The median of values that lie evenly between 2 and 5 ms is where 50 of 99 are.
  EXPECT_NEAR(*database["pass_seconds_median"].real(), 0.002 + 0.003 * 50 / 99, 1e-6);
  EXPECT_NEAR(*database["pass_seconds_p99"].real(), 0.005, 1e-6);
  EXPECT_NEAR(*database["queue_seconds_median"].real(), 0.00015, 1e-6);
  EXPECT_EQ(*database["pass_queries_mean"].real(), 2.5);
  EXPECT_EQ(*database["backlog_seconds"].number(), 0u);
  EXPECT_EQ(*database["protocol"].string(), "goldberg");
  EXPECT_EQ(*json["requests"]["200"].number(), 1u);
  EXPECT_EQ(*json["requests"]["429"].number(), 1u);
  EXPECT_EQ(*json["requests"]["500"].number(), 0u);
  EXPECT_EQ(*json["reply_bytes"].number(), 1'234'567'890u);
  EXPECT_EQ(*json["version"].string(), build_info()[0].second);

  const auto html = rig.html();
  for (const char* text :
       {"<td>1,234,567</td>", "<td>3.52 ms</td>", "<td>5 ms</td>", "<td>150 µs</td>", "<td>1.23 GB</td>",
        "<td>200: 1; 429: 1</td>", "<td>goldberg</td>", "<td>0 s</td>", "<td>2.5</td>",
        "<td>not checked yet</td>", "<td>0 bytes</td>", "<td>ready</td>"}) {
    EXPECT_TRUE(has(html, text)) << text << "\n" << html;
  }
  rig.host.draining = true;
  EXPECT_TRUE(has(rig.html(), "<td>stopping</td>"));
}

TEST(StatusPage, SaysWhetherTheContentIsSound) {
  struct Checked : FakeServer, ContentState {
    explicit Checked(bool is_sound) : is_sound_(is_sound) {}
    std::optional<bool> sound() const noexcept override { return is_sound_; }
    const bool is_sound_;
  };
  for (const bool sound : {true, false}) {
    Rig rig({"a"});
    auto server = std::make_shared<Checked>(sound);
    rig.hosted[0]->replace(server, server->parameters(), {});
    EXPECT_EQ(*rig.database()["sound"].boolean(), sound);
    EXPECT_TRUE(has(rig.html(), sound ? "<td>sound</td>" : "<td>damaged</td>"));
  }
}

TEST(StatusPage, TellsNothingOfClientsTokensAndFiles) {
  auto options = quick_options();
  const std::string token(32, 'x');
  options.authenticate = [&](std::string_view shown) {
    return shown == token ? std::optional<std::string>("alice") : std::nullopt;
  };
  RunningServer server(options);
  auto socket = RawSocket::sending(
      server.port(), "GET /v1/parameters HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + token + "\r\n\r\n");
  EXPECT_TRUE(is_status(socket.receive_message(), 200));
  for (const char* accept : {kBrowser, "application/json"}) {
    const auto body = body_of(asked(server, "/", accept));
    ASSERT_FALSE(body.empty()) << "open without a token, like /metrics";
    for (const auto& word : {std::string("alice"), token, std::string("127.0.0"), std::string("tmp")}) {
      EXPECT_FALSE(has(body, word)) << word << body;
    }
  }
}

/// An IPv4 address of this machine by which it is not known to be this machine; nothing: it has none.
std::optional<in_addr> outer_address() {
  ifaddrs* all = nullptr;
  if (::getifaddrs(&all) != 0) return std::nullopt;
  std::optional<in_addr> found;
  for (const auto* at = all; at != nullptr; at = at->ifa_next) {
    if (at->ifa_addr == nullptr || at->ifa_addr->sa_family != AF_INET) continue;
    const auto address = reinterpret_cast<const sockaddr_in*>(at->ifa_addr)->sin_addr;
    if ((ntohl(address.s_addr) >> 24) != 127) found = address;
  }
  ::freeifaddrs(all);
  return found;
}

TEST(StatusPage, IsForThisMachineLikeTheMetrics) {
  const auto outside = outer_address();
  if (!outside) GTEST_SKIP() << "this machine has no address but loopback";
  for (const bool for_all : {false, true}) {
    auto options = quick_options();
    options.address = "0.0.0.0";
    options.allow_plaintext = true;
    options.metrics_for_all = for_all;
    RunningServer server(options);
    for (const char* path : {"/", "/metrics"}) {
      EXPECT_TRUE(is_status(asked(server, path), 200)) << path;
      RawSocket socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
      sockaddr_in address{};
      address.sin_family = AF_INET;
      address.sin_addr = *outside;
      address.sin_port = htons(server.port());
      ASSERT_EQ(::connect(socket.fd(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
      socket.send(get_text(path));
      EXPECT_TRUE(is_status(socket.receive_message(), for_all ? 200 : 404)) << path;
    }
  }
}

TEST(StatusPage, IsNotForSitesWhoseNamesLeadHere) {
  for (const bool no_sites : {false, true}) {
    auto options = quick_options();
    options.no_sites = no_sites;
    RunningServer server(options);
    const auto status = [&](const std::string& path, const std::string& host, unsigned expected) {
      auto socket = RawSocket::connect_to(server.port());
      socket.send("GET " + path + " HTTP/1.1\r\nHost: " + host + "\r\n\r\n");
      EXPECT_TRUE(is_status(socket.receive_message(), expected)) << path << " " << host;
    };
    for (const std::string path : {"/", "/status", "/metrics", "/v1/parameters"}) {
      for (const char* host : {"127.0.0.1", "127.0.0.1:8101", "localhost", "[::1]:8101", "pir1"}) {
        status(path, host, 200);
      }
      const bool open = path == "/v1/parameters";
      for (const char* host : {"evil.example", "evil.example:8101", "127.0.0.1.evil.example", "1.2.3"}) {
        status(path, host, no_sites ? 421 : open ? 200 : 404);
      }
    }
  }
}

TEST(Quantile, LiesWhereTheBucketSaysItMay) {
  Histogram histogram({1, 2, 4});
  EXPECT_FALSE(histogram.quantile(0.5));
  histogram.add(0.7);
  EXPECT_DOUBLE_EQ(*histogram.quantile(0.5), 0.5);  // the middle of 0 to 1
  histogram.add(3);
  EXPECT_DOUBLE_EQ(*histogram.quantile(0.5), 1);
  EXPECT_DOUBLE_EQ(*histogram.quantile(1), 4);
  EXPECT_DOUBLE_EQ(histogram.sum(), 3.7);
  for (int i = 0; i < 8; ++i) histogram.add(1e9);
  EXPECT_DOUBLE_EQ(*histogram.quantile(0.5), 4) << "beyond the last bound nothing is known";
}

TEST(Decimal, HasNoExponentAndNoNoise) {
  for (const auto& [value, text] :
       std::vector<std::pair<double, const char*>>{{0, "0"},
                                                   {1e-5, "0.00001"},
                                                   {1e-4 * 3, "0.0003"},
                                                   {0.1 + 0.2, "0.3"},
                                                   {100, "100"},
                                                   {-2.5, "-2.5"},
                                                   {1e21, "1000000000000000000000"},
                                                   {1e-12, "0"},
                                                   {std::numeric_limits<double>::infinity(), "+Inf"},
                                                   {-std::numeric_limits<double>::infinity(), "-Inf"},
                                                   {std::numeric_limits<double>::quiet_NaN(), "NaN"}}) {
    EXPECT_EQ(decimal(value), text);
  }
  EXPECT_EQ(decimal(std::numeric_limits<double>::max()).size(), 309u);
  EXPECT_EQ(decimal(1234.5678, 1), "1234.6");
  EXPECT_EQ(decimal(100, 0), "100");
}

TEST(Metrics, SayWhatRunsAndSinceWhen) {
  RunningServer server;
  const auto page = body_of(asked(server, "/metrics"));
  EXPECT_TRUE(std::regex_search(
      page,
      std::regex("\npirx_build_info\\{version=\"[0-9.]+\",isa=\"[a-z0-9+]+\",compiler=\"[^\"]+\"\\} 1\n")))
      << page;
  std::smatch match;
  ASSERT_TRUE(std::regex_search(page, match, std::regex("\nprocess_start_time_seconds ([0-9.]+)\n"))) << page;
  const std::chrono::duration<double> now = std::chrono::system_clock::now().time_since_epoch();
  EXPECT_LE(std::stod(match[1]), now.count());
  EXPECT_GT(std::stod(match[1]), now.count() - 3600);
  EXPECT_FALSE(std::regex_search(page, std::regex(" [0-9.]+e[-+]?[0-9]"))) << page;
}

}  // namespace
}  // namespace pirx::http
