// SPDX-License-Identifier: Apache-2.0
// Addresses of servers: one spelling for each, and nothing that could be read in two ways.
#include "pirx/http/endpoint.h"

#include <gtest/gtest.h>

#include "support/files.h"

namespace pirx::http {
namespace {

using testing::expect_error;
using testing::good;

TEST(Endpoint, HasOneSpelling) {
  const std::pair<const char*, const char*> kCases[] = {
      {"http://127.0.0.1", "http://127.0.0.1:80 /v1"},
      {"HTTPS://Example.ORG", "https://example.org:443 /v1"},
      {"https://example.org:/", "https://example.org:443 /v1"},
      {"https://example.org:00443", "https://example.org:443 /v1"},
      {"http://127.1:8101", "http://127.0.0.1:8101 /v1"},
      {"http://0x7f.1", "http://127.0.0.1:80 /v1"},
      {"http://2130706433", "http://127.0.0.1:80 /v1"},
      {"http://[0:0::1]:80", "http://[::1]:80 /v1"},
      {"https://[2001:DB8::1]", "https://[2001:db8::1]:443 /v1"},
      {"https://1.example.org/v1/db/a-B_c.9", "https://1.example.org:443 /v1/db/a-B_c.9"},
      {"https://xn--mnchen-3ya.example", "https://xn--mnchen-3ya.example:443 /v1"},
  };
  for (const auto& [url, expected] : kCases) {
    const auto address = parse_address({.url = url});
    ASSERT_TRUE(good(address)) << url;
    EXPECT_EQ(address->origin + " " + address->root, expected);
  }
}

TEST(Endpoint, RefusesWhatCanBeReadInTwoWays) {
  for (const std::string url : {"",
                                "http:/127.0.0.1",
                                "http:///127.0.0.1",
                                "http://127.0.0.1\\@example.org",
                                "http://a%2eb",
                                "https://example.org/v1",
                                "https://example.org//",
                                "https://example.org/v1/db/",
                                "https://a/v1/db/x/",
                                "https://a/v1/db/../x",
                                "https://a/v1/db/.x",
                                "https://example.org:0",
                                "https://example.org:-1",
                                "https://example.org:+1",
                                "https://example.org:65536",
                                "https://example.org:443:443",
                                "https://:443",
                                "https://[::1",
                                "https://::1",
                                "https://[::1]x",
                                "https://[fe80::1%25eth0]",
                                "https://[1.2.3.4]",
                                "https://[]",
                                "https://a b",
                                "https://a\tb",
                                "https://user@example.org",
                                "https://a;b",
                                "https://fa\xc3\x9f.example",
                                "ws://a"}) {
    expect_error(parse_address({.url = url}), ErrorCode::kInvalidArgument, "server address");
  }
  const std::string zero("https://example.org\0.evil.example", 33);
  expect_error(parse_address({.url = zero}), ErrorCode::kInvalidArgument, "not a URL");
}

TEST(Endpoint, KnowsThisMachine) {
  for (const char* url : {"http://localhost", "https://LOCALHOST:1", "http://127.255.0.1",
                          "http://[::1]/v1/db/x", "http://127.1"}) {
    EXPECT_TRUE(is_loopback_url(url)) << url;
  }
  for (const char* url : {"", "localhost", "http://128.0.0.1", "http://127.0.0.1.example.org", "http://[::2]",
                          "http://127.0.0.1@example.org", "http://example.org/127.0.0.1"}) {
    EXPECT_FALSE(is_loopback_url(url)) << url;
  }
}

TEST(Endpoint, PlaintextStaysOnThisMachine) {
  expect_error(parse_address({.url = "http://10.0.0.1"}), ErrorCode::kInvalidArgument, "plaintext");
  EXPECT_TRUE(good(parse_address({.url = "http://10.0.0.1", .allow_plaintext = true})));
  EXPECT_TRUE(good(parse_address({.url = "http://localhost:5"})));
}

TEST(Endpoint, OneServerIsNotTwo) {
  const std::vector<Endpoint> two = {{.url = "https://a.example/v1/db/x"}, {.url = "https://A.example:443"}};
  expect_error(parse_addresses(two), ErrorCode::kInvalidArgument, "listed twice");
  const std::vector<Endpoint> others = {{.url = "https://a.example:1"}, {.url = "https://a.example:2"}};
  const auto addresses = parse_addresses(others);
  ASSERT_TRUE(good(addresses));
  EXPECT_EQ(addresses->size(), 2u);
}

}  // namespace
}  // namespace pirx::http
