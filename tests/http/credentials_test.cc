// SPDX-License-Identifier: Apache-2.0
// Tokens go to the server that they are for, and to no other.
#include "pirx/http/credentials.h"

#include <gtest/gtest.h>

#include <vector>

namespace pirx::http {
namespace {

std::vector<Endpoint> servers(std::vector<std::string> urls) {
  std::vector<Endpoint> endpoints;
  for (auto& url : urls) endpoints.push_back({.url = std::move(url)});
  return endpoints;
}

TEST(Credentials, EveryServerGetsItsToken) {
  auto endpoints = servers({"https://a:1", "https://a:11", "https://b:1/v1/db/x", "https://c:1"});
  ASSERT_TRUE(
      give_tokens("# mine\nhttps://a:1 one\r\n\nhttps://b:1/ two\nhttps://elsewhere:1 three", endpoints));
  EXPECT_EQ(endpoints[0].token.expose(), "one");
  EXPECT_EQ(endpoints[1].token.expose(), "");
  EXPECT_EQ(endpoints[2].token.expose(), "two");
  EXPECT_EQ(endpoints[3].token.expose(), "");
}

TEST(Credentials, AWordAloneIsForOneServerOnly) {
  auto one = servers({"https://a:1"});
  ASSERT_TRUE(give_tokens("s3cret\n", one));
  EXPECT_EQ(one[0].token.expose(), "s3cret");
  auto two = servers({"https://a:1", "https://b:1"});
  const auto refused = give_tokens("s3cret\n", two);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message().find("s3cret"), std::string::npos);
  EXPECT_EQ(two[0].token.expose() + two[1].token.expose(), "");
}

TEST(Credentials, BrokenFilesAreRefusedWithoutTheirWords) {
  for (const char* text :
       {"", "# nothing\n", "s3cret\ns3cret2\n", "https://a:1 one\ns3cret\n", "https://a:1 s3cret more",
        "https://a:1  s3cret", "https://a:1 ", "a:1 s3cret", "s3cret https://a:1", "https:// s3cret",
        "https:/// s3cret", "https://a:1 s3cret\nhttps://b:1 s3cret", "s3cret\nhttps://b:1 one",
        "s3cret\xc3\n", "https://a:1 s3cret\rX:1", "https://a:1 one\nhttps://a:1/ s3cret"}) {
    auto endpoints = servers({"https://a:1"});
    const auto given = give_tokens(text, endpoints);
    // A word behind a token is no URL, whatever it looks like.
    if (given) {
      ADD_FAILURE() << text;
      continue;
    }
    EXPECT_EQ(given.error().code(), ErrorCode::kInvalidArgument);
    EXPECT_EQ(given.error().message().find("s3cret"), std::string::npos) << given.error().message();
  }
  auto endpoints = servers({"https://a:1"});
  EXPECT_EQ(give_credentials({.token_file = "/nowhere", .certificate_file = {}, .key_file = {}}, endpoints)
                .error()
                .code(),
            ErrorCode::kUnavailable);
}

TEST(Credentials, EveryServerIsShownTheCertificate) {
  auto endpoints = servers({"https://a:1", "https://b:1"});
  ASSERT_TRUE(
      give_credentials({.token_file = {}, .certificate_file = "c.pem", .key_file = "c.key"}, endpoints));
  for (const auto& endpoint : endpoints) {
    EXPECT_EQ(endpoint.certificate_file, "c.pem");
    EXPECT_EQ(endpoint.key_file, "c.key");
    EXPECT_EQ(endpoint.token.expose(), "");
  }
}

}  // namespace
}  // namespace pirx::http
