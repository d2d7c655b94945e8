// SPDX-License-Identifier: Apache-2.0
// Retrieval end to end: every record, every field, every sufficient set of servers; lists; the public Client
// over files.
#include "pirx/itpir/goldberg/client.h"

#include "database/database_fixture.h"
#include "deployment.h"
#include "pirx/batchcodes/fields.h"
#include "pirx/itpir/goldberg/server.h"
#include "support/tiny_field.h"

namespace pirx::itpir::goldberg {
namespace {

using testing::Deployment;
using testing::EngineSource;
using testing::expect_error;
using testing::range;

/// Every record, from every set of at least t + 1 of l servers.
template <class F>
void fetch_everything(const F& f, const database::Geometry::Spec& geometry, unsigned l, unsigned t,
                      std::uint64_t stream) {
  SCOPED_TRACE(f.tag().name() + " l=" + std::to_string(l) + " t=" + std::to_string(t));
  auto engine = pirx::testing::seeded_engine(stream);
  const Deployment<F> deployment(f, geometry, l, t, engine);
  for (std::uint64_t i = 0; i < geometry.records; ++i) {
    const auto [requests, replies, blinding] = deployment.exchange({&i, 1}, engine);
    for (const auto& from : testing::subsets(l)) {
      const auto answer = deployment.decode({&i, 1}, replies, from, blinding);
      if (from.size() < t + 1) {
        expect_error(answer, ErrorCode::kUndecodable);
        continue;
      }
      ASSERT_TRUE(answer.has_value()) << answer.error().to_string();
      EXPECT_EQ(answer->records, std::vector<Bytes>{deployment.records[i]});
      EXPECT_EQ(answer->responders, from.size());
      EXPECT_EQ(answer->proof_bound, from.size() - t - 1);
      const auto weakest = geometry.digests ? Certainty::kProbable : Certainty::kUnverified;
      EXPECT_EQ(answer->certainty, from.size() == t + 1 ? weakest : Certainty::kProven);
      for (std::size_t j = 0; j < l; ++j) {
        const bool asked = std::find(from.begin(), from.end(), j) != from.end();
        EXPECT_EQ(answer->servers[j], asked ? ServerStatus::kOk : ServerStatus::kSilent);
      }
    }
  }
}

template <class F>
void fetch_over(const F& f, std::uint64_t stream) {
  const database::Geometry::Spec shapes[] = {
      {1, 1, 1, false, false}, {7, 5, 1, true, true}, {11, 3, 4, true, false}, {5, 41, 2, false, true}};
  for (const auto& geometry : shapes) {
    fetch_everything(f, geometry, 2, 1, stream++);
    fetch_everything(f, geometry, 4, 2, stream++);
  }
  fetch_everything(f, shapes[1], 5, 3, stream++);
}

TEST(Fetch, Gf2_8) { fetch_over(gf2e::Gf2_8{}, 100); }
TEST(Fetch, Gf2_16) { fetch_over(gf2e::Gf2_16{}, 200); }
TEST(Fetch, W160) { fetch_over(fp::W160{}, 300); }
TEST(Fetch, W48) { fetch_over(fp::W48{}, 400); }
TEST(Fetch, Prime256) {
  fetch_everything(fp::PrimeField::create(256).value(), {7, 50, 2, true, true}, 4, 2, 500);
}
TEST(Fetch, TinyFields) {
  fetch_everything(pirx::testing::TinyPrime<7>{}, {9, 3, 2, false, false}, 4, 2, 600);
  fetch_everything(pirx::testing::TinyGf4{}, {9, 3, 2, false, false}, 3, 1, 601);
  fetch_everything(pirx::testing::TinyPrime<97>{}, {9, 3, 2, false, false}, 6, 3, 602);
}

template <class F>
class Lists : public ::testing::Test {};
using ListFields = ::testing::Types<gf2e::Gf2_8, gf2e::Gf2_16, fp::W160, fp::W48>;
TYPED_TEST_SUITE(Lists, ListFields);

TYPED_TEST(Lists, KeepOrderAndRepeats) {
  auto engine = pirx::testing::seeded_engine(1);
  const Deployment<TypeParam> deployment({}, {23, 17, 3, true, true}, 4, 1, engine);
  const std::vector<std::uint64_t> wanted{22, 0, 7, 7, 3, 0, 22, 12};
  const auto [requests, replies, blinding] = deployment.exchange(wanted, engine);
  const auto answer = deployment.decode(wanted, replies, range(4), blinding);
  ASSERT_TRUE(answer.has_value()) << answer.error().to_string();
  ASSERT_EQ(answer->records.size(), wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i)
    EXPECT_EQ(answer->records[i], deployment.records[wanted[i]]);
}

TEST(Query, HasTheSameShapeForAllIndices) {
  auto engine = pirx::testing::seeded_engine(2);
  const Deployment<gf2e::Gf2_8> deployment({}, {50, 9, 2, true, true}, 3, 2, engine);
  EngineSource rng{engine};
  for (std::uint64_t i = 0; i < 50; ++i) {
    const auto requests = deployment.client().query(testing::records_of({&i, 1}), rng).value().requests;
    for (const auto& request : requests) EXPECT_EQ(request.size(), 80u + 25u);
  }
}

/// A database file in a folder of its own, and servers and clients through the public interface.
class PublicClient : public ::testing::Test {
 protected:
  void SetUp() override {
    auto engine = pirx::testing::seeded_engine(3);
    for (int i = 0; i < 40; ++i) records_.push_back(pirx::testing::random_bytes(engine, engine() % 60));
    ASSERT_TRUE(database::build(folder_ / "db", records_).has_value());
    database_ = database::Database::open(folder_ / "db").value();
  }

  Client client(FieldTag field, unsigned l, unsigned t) const {
    Params::Spec spec{field, database_->geometry(), database_->version(), {}, t};
    for (unsigned j = 1; j <= l; ++j) spec.coordinates.push_back(j);
    return Client(Params::create(spec).value());
  }
  std::optional<Bytes> answer(FieldTag field, std::uint64_t coordinate, const Bytes& request) const {
    const auto server = make_server(database_, {field, coordinate, 1, 256}).value();
    return Deployment<gf2e::Gf2_8>::answer(*server, request);
  }

  pirx::testing::TemporaryFolder folder_;
  std::shared_ptr<const database::Database> database_;
  std::vector<Bytes> records_;
  Rng rng_ = Rng::from_os().value();
};

TEST_F(PublicClient, FetchesOverEveryField) {
  for (const auto& field : {kTagGf2_8, kTagGf2_16, kTagW160, kTagW48, fp::PrimeField::create(64)->tag()}) {
    const auto client = this->client(field, 4, 2);
    const std::vector<std::uint64_t> wanted{0, 39, 17};
    auto query = client.query(wanted, rng_).value();
    std::vector<std::optional<Bytes>> replies;
    for (std::size_t j = 0; j < 4; ++j) {
      EXPECT_EQ(query.requests[j].size(), client.request_bytes(3));
      replies.push_back(answer(field, j + 1, query.requests[j]));
      EXPECT_EQ(replies[j]->size(), client.reply_bytes(3));
    }
    const auto answer = client.decode(std::move(query.state), replies);
    ASSERT_TRUE(answer.has_value()) << answer.error().to_string();
    EXPECT_EQ(answer->records, (std::vector<Bytes>{records_[0], records_[39], records_[17]}));
    EXPECT_EQ(answer->certainty, Certainty::kProven);
    EXPECT_EQ(answer->proof_bound, 1u);
  }
}

TEST_F(PublicClient, RefusesRecordsThatDoNotExistWithoutNamingThem) {
  const std::uint64_t wanted = 40;
  const auto query = client(kTagGf2_8, 3, 1).query({&wanted, 1}, rng_);
  expect_error(query, ErrorCode::kOutOfRange);
  const std::uint64_t far = 123456789;
  const auto other = client(kTagGf2_8, 3, 1).query({&far, 1}, rng_);
  EXPECT_EQ(query.error().message(), other.error().message());
}

TEST_F(PublicClient, RefusesNoRecordsAndTooMany) {
  const auto client = this->client(kTagGf2_8, 3, 1);
  EXPECT_EQ(client.query({}, rng_).error().code(), ErrorCode::kInvalidArgument);
  const std::vector<std::uint64_t> many(kMaxQueriesPerRequest + 1, 0);
  EXPECT_EQ(client.query(many, rng_).error().code(), ErrorCode::kInvalidArgument);
}

TEST_F(PublicClient, RefusesMoreRepliesThanServers) {
  const auto client = this->client(kTagGf2_8, 3, 1);
  const std::uint64_t wanted = 1;
  auto query = client.query({&wanted, 1}, rng_).value();
  EXPECT_EQ(client.decode(std::move(query.state), std::vector<std::optional<Bytes>>(4)).error().code(),
            ErrorCode::kInvalidArgument);
}

TEST_F(PublicClient, CollectsUntilItIsSettled) {
  const auto client = this->client(kTagGf2_8, 5, 2);
  const std::uint64_t wanted = 5;
  auto query = client.query({&wanted, 1}, rng_).value();
  auto collector = client.collect(std::move(query.state));
  EXPECT_FALSE(collector->settled(0));
  const auto reply = [&](std::size_t j) { return *answer(kTagGf2_8, j + 1, query.requests[j]); };
  ASSERT_TRUE(collector->add(4, reply(4)).has_value());
  ASSERT_TRUE(collector->add(0, reply(0)).has_value());
  EXPECT_FALSE(collector->settled(0));
  ASSERT_TRUE(collector->add(2, reply(2)).has_value());
  EXPECT_TRUE(collector->settled(0));
  EXPECT_FALSE(collector->settled(1));
  EXPECT_EQ(collector->add(2, reply(2)).error().code(), ErrorCode::kInvalidArgument)
      << "a second reply of one server";
  EXPECT_EQ(collector->add(5, reply(2)).error().code(), ErrorCode::kInvalidArgument) << "no such server";
  ASSERT_TRUE(collector->add(1, reply(1)).has_value());
  EXPECT_TRUE(collector->settled(1));
  collector->set_missing(3, ServerStatus::kStaleEpoch);
  const auto answer = std::move(*collector).finish().value();
  EXPECT_EQ(answer.records.at(0), records_[5]);
  EXPECT_EQ(answer.servers[3], ServerStatus::kStaleEpoch);
}

TEST_F(PublicClient, IsNotSettledWhenRepliesDisagree) {
  const auto client = this->client(kTagGf2_8, 5, 1);
  const std::uint64_t wanted = 5;
  auto query = client.query({&wanted, 1}, rng_).value();
  auto collector = client.collect(std::move(query.state));
  for (std::size_t j = 0; j < 5; ++j) {
    auto reply = *answer(kTagGf2_8, j + 1, query.requests[j]);
    if (j == 0) reply.back() ^= std::byte{1};
    ASSERT_TRUE(collector->add(j, reply).has_value());
    EXPECT_EQ(collector->settled(0), j == 1) << "two replies always agree, more do not when one lies";
  }
  const auto answer = std::move(*collector).finish().value();
  EXPECT_EQ(answer.records.at(0), records_[5]);
  EXPECT_EQ(answer.servers[0], ServerStatus::kLied);
}

TEST_F(PublicClient, AsksAgainAndDecodesTogether) {
  const auto client = this->client(kTagW160, 5, 1);
  const std::vector<std::uint64_t> wanted{5, 6};
  auto query = client.query(wanted, rng_).value();
  auto collector = client.collect(std::move(query.state));
  const auto add = [&](std::initializer_list<std::size_t> servers) {
    for (const auto j : servers) {
      auto reply = *answer(kTagW160, j + 1, query.requests[j]);
      if (j == 1) reply[reply.size() - 21] ^= std::byte{1};
      ASSERT_TRUE(collector->add(j, reply).has_value());
    }
  };
  add({0, 1, 2});
  const auto first = collector->decode().value();
  EXPECT_EQ(first.status, DecodeStatus::kFailed) << "one liar of three is noticed, no query corrects it";
  EXPECT_EQ(first.rank, 1u);
  query = client.query(wanted, rng_).value();
  ASSERT_TRUE(collector->ask_again(std::move(query.state)).has_value());
  add({0, 1, 2, 3});
  EXPECT_EQ(collector->decode()->status, DecodeStatus::kOk);
  const auto answer = std::move(*collector).finish().value();
  EXPECT_EQ(answer.records, (std::vector<Bytes>{records_[5], records_[6]}));
  EXPECT_EQ(answer.certainty, Certainty::kProven);
  EXPECT_EQ(answer.rounds, 2u);
  EXPECT_EQ(answer.servers[1], ServerStatus::kLied);
  EXPECT_EQ(answer.servers[4], ServerStatus::kSilent);
}

TEST_F(PublicClient, RefusesAFurtherQueryOfAnotherClientOrForOtherRecords) {
  const auto client = this->client(kTagGf2_8, 3, 1);
  const std::uint64_t wanted = 5, other = 6;
  auto collector = client.collect(std::move(client.query({&wanted, 1}, rng_)->state));
  const auto foreign =
      collector->ask_again(std::move(this->client(kTagGf2_8, 3, 1).query({&wanted, 1}, rng_)->state));
  expect_error(foreign, ErrorCode::kInvalidArgument, "of the client that made the first");
  EXPECT_EQ(collector->ask_again(std::move(client.query({&other, 1}, rng_)->state)).error().code(),
            ErrorCode::kInvalidArgument);
}

/// Every value but zero is drawn, and none more often than the others.
TEST(BlindingScalars, AreAllNonZeroElements) {
  auto engine = pirx::testing::seeded_engine(4);
  EngineSource rng{engine};
  std::vector<std::uint8_t> scalars(200'000);
  random_nonzero_fill(gf2e::Gf2_8{}, rng, std::span(scalars));
  std::vector<int> counts(256);
  for (const auto scalar : scalars) ++counts[scalar];
  EXPECT_EQ(counts[0], 0);
  for (std::size_t value = 1; value < 256; ++value) {
    EXPECT_NEAR(counts[value], 784, 300) << value;  // more than ten standard deviations
  }
}

}  // namespace
}  // namespace pirx::itpir::goldberg
