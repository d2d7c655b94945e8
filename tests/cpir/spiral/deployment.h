// SPDX-License-Identifier: Apache-2.0
// A database, plans of small rings and whole rounds of the protocol for the tests.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>

#include "pirx/cpir/spiral/client.h"
#include "pirx/cpir/spiral/server.h"
#include "tests/cpir/test_database.h"

namespace pirx::cpir::spiral::testing {

class TestDatabase : public cpir::testing::TestDatabase {
 public:
  TestDatabase(std::uint64_t records, std::uint64_t record_bytes, bool plain, std::mt19937_64& engine)
      : cpir::testing::TestDatabase(records, record_bytes, std::min<std::uint64_t>(records, 3), plain,
                                    engine) {}
  Result<Params> params(const Scheme& scheme) const {
    return Params::create({database()->geometry(), database()->version(), scheme});
  }
};

using Call = std::function<Result<Bytes>(const Bytes& request)>;

/// A whole retrieval: query and reply, and where the server lacks the keys, these and another query.
inline Result<SecretVector<std::byte>> fetch(const Client& client, std::uint64_t item, Rng& rng,
                                             const Call& call) {
  PIRX_ASSIGN(const auto request, client.query(item, rng));
  PIRX_ASSIGN(auto reply, call(request));
  if (client.keys_unknown(reply)) {
    PIRX_ASSIGN(const auto held, call(client.keys()));
    PIRX_TRY(client.check_keys_held(held));
    PIRX_ASSIGN(const auto again, client.query(item, rng));
    PIRX_ASSIGN(reply, call(again));
  }
  return client.decode(item, reply);
}

/// A ring of dimension 256 without any security.
inline Scheme toy_scheme() {
  return {.policy = Policy::kToy,
          .log_d = 8,
          .log_p = 8,
          .log_columns = 2,
          .fold = {.z = 512, .drop = 3, .bits = 2}};
}

inline Result<Bytes> answer(const AnyServer& server, ByteSpan request, std::string_view sender = {}) {
  auto replies = server.answer_from({&request, 1}, {&sender, 1});
  EXPECT_EQ(replies.size(), 1u);
  return std::move(replies.at(0));
}

/// Client and server of one database.
struct Deployment {
  Deployment(const TestDatabase& db, const Scheme& scheme, ServerOptions options = {.threads = 1})
      : records(db.records()), rng(Rng::from_os().value()) {
    options.scheme = scheme;
    options.allow_insecure = true;
    server = make_spiral_server(db.database(), options).value();
    client =
        std::make_unique<Client>(Client::create(Params::decode(server->parameters()).value(), true).value());
    const auto held = answer(*server, client->keys());
    EXPECT_TRUE(held) << held.error().message();
    EXPECT_TRUE(client->check_keys_held(*held));
  }
  const Params& params() const { return client->params(); }

  /// Fetches an item and compares all its records.
  void fetch(std::uint64_t item) {
    const auto request = client->query(item, rng).value();
    ASSERT_EQ(request.size(), params().request_bytes());
    ASSERT_EQ(server->admit(request).value(), 1u);
    const auto reply = answer(*server, request);
    ASSERT_TRUE(reply) << reply.error().message();
    ASSERT_EQ(reply->size(), params().reply_bytes());
    expect_item(item, client->decode(item, *reply).value());
  }
  void expect_item(std::uint64_t item, const SecretVector<std::byte>& bytes) const {
    const auto& geometry = params().geometry();
    ASSERT_EQ(bytes.size(), params().item_bytes());
    for (std::uint64_t record = 0; record < records.size(); ++record) {
      const auto at = params().locate(record).value();
      if (at.row != item) continue;
      const auto slot =
          std::span(bytes.expose())
              .subspan(static_cast<std::size_t>(at.offset), static_cast<std::size_t>(geometry.slot_bytes()));
      const auto data = geometry.read_slot(record, slot);
      ASSERT_TRUE(data) << data.error().message();
      ASSERT_TRUE(std::equal(data->begin(), data->end(), records[record].begin(), records[record].end()));
    }
  }

  const std::vector<Bytes>& records;
  Rng rng;
  std::unique_ptr<AnyServer> server;
  std::unique_ptr<Client> client;
};

}  // namespace pirx::cpir::spiral::testing
