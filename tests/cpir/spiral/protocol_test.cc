// SPDX-License-Identifier: Apache-2.0
// Client and server halves together: records of small databases over small rings, in every shape and base;
// batches, keys that are evicted, and every refusal.
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <fstream>
#include <thread>

#include "cpir/spiral/public_keys.h"
#include "deployment.h"
#include "pirx/batchcodes/vertical_database.h"
#include "pirx/database/key_filter.h"
#include "pirx/gf2e/gf2.h"
#include "src/protocol/message.h"
#include "support/seed.h"
#include "support/serve.h"

namespace pirx::cpir::spiral {
namespace {

using namespace testing;
using pirx::testing::expect_error;

class Protocol : public ::testing::Test {
 protected:
  std::mt19937_64 engine_ = pirx::testing::seeded_engine();
};

TEST_F(Protocol, EveryItemOfEveryShape) {
  // Rows that are no power of two, one row, no columns, records of several trials, slots that do not fill an
  // item.
  struct Shape {
    std::uint64_t records, bytes;
    unsigned log_columns, pack, log_p;
    bool plain;
  };
  for (const auto& shape :
       {Shape{13, 200, 2, 1, 8, true}, Shape{3, 256, 2, 1, 8, true}, Shape{5, 256, 0, 1, 8, true},
        Shape{1, 7, 0, 1, 8, true}, Shape{20, 40, 1, 1, 7, false}, Shape{9, 700, 1, 1, 8, true},
        Shape{7, 900, 2, 2, 8, false}, Shape{5, 1400, 1, 2, 5, true}, Shape{11, 3000, 3, 3, 10, true},
        Shape{3, 4000, 1, 4, 9, true}}) {
    const TestDatabase db(shape.records, shape.bytes, shape.plain, engine_);
    auto scheme = toy_scheme();
    scheme.log_columns = shape.log_columns;
    scheme.pack = shape.pack;
    scheme.log_p = shape.log_p;
    Deployment deployment(db, scheme);
    ASSERT_LT(deployment.params().noise().log2_failure, -40);
    for (std::uint64_t item = 0; item < deployment.params().items(); ++item) deployment.fetch(item);
  }
}

TEST_F(Protocol, WidestCoefficientsAndPacks) {
  for (const auto& [log_p, pack] : {std::pair(16u, 1u), {1u, 2u}, {8u, 5u}, {8u, 6u}, {7u, 8u}}) {
    const TestDatabase db(5, 30 * log_p * pack * pack, true, engine_);
    auto scheme = toy_scheme();
    scheme.log_p = log_p;
    scheme.pack = pack;
    scheme.log_q2 = 28;
    scheme.fold = {.z = 256};
    Deployment deployment(db, scheme);
    ASSERT_LT(deployment.params().noise().log2_failure, -40);
    for (const std::uint64_t item : {std::uint64_t{0}, deployment.params().items() - 1})
      deployment.fetch(item);
  }
}

TEST_F(Protocol, EveryBaseGivesTheSameRecords) {
  const TestDatabase db(9, 200, true, engine_);
  for (const std::uint32_t z : {2u, 3u, 4u, 5u, 7u, 16u, 27u, 128u, 256u, 638u}) {
    for (const auto domain : {Domain::kComposed, Domain::kResidues}) {
      auto scheme = toy_scheme();
      scheme.fold = scheme.right = scheme.left = scheme.conversion = {.z = z, .domain = domain};
      Deployment deployment(db, scheme);
      deployment.fetch(engine_() % deployment.params().items());
    }
  }
}

TEST_F(Protocol, TheSecureSetsWork) {
  // Few items of the real ring each, of records as the set is made for; the whole sets are measured in
  // bench/paper003.
  struct Set {
    const char* name;
    std::uint64_t records, bytes;
    std::size_t trials;
  };
  for (const auto& set : {Set{"s1", 40, 256, 1}, Set{"s1c", 40, 256, 1}, Set{"s2", 3, 30000, 1},
                          Set{"s2s", 3, 30000, 3}, Set{"s3", 3, 100000, 1}, Set{"s3b", 3, 100000, 7}}) {
    const TestDatabase db(set.records, set.bytes, true, engine_);
    auto scheme = named_scheme(set.name).value();
    scheme.log_columns = 1;
    Deployment deployment(db, scheme);
    EXPECT_EQ(deployment.params().trials(), set.trials);
    EXPECT_GT(deployment.params().items(), 2u);
    deployment.fetch(deployment.params().items() - 1);
  }
  EXPECT_FALSE(named_scheme("s4"));
}

TEST_F(Protocol, TheComparisonSetIsForThoseWhoAskForIt) {
  const TestDatabase db(70, 1000, false, engine_);
  auto scheme = named_scheme("c1").value();
  EXPECT_EQ(scheme.policy, Policy::kComparison);
  const auto published =
      Params::create({database::Geometry::create({1 << 20, 256, 1, false, false}).value(), {}, scheme})
          .value();
  EXPECT_EQ(published.rows(), 512u);
  EXPECT_EQ(published.reply_bytes() - kHeaderBytes, 20480u);
  EXPECT_LT(published.noise().log2_failure, -800);
  EXPECT_EQ(published.fold_form(), FoldForm::kTwoProducts);
  scheme.log_columns = 2;
  const auto params = db.params(scheme).value();
  // Another number on the wire, and other keys.
  auto secure = scheme;
  secure.policy = Policy::kSecure;
  EXPECT_NE(db.params(secure).error().message().find("128 bits"), std::string::npos);
  secure.eta = 32;
  EXPECT_NE(db.params(secure).error().message().find("not balanced"), std::string::npos);
  auto toy = scheme;
  toy.policy = Policy::kToy;
  EXPECT_NE(db.params(toy)->keys_digest(), params.keys_digest());
  // Refused on both sides unless told otherwise.
  const auto refused = make_spiral_server(db.database(), {.scheme = scheme, .threads = 1});
  expect_error(refused, ErrorCode::kInvalidArgument);
  EXPECT_EQ(Client::create(params).error().code(), ErrorCode::kInvalidArgument);
  Deployment deployment(db, scheme);
  for (std::uint64_t item = 0; item < params.items(); item += 4) deployment.fetch(item);
}

TEST_F(Protocol, BatchesAnswerEveryClient) {
  const TestDatabase db(12, 256, true, engine_);
  Deployment one(db, toy_scheme());
  const auto other = Client::create(one.params(), true).value();
  std::vector<Bytes> requests = {other.query(3, one.rng).value(), other.keys()};
  std::vector<std::uint64_t> items = {3, 0};
  for (std::uint64_t item = 0; item < 10; ++item) {
    requests.push_back(item % 2 == 0 ? one.client->query(item, one.rng).value()
                                     : other.query(item, one.rng).value());
    items.push_back(item);
  }
  requests.emplace_back(7);
  std::vector<ByteSpan> spans(requests.begin(), requests.end());
  const auto replies = one.server->answer(spans);
  ASSERT_EQ(replies.size(), requests.size());
  for (std::size_t i = 0; i < replies.size(); ++i) {
    if (i == 1) {
      EXPECT_TRUE(other.check_keys_held(replies[i].value()));
    } else if (i + 1 == replies.size()) {
      EXPECT_EQ(replies[i].error().code(), ErrorCode::kDataLoss);
    } else {
      const auto& client = i == 0 || items[i] % 2 == 1 ? other : *one.client;
      one.expect_item(items[i], client.decode(items[i], replies[i].value()).value());
    }
  }
  // The answer depends on the request alone.
  for (int threads = 1; threads <= 3; ++threads) {
    const auto server =
        make_spiral_server(db.database(),
                           {.scheme = toy_scheme(), .threads = threads, .allow_insecure = true})
            .value();
    ASSERT_TRUE(answer(*server, other.keys()));
    EXPECT_EQ(answer(*server, requests[0]).value(), replies[0].value());
  }
}

TEST_F(Protocol, KeysAreHeldUntilMemoryIsFull) {
  const TestDatabase db(5, 256, true, engine_);
  const auto params = db.params(toy_scheme()).value();
  auto options = ServerOptions{.scheme = toy_scheme(), .threads = 1, .allow_insecure = true};
  options.key_memory = 1;
  EXPECT_EQ(make_spiral_server(db.database(), options).error().code(), ErrorCode::kInvalidArgument);
  options.key_memory = 2 * 1024 * 1024;
  Deployment deployment(db, toy_scheme(), options);
  deployment.fetch(1);
  const auto request = deployment.client->query(1, deployment.rng).value();
  bool evicted = false;
  for (int others = 0; others < 40 && !evicted; ++others) {
    const auto client = Client::create(params, true).value();
    ASSERT_TRUE(client.check_keys_held(answer(*deployment.server, client.keys()).value()));
    EXPECT_FALSE(deployment.client->check_keys_held(answer(*deployment.server, client.keys()).value()));
    const auto reply = answer(*deployment.server, request).value();
    evicted = others >= 30 || deployment.client->keys_unknown(reply);
    // Used keys stay while others come and go.
    if (others < 30) {
      ASSERT_FALSE(evicted);
    }
    if (others == 29) {
      for (int i = 0; i < 30; ++i) {
        const auto more = Client::create(params, true).value();
        ASSERT_TRUE(answer(*deployment.server, more.keys()));
      }
    }
    if (evicted) {
      ASSERT_TRUE(deployment.client->keys_unknown(reply));
      const auto decoded = deployment.client->decode(1, reply);
      expect_error(decoded, ErrorCode::kUnavailable, "upload them");
    }
  }
  EXPECT_TRUE(evicted);
  ASSERT_TRUE(answer(*deployment.server, deployment.client->keys()));
  deployment.fetch(1);
}

TEST_F(Protocol, KeysOfManyLoseToKeysOfFew) {
  const TestDatabase db(5, 256, true, engine_);
  const auto params = db.params(toy_scheme()).value();
  // Room for five.
  const auto room = 5 * PublicKeys::bytes(params);
  Deployment deployment(db, toy_scheme(), {.key_memory = room, .threads = 1});  // of a sender without a name
  const auto& server = *deployment.server;
  const auto held = [&](const Client& client) {
    return !client.keys_unknown(answer(server, client.query(0, deployment.rng).value()).value());
  };
  std::vector<Client> few, many;
  for (int i = 0; i < 2; ++i) {
    few.push_back(Client::create(params, true).value());
    ASSERT_TRUE(answer(server, few.back().keys(), "few"));
  }
  for (int i = 0; i < 7; ++i) {
    many.push_back(Client::create(params, true).value());
    ASSERT_TRUE(answer(server, many.back().keys(), "many"));
    EXPECT_TRUE(held(*deployment.client) && held(few[0]) && held(few[1]) && held(many.back()));
    // To send others' keys takes nothing from them.
    ASSERT_TRUE(answer(server, few[0].keys(), "many"));
  }
  EXPECT_TRUE(held(many[5]));
  EXPECT_FALSE(held(many[4]));
  // Of those who have as many as others, the longest unused.
  const auto third = Client::create(params, true).value();
  ASSERT_TRUE(answer(server, third.keys(), "third"));
  EXPECT_TRUE(held(*deployment.client) && held(few[0]) && held(many[5]) && held(third));
  EXPECT_TRUE(held(many[6]));
  EXPECT_FALSE(held(few[1]));
}

TEST_F(Protocol, ThreadsMayAskAtOnce) {
  const TestDatabase db(5, 256, true, engine_);
  const auto params = db.params(toy_scheme()).value();
  // Room for few, so that keys come and go while others compute with them.
  Deployment deployment(db, toy_scheme(), {.key_memory = 3 * PublicKeys::bytes(params), .threads = 1});
  std::atomic<int> fetched = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&, i] {
      auto rng = Rng::from_os().value();
      for (std::uint64_t round = 0; round < 4; ++round) {
        const auto client = Client::create(params, true).value();
        const std::uint64_t item = (round + static_cast<std::uint64_t>(i)) % 5;
        const auto got = fetch(client, item, rng, [&](const Bytes& request) {
          return answer(*deployment.server, request, "sender " + std::to_string(i));
        });
        // Another thread's keys may have taken the place of these, twice in a row.
        if (got) {
          ++fetched;
          deployment.expect_item(item, *got);
        } else {
          EXPECT_EQ(got.error().code(), ErrorCode::kUnavailable);
        }
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_GT(fetched, 0);  // nobody takes the place of the keys that come last
}

TEST_F(Protocol, FetchingUploadsKeysWhereTheyAreMissing) {
  const TestDatabase db(5, 256, true, engine_);
  Deployment deployment(db, toy_scheme());
  const auto stranger = Client::create(deployment.params(), true).value();
  std::vector<std::size_t> sent;
  const Call call = [&](const Bytes& request) {
    sent.push_back(request.size());
    return answer(*deployment.server, request);
  };
  deployment.expect_item(3, fetch(stranger, 3, deployment.rng, call).value());
  deployment.expect_item(4, fetch(stranger, 4, deployment.rng, call).value());
  const auto query = deployment.params().request_bytes(), keys = deployment.params().keys_bytes();
  EXPECT_EQ(sent, (std::vector<std::size_t>{query, keys, query, query}));
  // A server that never holds keys, or none at all.
  const auto forgetful =
      make_spiral_server(db.database(), {.scheme = toy_scheme(), .threads = 1, .allow_insecure = true})
          .value();
  const auto failed = fetch(stranger, 3, deployment.rng, [&](const Bytes& request) -> Result<Bytes> {
    if (request.size() == keys) return answer(*deployment.server, request);
    return answer(*forgetful, request);
  });
  EXPECT_EQ(failed.error().code(), ErrorCode::kUnavailable);
  const auto down = [](const Bytes&) -> Result<Bytes> { return fail(ErrorCode::kUnavailable, "down"); };
  EXPECT_EQ(fetch(stranger, 3, deployment.rng, down).error().message(), "down");
}

TEST_F(Protocol, WrongKeysGiveGarbageOnly) {
  const TestDatabase db(5, 256, true, engine_);
  Deployment deployment(db, toy_scheme());
  const auto other = Client::create(deployment.params(), true).value();
  auto request = deployment.client->query(2, deployment.rng).value();
  const auto reply = answer(*deployment.server, request).value();
  const auto decoded = other.decode(2, reply);
  ASSERT_TRUE(decoded);
  EXPECT_FALSE(std::equal(decoded->expose().begin(), decoded->expose().end(), db.records()[2].begin()));
  // Keys with two rounds swapped are keys, but no good ones.
  Bytes swapped = deployment.client->keys();
  const std::size_t column = deployment.params().polynomial_bytes(),
                    rounds = deployment.params().right().digits() * column;
  const auto first = swapped.begin() + static_cast<std::ptrdiff_t>(kHeaderBytes + 32);
  std::swap_ranges(first, first + static_cast<std::ptrdiff_t>(rounds),
                   first + static_cast<std::ptrdiff_t>(rounds));
  ASSERT_TRUE(answer(*deployment.server, swapped));
  const Digest name = sha256(swapped);
  std::copy(name.begin(), name.end(), request.begin() + kHeaderBytes);
  const auto garbage = deployment.client->decode(2, answer(*deployment.server, request).value()).value();
  EXPECT_FALSE(std::equal(garbage.expose().begin(), garbage.expose().end(), db.records()[2].begin()));
}

TEST_F(Protocol, MessagesAreRefused) {
  const TestDatabase db(5, 256, true, engine_);
  Deployment deployment(db, toy_scheme());
  const auto& server = *deployment.server;
  const auto request = deployment.client->query(2, deployment.rng).value();
  const auto& keys = deployment.client->keys();
  const auto refused = [&](const Bytes& message, ErrorCode code, const char* why, bool admitted = false) {
    EXPECT_EQ(server.admit(message).has_value(), admitted);
    const auto reply = answer(server, message);
    expect_error(reply, code, why);
  };
  for (const Bytes* good : {&request, &keys}) {
    const auto changed = [&](std::size_t at, unsigned value) {
      Bytes out = *good;
      out[at] = static_cast<std::byte>(value);
      return out;
    };
    Bytes longer = *good, shorter = *good;
    longer.emplace_back();
    shorter.pop_back();
    refused(longer, ErrorCode::kDataLoss, "bytes, not");
    refused(shorter, ErrorCode::kDataLoss, "bytes, not");
    refused(changed(0, 'Q'), ErrorCode::kDataLoss, "does not begin with PIRX");
    refused(changed(4, 2), ErrorCode::kInvalidArgument, "message format 2");
    refused(changed(7, 4), ErrorCode::kInvalidArgument, "protocol number 4 instead of 5");
    refused(changed(8, std::to_integer<unsigned>((*good)[8]) ^ 1), ErrorCode::kStaleEpoch,
            "fetch the server's");
    // Residues that are none: the last seven bytes are one slot.
    Bytes high = *good;
    std::fill(high.end() - 7, high.end(), std::byte{0xff});
    refused(high, ErrorCode::kInvalidArgument, "not below its prime", true);
  }
  refused({}, ErrorCode::kDataLoss, "");
  Bytes reply_type = request;
  reply_type[6] = std::byte{2};
  refused(reply_type, ErrorCode::kDataLoss, "type 2 where type 1");
  Bytes stranger = request;
  stranger[kHeaderBytes] ^= std::byte{1};
  EXPECT_TRUE(deployment.client->keys_unknown(answer(server, stranger).value()));
  // Any bytes of the right length do nothing worse than to give a wrong answer.
  for (int round = 0; round < 20; ++round) {
    Bytes noise = request;
    for (int i = 0; i < 5; ++i) noise[engine_() % noise.size()] = static_cast<std::byte>(engine_());
    static_cast<void>(answer(server, noise));
  }
}

TEST_F(Protocol, RepliesAreRefused) {
  const TestDatabase db(5, 256, true, engine_);
  Deployment deployment(db, toy_scheme());
  const auto& client = *deployment.client;
  const auto reply = answer(*deployment.server, client.query(2, deployment.rng).value()).value();
  const auto refused = [&](const Bytes& message, ErrorCode code) {
    const auto decoded = client.decode(2, message);
    expect_error(decoded, code);
    EXPECT_FALSE(client.check_keys_held(message));
  };
  refused({}, ErrorCode::kDataLoss);
  refused(Bytes(reply.begin(), reply.end() - 1), ErrorCode::kDataLoss);
  refused(client.keys(), ErrorCode::kDataLoss);
  Bytes stale = reply;
  stale[20] ^= std::byte{1};
  refused(stale, ErrorCode::kStaleEpoch);
  // Every other body is some answer.
  Bytes noise = reply;
  for (std::size_t i = kHeaderBytes; i < noise.size(); ++i) noise[i] = static_cast<std::byte>(engine_());
  EXPECT_TRUE(client.decode(2, noise));
}

TEST_F(Protocol, PlansAreRefused) {
  const TestDatabase db(40, 256, true, engine_);
  const auto refused = [&](auto change, const char* why) {
    auto scheme = toy_scheme();
    change(scheme);
    const auto params = db.params(scheme);
    expect_error(params, ErrorCode::kInvalidArgument, why);
  };
  refused([](Scheme& s) { s.log_d = 5; }, "dimension is");
  refused([](Scheme& s) { s.log_d = 12; }, "dimension is");
  refused([](Scheme& s) { s.eta = 0; }, "eta");
  refused([](Scheme& s) { s.eta = 33; }, "eta");
  refused([](Scheme& s) { s.log_p = 0; }, "coefficient");
  refused([](Scheme& s) { s.log_p = 17; }, "coefficient");
  refused([](Scheme& s) { s.pack = 0; }, "packed");
  refused([](Scheme& s) { s.pack = 9; }, "packed");
  refused([](Scheme& s) { s.log_q2 = 13; }, "random row");
  refused([](Scheme& s) { s.log_columns = 13; }, "columns");
  refused([](Scheme& s) { s.left = {.z = 1}; }, "base");
  refused([](Scheme& s) { s.conversion = {.z = 4096, .drop = 1}; }, "exact");
  refused([](Scheme& s) { s.fold = {.z = 2}, s.log_columns = 3; }, "room");
  refused([](Scheme& s) { s.policy = Policy::kSecure; }, "not secure");
  refused([](Scheme& s) { s.policy = Policy::kComparison; }, "not secure");
  refused([](Scheme& s) { s.policy = Policy::kSecure, s.log_d = 11, s.eta = 31; }, "128 bits");
  refused([](Scheme& s) { s.policy = Policy::kSecure, s.log_d = 11, s.log_p = 16; },
          "wrong with probability");
  refused([](Scheme& s) { s.policy = Policy::kComparison, s.log_d = 11, s.log_p = 16; },
          "wrong with probability");
  refused([](Scheme& s) { s.policy = static_cast<Policy>(3); }, "policy");
  auto long_records = db.params(toy_scheme())->spec();
  for (const std::uint64_t bytes : {std::uint64_t{1} << 29, std::uint64_t{1} << 50}) {
    long_records.geometry = database::Geometry::create({4, bytes, 1, false, false}).value();
    EXPECT_NE(Params::create(long_records).error().message().find("too long"), std::string::npos);
  }
  const TestDatabase many(2000, 256, true, engine_);
  EXPECT_NE(many.params(toy_scheme()).error().message().find("more columns"), std::string::npos);
}

TEST_F(Protocol, KeysFindRecordsOfKeyedDatabases) {
  const pirx::testing::TemporaryFolder folder;
  std::vector<std::string> keys;
  std::vector<Bytes> all;
  std::map<std::string, Bytes> records;
  for (int i = 0; i < 40; ++i) {
    keys.push_back("key " + std::to_string(i));
    all.push_back(pirx::testing::random_bytes(engine_, engine_() % 60));
    records[keys.back()] = all.back();
  }
  EXPECT_TRUE(database::build(folder / "db", all, keys, {.keyed = true}));
  const auto database = database::Database::open(folder / "db").value();
  ASSERT_TRUE(database->geometry().keyed());
  auto scheme = toy_scheme();
  scheme.log_columns = 3;
  const auto server =
      make_spiral_server(database, {.scheme = scheme, .threads = 1, .allow_insecure = true}).value();
  const auto client = Client::create(Params::decode(server->parameters()).value(), true).value();
  auto rng = Rng::from_os().value();
  const auto& params = client.params();
  const auto filter = database::KeyFilter::create(params.geometry()).value();
  for (const char* key : {"key 0", "key 17", "key 39", "no such key"}) {
    Bytes sum(params.slot_bytes());
    for (const auto row : filter.place(key).rows) {
      const auto at = params.locate(row).value();
      const auto item =
          fetch(client, at.row, rng, [&](const Bytes& request) { return answer(*server, request); }).value();
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] ^= item.expose()[at.offset + i];
    }
    const std::optional<Bytes> found = filter.read(key, sum).value();
    EXPECT_EQ(found.has_value(), records.contains(key));
    if (found) {
      EXPECT_EQ(*found, records[key]);
    }
  }
}

TEST_F(Protocol, BucketsOfAVerticalCodeAreDatabases) {
  // A code needs no more of a protocol than one row of each bucket: exclusive ors of records are records.
  constexpr std::size_t kRecords = 11, kBytes = 64;
  const Bytes records = pirx::testing::random_bytes(engine_, kRecords * kBytes);
  const auto code = batchcodes::Subcube::create(2, 1).value();
  const strassen::Engine<gf2e::Gf2> engine(gf2e::Gf2{});
  const auto buckets = batchcodes::VerticalDatabase<gf2e::Gf2>::create(
                           engine, code, {records.data(), kRecords, kBytes, kBytes})
                           .value();
  const pirx::testing::TemporaryFolder folder;
  std::vector<std::unique_ptr<AnyServer>> servers;
  for (std::size_t bucket = 0; bucket < buckets.buckets(); ++bucket) {
    const auto words = buckets.words(bucket);
    std::vector<Bytes> rows(buckets.rows(), Bytes(kBytes));
    for (std::size_t row = 0; row < words.rows; ++row) std::copy_n(words.row(row), kBytes, rows[row].begin());
    ASSERT_TRUE(database::build(folder / "db", rows, {}, {.fixed_record_bytes = kBytes, .digests = false}));
    servers.push_back(make_spiral_server(database::Database::open(folder / "db").value(),
                                         {.scheme = toy_scheme(), .threads = 1, .allow_insecure = true})
                          .value());
  }
  auto rng = Rng::from_os().value();
  for (const auto& wanted : {std::array<std::uint64_t, 2>{3, 9}, {4, 4}, {10, 8}}) {
    const auto plan = code.plan(kRecords, wanted).value();
    std::array<Bytes, 2> got = {Bytes(kBytes), Bytes(kBytes)};
    for (std::size_t bucket = 0; bucket < servers.size(); ++bucket) {
      const auto client = Client::create(Params::decode(servers[bucket]->parameters()).value(), true).value();
      const auto at = client.params().locate(plan.row(bucket)).value();
      const auto item = fetch(client, at.row, rng, [&](const Bytes& request) {
                          return answer(*servers[bucket], request);
                        }).value();
      const auto use = plan.uses()[bucket].wanted;
      for (std::size_t i = 0; use < got.size() && i < kBytes; ++i)
        got[use][i] ^= item.expose()[at.offset + i];
    }
    for (std::size_t k = 0; k < wanted.size(); ++k) {
      EXPECT_EQ(std::memcmp(got[k].data(), records.data() + wanted[k] * kBytes, kBytes), 0);
    }
  }
}

TEST_F(Protocol, ClientsRefuseWhatIsInsecureOrNotThere) {
  const TestDatabase db(5, 256, true, engine_);
  const auto params = db.params(toy_scheme()).value();
  EXPECT_EQ(Client::create(params).error().code(), ErrorCode::kInvalidArgument);
  const auto client = Client::create(params, true).value();
  auto rng = Rng::from_os().value();
  EXPECT_EQ(client.query(params.items(), rng).error().code(), ErrorCode::kOutOfRange);
  EXPECT_EQ(client.query(~std::uint64_t{0}, rng).error().message().find("184467"), std::string::npos);
  EXPECT_EQ(params.locate(5).error().code(), ErrorCode::kOutOfRange);
  // Equal lengths, fresh randomness.
  const auto a = client.query(0, rng).value(), b = client.query(0, rng).value(),
             c = client.query(4, rng).value();
  EXPECT_EQ(a.size(), c.size());
  const auto seed = [](const Bytes& query) { return Bytes(query.begin() + 72, query.begin() + 104); };
  EXPECT_NE(seed(a), seed(b));
  const auto other = Client::create(params, true).value();
  EXPECT_NE(other.keys(), client.keys());
}

TEST_F(Protocol, ParametersRoundTripAndSurviveFuzzing) {
  const TestDatabase db(5, 256, true, engine_);
  const auto params = db.params(toy_scheme()).value();
  const auto bytes = params.encode();
  const auto again = Params::decode(bytes).value();
  EXPECT_EQ(again.digest(), params.digest());
  EXPECT_EQ(again.keys_digest(), params.keys_digest());
  EXPECT_EQ(again.encode(), bytes);
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_FALSE(Params::decode(std::span(bytes).first(length)));
  }
  for (int round = 0; round < 2000; ++round) {
    Bytes changed = bytes;
    changed[engine_() % changed.size()] ^= static_cast<std::byte>(1u << engine_() % 8);
    const auto decoded = Params::decode(changed);
    EXPECT_TRUE(!decoded || decoded->digest() != params.digest());
  }
}

TEST_F(Protocol, PreparedFilesAreKeptAndChecked) {
  const TestDatabase db(5, 256, true, engine_), other(5, 256, true, engine_);
  const auto file = db.path().string() + ".encoded";
  const auto options = [&] {
    return ServerOptions{.scheme = toy_scheme(), .prepared_file = file, .threads = 2, .allow_insecure = true};
  };
  {
    Deployment deployment(db, toy_scheme(), options());
    deployment.fetch(4);
  }
  const auto made = std::filesystem::last_write_time(file);
  {
    Deployment deployment(db, toy_scheme(), options());
    deployment.fetch(3);
  }
  EXPECT_EQ(std::filesystem::last_write_time(file), made);
  {
    Deployment deployment(other, toy_scheme(), options());
    deployment.fetch(0);
  }
  std::filesystem::resize_file(file, std::filesystem::file_size(file) - 8);
  {
    Deployment deployment(other, toy_scheme(), options());
    deployment.fetch(1);
  }
  // A bit of the words: found by a checksum.
  {
    std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
    stream.seekg(10'000);
    const auto byte = static_cast<char>(stream.get() ^ 4);
    stream.seekp(10'000);
    stream.put(byte);
  }
  std::string noted;
  {
    auto with_note = options();
    with_note.note = [&](const std::string& note) { noted = note; };
    Deployment deployment(other, toy_scheme(), with_note);
    deployment.fetch(1);
  }
  EXPECT_NE(noted.find("a checksum does not match"), std::string::npos) << noted;
  std::filesystem::remove(file);
}

TEST_F(Protocol, TheTableOpensIt) {
  const TestDatabase db(3, 100, true, engine_);
  const auto open = [&](const Texts& options) {
    return pirx::testing::serve_file("spiral", db.path(), options);
  };
  const auto server = open({{"set", "s1c"}}).value();
  EXPECT_EQ(server->protocol(), ProtocolId::kSpiral);
  const auto params = Params::decode(server->parameters()).value();
  EXPECT_EQ(server->max_request_bytes(), params.keys_bytes());
  EXPECT_GE(server->working_bytes(1), params.reply_bytes());
  EXPECT_EQ(server->max_reply_bytes(1), params.reply_bytes());
  for (const auto& [name, value] : std::multimap<std::string, std::string>{
           {"set", "s9"}, {"set", "c1"}, {"keys", "x"}, {"keys", "1"}, {"colour", "red"}}) {
    EXPECT_EQ(open({{name, value}}).error().code(), ErrorCode::kInvalidArgument);
  }
}

}  // namespace
}  // namespace pirx::cpir::spiral
