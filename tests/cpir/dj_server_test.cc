// SPDX-License-Identifier: Apache-2.0
// Client and server over a database file: whole protocol, hostile queries and replies, options.
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <mutex>
#include <set>

#include "database/database_fixture.h"
#include "dj_support.h"
#include "pirx/batchcodes/encode_database.h"
#include "pirx/cpir/dj/cipher.h"
#include "pirx/cpir/dj/client.h"
#include "pirx/cpir/dj/server.h"
#include "src/protocol/message.h"
#include "support/forks.h"
#include "support/seed.h"
#include "support/serve.h"

namespace pirx::cpir::dj {
namespace {

using testing::KnownKey;

class DjServer : public ::testing::Test {
 protected:
  void SetUp() override {
    auto engine = pirx::testing::seeded_engine();
    for (int i = 0; i < 50; ++i) records_.push_back(pirx::testing::random_bytes(engine, 1 + engine() % 40));
    ASSERT_TRUE(database::build(folder_ / "db", records_, {}, {.records_per_row = 3}));
    database_ = database::Database::open(folder_ / "db").value();
  }

  static ServerOptions toy_options(std::vector<std::uint32_t> arities = {3, 6}) {
    ServerOptions options;
    options.arities = std::move(arities);
    options.modulus_bits = 128;
    options.policy = KeyPolicy::kToy;
    options.threads = 2;
    return options;
  }
  std::unique_ptr<AnyServer> serve(const ServerOptions& options = toy_options()) const {
    return make_dj_server(database_, options).value();
  }
  static Params params_of(const AnyServer& server) { return Params::decode(server.parameters()).value(); }
  static Client client_of(const AnyServer& server, const char* key = "128") {
    return Client::create(params_of(server), KnownKey(key).secret()).value();
  }
  Bytes query(const Client& client, std::uint64_t row) { return client.query(row, rng_).value(); }
  static Result<Bytes> ask(const AnyServer& server, ByteSpan request) {
    auto admitted = server.admit(request);
    auto replies = server.answer({&request, 1});
    EXPECT_EQ(replies.size(), 1u);
    if (!admitted) {
      EXPECT_FALSE(replies[0].has_value());
    }
    return std::move(replies[0]);
  }
  /// Fetches the row.
  void expect_row(const Client& client, std::uint64_t row, ByteSpan reply) const {
    const auto got = client.decode(reply).value();
    EXPECT_TRUE(std::equal(got.expose().begin(), got.expose().end(), database_->rows().row(row)));
  }

  pirx::testing::TemporaryFolder folder_;
  std::vector<Bytes> records_;
  std::shared_ptr<const database::Database> database_;
  Rng rng_ = Rng::from_os().value();
};

TEST_F(DjServer, EveryRecordIsFetched) {
  unsigned leaf_layer = 0;
  for (const std::vector<std::uint32_t>& arities :
       {std::vector<std::uint32_t>{3, 6}, {2, 2, 2, 2, 2}, {17}, {}}) {
    auto options = toy_options(arities);
    options.leaf_layer = ++leaf_layer;
    const auto server = serve(options);
    EXPECT_EQ(server->protocol(), ProtocolId::kDamgardJurikTree);
    const auto client = client_of(*server);
    const auto& geometry = client.params().geometry();
    for (std::uint64_t i = 0; i < records_.size(); i += arities.size() == 2 ? 1 : 7) {
      const auto at = geometry.locate(i).value();
      const auto request = query(client, at.row);
      EXPECT_EQ(request.size(), server->max_request_bytes());
      EXPECT_EQ(server->admit(request).value(), 1u);
      const auto reply = ask(*server, request).value();
      EXPECT_LE(reply.size(), server->working_bytes(1));
      EXPECT_EQ(reply.size(), server->max_reply_bytes(1));
      const auto row = client.decode(reply).value();
      const auto slot = ByteSpan(row.expose()).subspan(at.offset, geometry.slot_bytes());
      const auto record = geometry.read_slot(i, slot).value();
      EXPECT_TRUE(std::equal(record.begin(), record.end(), records_[i].begin(), records_[i].end()));
      // A pure function of the query.
      EXPECT_EQ(ask(*server, request).value(), reply);
    }
  }
}

TEST_F(DjServer, ABatchEqualsItsSingles) {
  const auto server = serve();
  const auto client = client_of(*server);
  const auto first = query(client, 1), second = query(client, 2);
  const Bytes bad(first.size());
  const std::vector<ByteSpan> requests{first, bad, second};
  const auto replies = server->answer(requests);
  EXPECT_EQ(replies[0].value(), ask(*server, first).value());
  EXPECT_FALSE(replies[1].has_value());
  EXPECT_EQ(replies[2].value(), ask(*server, second).value());
}

TEST_F(DjServer, RequestsHideInDistinctCoins) {
  const auto server = serve();
  const auto client = client_of(*server);
  const auto one = query(client, 4), two = query(client, 4);
  const std::size_t at = kHeaderBytes + client.params().modulus_bytes();
  for (std::size_t i = at; i < one.size(); i += 32)
    EXPECT_NE(to_hex(ByteSpan(one).subspan(i, 16)), to_hex(ByteSpan(two).subspan(i, 16)));
}

TEST_F(DjServer, MakingAQueryEndsWhenItsCallerSaysSo) {
  const auto client = client_of(*serve(toy_options({17})));  // 16 selectors, 32 powers
  std::atomic<int> asked = 0;
  const auto stopped = client.query(4, rng_, [&] { return ++asked > 3; });
  pirx::testing::expect_error(stopped, ErrorCode::kUnavailable);
  EXPECT_LT(asked, 32) << "the other powers are left out";
  EXPECT_TRUE(client.query(4, rng_, [] { return false; }));
}

TEST_F(DjServer, SelectorsAreOneHot) {
  const auto client = client_of(*serve());
  const auto& params = client.params();
  const auto cipher = Cipher::create(KnownKey("128").secret(), 2).value();
  for (std::uint64_t row = 0; row < params.rows(); ++row) {
    const auto request = query(client, row);
    std::size_t at = kHeaderBytes + params.modulus_bytes();
    std::uint64_t rest = row;
    for (unsigned s = 1; s <= 2; ++s) {
      const auto arity = params.arities()[s - 1];
      for (std::uint32_t i = 1; i < arity; ++i, at += params.ciphertext_bytes(s)) {
        const auto bit = cipher.decrypt(s, ByteSpan(request).subspan(at, params.ciphertext_bytes(s))).value();
        EXPECT_EQ(number_from_bytes(bit.expose()), rest % arity == i ? 1 : 0);
      }
      rest /= arity;
    }
  }
}

TEST_F(DjServer, HostileQueries) {
  const KnownKey key("128");
  const auto server = serve();
  const auto params = params_of(*server);
  const auto good = query(client_of(*server), 5);
  const auto refusal = [&](const Bytes& request) {
    const auto reply = ask(*server, request);
    return reply ? std::string() : reply.error().to_string();
  };
  const auto holds = [](const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  };
  EXPECT_EQ(refusal(good), "");
  for (const std::size_t size : {std::size_t{0}, std::size_t{7}, kHeaderBytes, good.size() - 1}) {
    const Bytes cut(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_TRUE(holds(refusal(cut), "DataLoss")) << size;
    EXPECT_EQ(server->admit(cut).error().code(), ErrorCode::kDataLoss);
  }
  auto longer = good;
  longer.push_back(std::byte{0});
  EXPECT_TRUE(holds(refusal(longer), "DataLoss"));
  auto stale = good;
  stale[20] ^= std::byte{1};
  EXPECT_TRUE(holds(refusal(stale), "StaleEpoch"));

  const std::size_t modulus_at = kHeaderBytes, selector_at = modulus_at + params.modulus_bytes();
  const auto with = [&](std::size_t at, const mpz_class& value, std::size_t size) {
    auto request = good;
    number_to_bytes(value, MutableByteSpan(request).subspan(at, size));
    return refusal(request);
  };
  const auto size = params.ciphertext_bytes(1);
  EXPECT_TRUE(holds(with(modulus_at, key.n + 1, 16), "even"));
  EXPECT_TRUE(holds(with(modulus_at, key.n >> 1, 16), "exactly 128 bits"));
  EXPECT_TRUE(holds(with(modulus_at, 0, 16), "exactly 128 bits"));
  EXPECT_TRUE(holds(with(modulus_at, power_of(mpz_class("13043817825332782213"), 2), 16), "perfect power"));
  EXPECT_TRUE(holds(with(selector_at, 0, size), "zero or not below N^2"));
  EXPECT_TRUE(holds(with(selector_at, key.n * key.n, size), "zero or not below N^2"));
  EXPECT_TRUE(holds(with(selector_at, (mpz_class(1) << 256) - 1, size), "zero or not below N^2"));
  EXPECT_TRUE(holds(with(selector_at, key.p * 12345, size), "factor in common"));
  EXPECT_TRUE(holds(with(good.size() - params.ciphertext_bytes(2), key.q * 3, params.ciphertext_bytes(2)),
                    "factor in common"));
  EXPECT_TRUE(holds(
      with(good.size() - params.ciphertext_bytes(2), power_of(key.n, 3), params.ciphertext_bytes(2)), "N^3"));
  // Anything else that is a unit is answered: the server cannot know better.
  EXPECT_EQ(with(selector_at, 2, size), "");
  auto engine = pirx::testing::seeded_engine(3);
  for (int i = 0; i < 50; ++i) {
    auto damaged = good;
    damaged[engine() % good.size()] ^= static_cast<std::byte>(1 + engine() % 255);
    const auto reply = ask(*server, damaged);
    EXPECT_TRUE(!reply || reply->size() == params.reply_bytes());
  }
}

TEST_F(DjServer, HostileReplies) {
  const KnownKey key("128");
  const auto server = serve();
  const auto client = client_of(*server);
  const auto& params = client.params();
  const auto good = ask(*server, query(client, 5)).value();
  ASSERT_GE(params.chunks(), 2u);
  const auto code = [&](const Bytes& reply) { return client.decode(reply).error().code(); };
  EXPECT_EQ(code(Bytes(good.begin(), good.end() - 1)), ErrorCode::kDataLoss);
  EXPECT_EQ(code({}), ErrorCode::kDataLoss);
  EXPECT_EQ(client.decode(good, [] { return true; }).error().code(), ErrorCode::kUnavailable);
  auto stale = good;
  stale[39] ^= std::byte{1};
  EXPECT_EQ(code(stale), ErrorCode::kStaleEpoch);
  const auto size = params.ciphertext_bytes(2);
  for (const std::size_t chunk : {std::size_t{0}, params.chunks() - 1}) {
    const auto with = [&](const mpz_class& value) {
      auto reply = good;
      number_to_bytes(value, MutableByteSpan(reply).subspan(kHeaderBytes + chunk * size, size));
      return code(reply);
    };
    EXPECT_EQ(with(0), ErrorCode::kUndecodable);
    EXPECT_EQ(with(power_of(key.n, 3)), ErrorCode::kUndecodable);
    EXPECT_EQ(with(key.p), ErrorCode::kUndecodable);
    // A plaintext longer than a chunk.
    const auto inner = testing::encrypt_ref(key.n, 1, key.n - 1, 5);
    EXPECT_EQ(with(testing::encrypt_ref(key.n, 2, inner, 7)), ErrorCode::kUndecodable);
  }
}

TEST_F(DjServer, ClientRefusals) {
  const auto client = client_of(*serve());
  const auto& params = client.params();
  EXPECT_EQ(client.query(params.rows(), rng_).error().code(), ErrorCode::kOutOfRange);
  EXPECT_EQ(client.query(~std::uint64_t{0}, rng_).error().code(), ErrorCode::kOutOfRange);
  auto blinding = client.blind(rng_);
  auto taken = std::move(blinding);
  EXPECT_TRUE(client.query(3, std::move(taken)).has_value());
  EXPECT_EQ(client.query(3, std::move(blinding)).error().code(), ErrorCode::kInvalidArgument);
  const auto other = client_of(*serve(toy_options({17})));
  EXPECT_EQ(client.query(3, other.blind(rng_)).error().code(), ErrorCode::kInvalidArgument);
  const auto secure =
      Params::create({params.geometry(), params.spec().version, {}, 3072, KeyPolicy::kSecure}).value();
  EXPECT_EQ(Client::create(secure, KnownKey("1024").secret()).error().code(), ErrorCode::kInvalidArgument);
}

TEST_F(DjServer, OpensThroughTheTable) {
  ServerSpec spec;
  spec.loopback = true;
  const auto open = [&](const Texts& options) {
    return pirx::testing::serve_file("dj-tree", folder_ / "db", options, spec);
  };
  const auto message = [&](const Texts& options) {
    const auto server = open(options);
    return server ? std::string() : server.error().message();
  };
  const auto arities = [&](const Texts& options) { return params_of(*open(options).value()).arities(); };
  const auto holds = [](const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  };
  EXPECT_EQ(message({}), "");
  EXPECT_EQ(params_of(*open({{"leaf_layer", "3"}}).value()).layer(1), 3u);
  EXPECT_TRUE(holds(message({{"leaf_layer", "5"}}), "leaf-layer"));
  const Texts small{{"arity", "5,4"}, {"modulus", "2048"}, {"tables", "8MiB"}, {"kernel", "gmp"}};
  EXPECT_EQ(message(small), "");
  EXPECT_EQ(arities(small), (std::vector<std::uint32_t>{5, 4}));
  std::string noted;
  spec.note = [&](const std::string& line) { noted = line; };
  EXPECT_EQ(message({{"paper_reproduction", "on"}}), "");
  EXPECT_TRUE(holds(noted, "can be broken"));
  EXPECT_TRUE(holds(message({{"modulus", "1024"}}), "can be broken"));
  EXPECT_TRUE(holds(message({{"paper_reproduction", "on"}, {"modulus", "2048"}}), "leave --modulus away"));
  EXPECT_TRUE(holds(message({{"modulus", "many"}}), "no whole number"));
  EXPECT_TRUE(holds(message({{"modulus", "2049"}}), "2049"));
  EXPECT_TRUE(holds(message({{"arity", "5,,4"}}), "no whole number"));
  EXPECT_TRUE(holds(message({{"arity", "1"}}), "from 2 to"));
  EXPECT_TRUE(holds(message({{"arity", "0,4"}}), "from 2 to"));
  EXPECT_EQ(arities({{"arity", "4"}}), (std::vector<std::uint32_t>{4, 4, 2}));
  EXPECT_TRUE(holds(message({{"kernel", "gpu"}}), "no kernel"));
  EXPECT_EQ(message({{"arity", "6"}, {"selectors", "polynomial"}, {"rerandomise", "on"}}),
            "polynomial selectors are for nodes of 2, 4 or 8 children, not 6");
  EXPECT_EQ(arities({{"selectors", "polynomial"}}), (std::vector<std::uint32_t>{8, 4}));
  EXPECT_EQ(message({{"arity", "2"}, {"selectors", "polynomial"}}), "");
  EXPECT_EQ(message({{"selectors", "one-hot"}}), "");
  EXPECT_TRUE(holds(message({{"selectors", "some"}}), "neither one-hot"));
  EXPECT_TRUE(holds(message({{"rerandomise", "yes"}}), "it has no value"));
  EXPECT_TRUE(holds(message({{"field", "gf2"}}), "no option 'field'"));
  spec.loopback = false;
  EXPECT_TRUE(holds(message({{"paper_reproduction", "on"}}), "refused beyond loopback"));
}

TEST_F(DjServer, ABlindingServesOneQuery) {
  const auto server = serve();
  const auto client = client_of(*server);
  std::vector<Bytes> requests;
  for (int i = 0; i < 40; ++i) {
    auto blinding = client.blind(rng_);
    requests.push_back(client.query(9, std::move(blinding)).value());
    // What was moved from is used up.
    EXPECT_EQ(client.query(9, std::move(blinding)).error().code(), ErrorCode::kInvalidArgument);
  }
  expect_row(client, 9, ask(*server, requests.front()).value());
  // No selector appears twice, though all queries are for one row.
  std::set<Bytes> selectors;
  const auto& params = client.params();
  for (const auto& request : requests) {
    std::size_t at = kHeaderBytes + params.modulus_bytes();
    for (unsigned s = 1; s <= params.levels(); ++s) {
      const auto size = params.ciphertext_bytes(s);
      for (std::uint32_t i = 1; i < params.arities()[s - 1]; ++i, at += size) {
        const auto part = ByteSpan(request).subspan(at, size);
        EXPECT_TRUE(selectors.emplace(part.begin(), part.end()).second);
      }
    }
  }
}

// Parent and child would ask with the same coins: the server reads in which digits their rows differ.
TEST_F(DjServer, AForkedChildCannotUseItsParentsBlinding) {
  const auto server = serve();
  const auto client = client_of(*server);
  auto blinding = client.blind(rng_);
  const auto in_child = pirx::testing::in_child([&] {
    const auto query = client.query(9, std::move(blinding));
    return Bytes{std::byte{!query && query.error().code() == ErrorCode::kInvalidArgument}};
  });
  EXPECT_EQ(in_child, Bytes(1, std::byte{1}));
  EXPECT_TRUE(client.query(9, std::move(blinding)));
}

TEST_F(DjServer, ProgressGoesToTheEnd) {
  std::mutex mutex;
  std::vector<double> told;
  auto options = toy_options();
  options.progress = [&](double part) {
    const std::lock_guard lock(mutex);
    told.push_back(part);
  };
  const auto server = serve(options);
  const auto client = client_of(*server);
  ASSERT_TRUE(ask(*server, query(client, 1)));
  ASSERT_FALSE(told.empty());
  const auto [least, most] = std::minmax_element(told.begin(), told.end());
  EXPECT_GT(*least, 0);
  EXPECT_NEAR(*most, 1, 1e-9);
}

TEST_F(DjServer, ThePapersSelectorsFetchTheSame) {
  auto options = toy_options();
  options.selectors = Selectors::kPolynomial;
  const auto cipher = Cipher::create(KnownKey("128").secret(), kMaxLevels).value();
  for (const auto& arities : {std::vector<std::uint32_t>{8, 4}, {2, 8, 2}, {4, 4, 2}, {2, 2, 2, 2, 2}}) {
    options.arities = arities;
    const auto server = serve(options);
    const auto client = client_of(*server);
    const auto& params = client.params();
    EXPECT_EQ(params.spec().selectors, Selectors::kPolynomial);
    for (std::uint64_t row = 0; row < params.rows(); ++row) {
      const auto request = query(client, row);
      expect_row(client, row, ask(*server, request).value());
      // Of octal nodes: x0, x1, x2, x0 x1, x0 x2, x1 x2, x0 x1 x2.
      if (arities[0] != 8) continue;
      std::size_t at = kHeaderBytes + params.modulus_bytes();
      for (const unsigned set : {1u, 2u, 4u, 3u, 5u, 6u, 7u}) {
        const auto c = ByteSpan(request).subspan(at, params.ciphertext_bytes(1));
        EXPECT_EQ(number_from_bytes(cipher.decrypt(1, c).value().expose()), (row & set) == set ? 1 : 0);
        at += c.size();
      }
    }
  }
  options.arities = {8, 3};
  EXPECT_NE(make_dj_server(database_, options).error().message().find("2, 4 or 8"), std::string::npos);
}

TEST_F(DjServer, RerandomisedRepliesDifferAndDecodeAlike) {
  auto options = toy_options();
  const auto plain = serve(options);
  options.rerandomise = true;
  const auto server = serve(options);
  const auto client = client_of(*server);
  const auto& params = client.params();
  EXPECT_EQ(params.digest(), params_of(*plain).digest()) << "clients need not know";
  const auto cipher = Cipher::create(KnownKey("128").secret(), params.levels()).value();
  const auto request = query(client, 16);
  EXPECT_EQ(ask(*plain, request).value(), ask(*plain, request).value());
  const auto one = ask(*server, request).value(), two = ask(*server, request).value();
  expect_row(client, 16, one);
  // Not only the root has new coins: what it encrypts, the node below it, has them too.
  const auto size = params.ciphertext_bytes(2);
  for (std::size_t chunk = 0; chunk < params.chunks(); ++chunk) {
    const auto at = kHeaderBytes + chunk * size;
    const auto a = ByteSpan(one).subspan(at, size), b = ByteSpan(two).subspan(at, size);
    EXPECT_FALSE(std::equal(a.begin(), a.end(), b.begin()));
    const auto inner_a = cipher.decrypt(2, a).value(), inner_b = cipher.decrypt(2, b).value();
    EXPECT_NE(number_from_bytes(inner_a.expose()), number_from_bytes(inner_b.expose()));
  }
}

TEST_F(DjServer, BucketsAreRefused) {
  const auto field = kTagGf2_8;
  const auto code = batchcodes::Encoding::create(
      {field, 1, 1, 2, 0, 2, batchcodes::Encoding::suggested_coordinates(field, 4).value()});
  ASSERT_TRUE(code) << code.error().to_string();
  const auto encoded = batchcodes::encode_database(*database_, code.value(), folder_ / "b");
  ASSERT_TRUE(encoded) << encoded.error().to_string();
  const auto server = make_dj_server(database::Database::open(folder_ / "b.1").value(), {});
  pirx::testing::expect_error(server, ErrorCode::kInvalidArgument, "bucket");
}

TEST_F(DjServer, ThePapersModulus) {
  ServerOptions options;
  options.modulus_bits = 1024;
  options.policy = KeyPolicy::kPaperReproduction;
  options.arities = {8, 3};
  const auto server = serve(options);
  const auto client = client_of(*server, "1024");
  expect_row(client, 11, ask(*server, query(client, 11)).value());
}

}  // namespace
}  // namespace pirx::cpir::dj
