// SPDX-License-Identifier: Apache-2.0
// A server among bad clients that know the protocol: wrong headers and lengths in queries over HTTP. Other
// bad clients are bad_client_test's in tests/http.
#include <gtest/gtest.h>

#include <optional>

#include "database/database_fixture.h"
#include "http/http_support.h"
#include "pirx/itpir/goldberg/server.h"

namespace pirx::http {
namespace {

using namespace testing;

std::string ask(std::uint16_t port, const std::string& text) {
  return RawSocket::sending(port, text).receive_message();
}

/// A real server half over HTTP.
class BadProtocolClient : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto file = folder_ / "records.pirx";
    std::vector<Bytes> records;
    for (int i = 0; i < 40; ++i) records.emplace_back(16, static_cast<std::byte>(i));
    ASSERT_TRUE(database::build(file, records, {}, {.fixed_record_bytes = 16}));
    auto database = database::Database::open(file);
    ASSERT_TRUE(database);
    rows_ = (*database)->geometry().rows();
    version_ = (*database)->version();
    auto protocol = itpir::goldberg::make_server(
        *database, {.coordinate = 1, .threads = 1, .max_queries_per_request = 4});
    ASSERT_TRUE(protocol);
    auto server = HttpServer::create(std::move(*protocol), quick_options(), {});
    ASSERT_TRUE(server) << server.error().to_string();
    server_.emplace(std::move(*server));
    thread_ = std::thread([this] { EXPECT_TRUE(server_->run()); });
  }
  void TearDown() override {
    if (!server_) return;
    server_->stop();
    if (thread_.joinable()) thread_.join();
  }

  /// docs/wire_format.md section 2, written here by hand: a right query for row 0 by the shares 1, 0, 0...
  std::string query() const {
    std::string text("PIRX\x01\x00\x01\x01\x01\x00\x08\x00\x1b\x00\x00\x00", 16);
    text += as_text(version_.identity);
    for (const std::uint64_t number : {version_.epoch, std::uint64_t{1}, std::uint64_t{1}, rows_}) {
      for (int shift = 0; shift < 64; shift += 8) text += static_cast<char>(number >> shift);
    }
    text += '\x01';
    return text + std::string(rows_ - 1, '\0');
  }
  std::string changed(std::size_t at, char to) const {
    auto text = query();
    text.at(at) = to;
    return text;
  }
  void expect_refused(const std::string& message, int status, const std::string& code) {
    const auto answer = ask(server_->port(), query_text(message));
    EXPECT_TRUE(is_status(answer, status));
    EXPECT_TRUE(has(answer, "\r\nPirx-Error: " + code + "\r\n")) << answer;
    EXPECT_TRUE(has(body_of(answer), "\"code\":\"" + code + "\"")) << answer;
  }

  pirx::testing::TemporaryFolder folder_;
  std::uint64_t rows_ = 0;
  database::Version version_;
  std::optional<HttpServer> server_;
  std::thread thread_;
};

TEST_F(BadProtocolClient, WhatIsForAnotherDatabaseEpochOrProtocolIsToldSo) {
  ASSERT_TRUE(is_status(ask(server_->port(), query_text(query())), 200));
  const auto flipped = [&](std::size_t at) { return changed(at, static_cast<char>(query()[at] ^ 1)); };
  expect_refused(flipped(16), 409, "StaleEpoch");  // identity: first and last byte
  expect_refused(flipped(47), 409, "StaleEpoch");
  expect_refused(changed(48, '\x63'), 409, "StaleEpoch");  // epoch
  expect_refused(changed(55, '\x7f'), 409, "StaleEpoch");
  for (const char protocol : {'\x00', '\x02', '\x03', '\x04', '\x05', '\x06', '\xff'}) {
    expect_refused(changed(7, protocol), 400, "InvalidArgument");
  }
  expect_refused(changed(0, 'p'), 400, "InvalidArgument");     // magic
  expect_refused(changed(4, '\x02'), 400, "InvalidArgument");  // version
  for (const char type : {'\x00', '\x02', '\x03', '\x05'}) {
    expect_refused(changed(6, type), 400, "InvalidArgument");
  }
  expect_refused(changed(8, '\x02'), 400, "InvalidArgument");  // field: kind, polynomial
  expect_refused(changed(12, '\x1d'), 400, "InvalidArgument");
  expect_refused(changed(56, '\x02'), 400, "InvalidArgument");  // coordinate
  expect_refused(changed(68, '\x01'), 400, "InvalidArgument");  // reserved
  EXPECT_TRUE(is_status(ask(server_->port(), query_text(query())), 200));
  for (const char* path : {"/v1/other/query", "/v1/query/other", "/v2/query", "/query"}) {
    auto text = query_text(query());
    text.replace(text.find("/v1/query"), 9, path);
    EXPECT_TRUE(is_status(ask(server_->port(), text), 404)) << path;
  }
}

TEST_F(BadProtocolClient, BodiesOfAnotherLengthThanTheirHeaderSaysAreRefused) {
  const auto good = query();
  for (std::size_t length = 0; length < good.size(); ++length) {
    const auto answer = ask(server_->port(), query_text(good.substr(0, length)));
    EXPECT_TRUE(is_status(answer, 400)) << length;
  }
  expect_refused(good + "x", 400, "InvalidArgument");
  expect_refused(changed(64, '\x00'), 400, "InvalidArgument");  // queries: none, more than there are
  expect_refused(changed(64, '\x02'), 400, "InvalidArgument");
  expect_refused(changed(67, '\x7f'), 400, "InvalidArgument");
  expect_refused(changed(72, static_cast<char>(rows_ + 1)), 400, "InvalidArgument");  // length
  expect_refused(changed(79, '\x7f'), 400, "InvalidArgument");
  const std::size_t most = 80 + 4 * rows_;
  EXPECT_TRUE(
      is_status(ask(server_->port(), query_text(good + std::string(most - good.size() + 1, 'x'))), 413));
  EXPECT_TRUE(is_status(ask(server_->port(), query_text(good)), 200));
}

/// Seeds are short: a message may hold more of them than the server takes and be no longer than a query.
TEST_F(BadProtocolClient, TheLengthAloneDecidesBetweenTooLongAndTooMany) {
  const auto seeded = [&](char queries) {
    auto text = query().substr(0, 80);
    text[6] = '\x04';
    text[64] = queries;
    return text + std::string(32 * static_cast<std::size_t>(queries), 's');
  };
  const std::size_t most = 80 + 4 * std::max<std::size_t>(rows_, 32);
  EXPECT_TRUE(is_status(ask(server_->port(), query_text(seeded(4))), 200));
  char too_many = 5;
  for (; seeded(too_many).size() <= most; ++too_many) {
    expect_refused(seeded(too_many), 400, "InvalidArgument");
    EXPECT_TRUE(has(ask(server_->port(), query_text(seeded(too_many))), "this server takes 4"));
  }
  EXPECT_GT(too_many, 5);
  expect_refused(seeded(too_many), 413, "InvalidArgument");
}

}  // namespace
}  // namespace pirx::http
