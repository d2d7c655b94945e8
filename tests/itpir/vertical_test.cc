// SPDX-License-Identifier: Apache-2.0
// Vertical batch codes over the wire: both codes over both protocols, end to end; liars; what is refused; and
// one shape for all indices.
#include "pirx/itpir/vertical.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "database/database_fixture.h"
#include "itpir/make_client.h"
#include "pirx/itpir/chor/client.h"
#include "pirx/itpir/goldberg/client.h"
#include "pirx/itpir/goldberg/server.h"
#include "support/seed.h"
#include "support/serve.h"

namespace pirx::itpir {
namespace {

constexpr std::size_t kHeader = MessageHeader::kBytes;

struct Setting {
  std::string code, protocol, field;
  unsigned l, t;
};

std::ostream& operator<<(std::ostream& out, const Setting& s) {
  return out << s.code << " over " << s.protocol << " " << s.field;
}

class Vertical : public ::testing::TestWithParam<Setting> {
 protected:
  static constexpr std::size_t kRecords = 71;

  Vertical() : engine_(pirx::testing::seeded_engine(30)), rng_(Rng::from_os().value()) {
    std::vector<Bytes> records;
    for (std::size_t i = 0; i < kRecords; ++i) {
      records_.push_back("record " + std::to_string(i) + std::string(engine_() % 20, 'x'));
      records.push_back(pirx::testing::to_bytes(records_.back()));
    }
    EXPECT_TRUE(database::build(folder_ / "db", records, {}, {.epoch = 3, .records_per_row = 2}).has_value());
    for (unsigned j = 0; j < GetParam().l; ++j) servers_.push_back(open({}, j + 1).value());
    const auto parameters = ServerParameters::decode(servers_[0]->parameters()).value();
    EXPECT_EQ(parameters.code, GetParam().code);
    plain_ = parameters.geometry;
    version_ = parameters.version;
    std::vector<std::uint64_t> coordinates(GetParam().l);
    std::iota(coordinates.begin(), coordinates.end(), 1u);
    if (parameters.protocol == ProtocolId::kChor) {
      make_ = make_clients_at<chor::Params, chor::Client>(coordinates);
    } else {
      make_ = make_clients<goldberg::Params, goldberg::Client>(
          [=, field = parameters.field](const auto& geometry, const auto& version) {
            return goldberg::Params::Spec{field, geometry, version, coordinates, GetParam().t};
          });
    }
    client_.emplace(client(parameters.code));
  }
  VerticalClient client(const std::string& code, const ClientOptions& options = {}) const {
    return VerticalClient::create(code, *plain_, version_, make_, options).value();
  }

  Result<std::unique_ptr<AnyServer>> open(Texts options, unsigned coordinate = 1) {
    options.emplace("code", GetParam().code);
    options.emplace("coordinate", std::to_string(coordinate));
    if (!GetParam().field.empty()) options.emplace("field", GetParam().field);
    return pirx::testing::serve_file(GetParam().protocol, folder_ / "db", options);
  }
  static Result<Bytes> answer(const AnyServer& server, const Bytes& request) {
    const ByteSpan one = request;
    return std::move(server.answer({&one, 1}).at(0));
  }
  std::size_t m() const { return client_->layout().code->buckets(); }
  std::size_t q() const { return client_->layout().code->batch(); }
  /// Asks for these records; server `liar`, if any, flips all it says.
  Result<Answer> ask(std::span<const std::uint64_t> wanted, std::optional<std::size_t> liar = {}) {
    PIRX_ASSIGN(const auto wish, client_->plan(wanted));
    auto query = client_->client().query(wish.rows(), rng_).value();
    std::vector<std::optional<Bytes>> replies;
    for (std::size_t j = 0; j < servers_.size(); ++j) {
      EXPECT_EQ(query.requests[j].size(), client_->client().request_bytes(wish.rows().size()));
      auto reply = answer(*servers_[j], query.requests[j]).value();
      EXPECT_EQ(reply.size(), client_->client().reply_bytes(wish.rows().size()));
      if (liar && *liar == j) {
        for (std::size_t k = kHeader; k < reply.size(); ++k) reply[k] ^= std::byte{1};
      }
      replies.emplace_back(std::move(reply));
    }
    return client_->client().decode(std::move(query.state), replies, reading(wish));
  }
  /// Reads the records of this wish.
  DecodeOptions reading(const VerticalClient::Wish& wish) const {
    return {{}, [&](std::size_t, std::span<const Bytes> rows) { return client_->records(wish, rows); }, true};
  }
  void expect_records(std::span<const std::uint64_t> wanted, const Result<Answer>& found) {
    ASSERT_TRUE(found.has_value()) << found.error().to_string();
    ASSERT_EQ(found->records.size(), wanted.size());
    for (std::size_t k = 0; k < wanted.size(); ++k) {
      EXPECT_EQ(as_text(found->records[k]), records_[wanted[k]]);
    }
  }

  std::mt19937_64 engine_;
  Rng rng_;
  pirx::testing::TemporaryFolder folder_;
  std::vector<std::string> records_;
  std::vector<std::unique_ptr<AnyServer>> servers_;
  std::optional<database::Geometry> plain_;
  database::Version version_;
  MakeClient make_;
  std::optional<VerticalClient> client_;
};

INSTANTIATE_TEST_SUITE_P(All, Vertical,
                         ::testing::Values(Setting{"subcube:2,1", "goldberg", "gf2_8", 4, 1},
                                           Setting{"subcube:2,2", "goldberg", "w48", 4, 1},
                                           Setting{"subcube:3,1", "goldberg", "gf2_16", 5, 2},
                                           Setting{"subset:4,2", "goldberg", "gf2_8", 4, 1},
                                           Setting{"subset:3,1", "goldberg", "w160", 4, 1},
                                           Setting{"subcube:2,2", "chor", "", 3, 2},
                                           Setting{"subcube:4,1", "chor", "", 2, 1},
                                           Setting{"subset:4,2", "chor", "", 2, 1}));

TEST_P(Vertical, EveryRecordAloneAndInBatches) {
  for (std::uint64_t i = 0; i < kRecords; ++i) expect_records({&i, 1}, ask({&i, 1}));
  for (int round = 0; round < 20; ++round) {
    // Distinct rows, which both codes always serve; more than one batch of them.
    std::vector<std::uint64_t> wanted;
    for (std::size_t k = 0; k < 2 * q() + 1; ++k) wanted.push_back(2 * ((engine_() % 4) * 7 + k % 7) + k % 2);
    const auto found = ask(wanted);
    if (!found && GetParam().code.starts_with("subset")) {
      EXPECT_EQ(found.error().code(), ErrorCode::kInvalidArgument) << "no way found: nothing was sent";
      continue;
    }
    expect_records(wanted, found);
  }
}

TEST_P(Vertical, TheSameRecordAsOftenAsTheBatchHasRoom) {
  for (const std::uint64_t record : {std::uint64_t{0}, std::uint64_t{kRecords - 1}, std::uint64_t{30}}) {
    const std::vector<std::uint64_t> wanted(q(), record);
    expect_records(wanted, ask(wanted));
  }
}

TEST_P(Vertical, ALiarIsFoundWhereTheProtocolCan) {
  const std::vector<std::uint64_t> wanted{7, 50};
  for (std::size_t liar = 0; liar < servers_.size(); ++liar) {
    const auto found = ask(wanted, liar);
    if (GetParam().protocol == "chor") {
      ASSERT_FALSE(found.has_value());
      EXPECT_EQ(found.error().code(), ErrorCode::kDataLoss);
    } else {
      expect_records(wanted, found);
      // Over a prime field some of what it says is no element.
      const auto status = found->servers[liar];
      EXPECT_TRUE(status == ServerStatus::kLied || status == ServerStatus::kMalformed);
    }
  }
}

TEST_P(Vertical, SeedsInPlaceOfVectors) {
  const auto seeded = client(GetParam().code, {.seeded = true});
  const std::vector<std::uint64_t> wanted{7, 50};
  const auto wish = seeded.plan(wanted).value();
  auto query = seeded.client().query(wish.rows(), rng_).value();
  std::vector<std::optional<Bytes>> replies;
  std::set<Bytes> seeds;
  for (std::size_t j = 0; j < servers_.size(); ++j) {
    const auto& request = query.requests[j];
    if (j < GetParam().t) {
      EXPECT_EQ(request.size(), kHeader + m() * 32);
      for (std::size_t b = 0; b < m(); ++b) {
        const auto seed = request.begin() + static_cast<std::ptrdiff_t>(kHeader + b * 32);
        seeds.emplace(seed, seed + 32);
      }
    } else {
      EXPECT_EQ(request.size(), client_->client().request_bytes(m()));
    }
    replies.emplace_back(answer(*servers_[j], request).value());
  }
  EXPECT_EQ(seeds.size(), GetParam().t * m()) << "one for each server and bucket";
  expect_records(wanted, seeded.client().decode(std::move(query.state), replies, reading(wish)));
}

/// Many servers, most of which may lie.
class VerticalLiars : public Vertical {};
INSTANTIATE_TEST_SUITE_P(Many, VerticalLiars,
                         ::testing::Values(Setting{"subcube:2,2", "goldberg", "gf2_8", 8, 2},
                                           Setting{"subset:3,2", "goldberg", "gf2_16", 9, 2}));

/// The buckets' queries are blinded each for itself and decoded together: one round tells apart what takes
/// several without a code, k - t - 2 liars who all add the same.
TEST_P(VerticalLiars, InConcertAreToldApartInOneRound) {
  const unsigned k = GetParam().l, most = k - GetParam().t - 2;
  ASSERT_GT(most, (k - GetParam().t - 1) / 2) << "beyond what one word corrects";
  const std::vector<std::uint64_t> wanted{7, 50};
  const auto wish = client_->plan(wanted).value();
  auto query = client_->client().query(wish.rows(), rng_).value();
  std::vector<std::size_t> order(k);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::shuffle(order.begin(), order.end(), engine_);
  Bytes shift(answer(*servers_[0], query.requests[0])->size() - kHeader);
  for (auto& byte : shift) byte = static_cast<std::byte>(engine_() | 1);
  std::vector<std::optional<Bytes>> replies;
  for (std::size_t j = 0; j < k; ++j) {
    auto reply = answer(*servers_[j], query.requests[j]).value();
    if (order[j] < most) {
      for (std::size_t b = 0; b < shift.size(); ++b) reply[kHeader + b] ^= shift[b];
    }
    replies.emplace_back(std::move(reply));
  }
  auto options = reading(wish);
  options.liars = most;
  const auto decoded = client_->client().decode(std::move(query.state), replies, options);
  ASSERT_TRUE(decoded.has_value()) << decoded.error().to_string();
  EXPECT_EQ(decoded->certainty, Certainty::kProven);
  EXPECT_EQ(decoded->rounds, 1u);
  EXPECT_GE(decoded->proof_bound, most);
  for (std::size_t j = 0; j < k; ++j) {
    EXPECT_EQ(decoded->servers[j], order[j] < most ? ServerStatus::kLied : ServerStatus::kOk) << j;
  }
  expect_records(wanted, decoded);
}

TEST_P(Vertical, OneShapeForAllIndices) {
  for (const std::size_t count : {std::size_t{1}, q()}) {
    std::set<std::vector<Bytes>> headers;
    std::set<std::size_t> sizes;
    for (int round = 0; round < 30; ++round) {
      std::vector<std::uint64_t> wanted;
      for (std::size_t k = 0; k < count; ++k) wanted.push_back(engine_() % kRecords);
      const auto wish = client_->plan(wanted);
      if (!wish) continue;  // a subset code finds no way for some repeated ones
      EXPECT_EQ(wish->rows().size(), m());
      for (const auto row : wish->rows()) EXPECT_LT(row, client_->layout().bucket.rows());
      const auto query = client_->client().query(wish->rows(), rng_).value();
      std::vector<Bytes> heads;
      for (const auto& request : query.requests) {
        sizes.insert(request.size());
        heads.emplace_back(request.begin(), request.begin() + kHeader);
      }
      headers.insert(heads);
    }
    EXPECT_EQ(headers.size(), 1u);
    EXPECT_EQ(sizes.size(), 1u);
  }
}

TEST_P(Vertical, AnswersItsSample) {
  for (const std::size_t queries : {1u, 3u}) {
    const Bytes sample = servers_[0]->sample_request(queries);
    EXPECT_EQ(servers_[0]->admit(sample).value(), queries);
    const ByteSpan request = sample;
    EXPECT_TRUE(servers_[0]->answer({&request, 1}).front().has_value());
  }
}

TEST_P(Vertical, ABatchEqualsItsSinglesAndBadRequestsFailAlone) {
  std::vector<Bytes> requests;
  for (const std::size_t count : {std::size_t{1}, q() + 1, q(), std::size_t{1}}) {
    std::vector<std::uint64_t> wanted;
    for (std::size_t k = 0; k < count; ++k) wanted.push_back(2 * k);
    requests.push_back(client_->client().query(client_->plan(wanted)->rows(), rng_).value().requests[0]);
  }
  const auto bad = [&](std::size_t at, unsigned value) {
    auto bytes = requests[0];
    bytes[at] = static_cast<std::byte>(value);
    return bytes;
  };
  const auto good = requests.size();
  requests.push_back(bad(0, 'Q'));
  requests.push_back(bad(6, 2));
  requests.push_back(bad(6, 3));
  requests.push_back(bad(7, 7));
  requests.push_back(bad(16, std::to_integer<unsigned>(requests[0][16]) ^ 1));
  requests.push_back(bad(48, 9));
  requests.push_back(bad(56, 77));
  requests.push_back(bad(64, static_cast<unsigned>(m() + 1)));
  requests.push_back(bad(64, static_cast<unsigned>(2 * m())));
  requests.push_back(bad(65, 255));
  requests.push_back(bad(72, 1));
  requests.push_back({});
  requests.emplace_back(requests[0].begin(), requests[0].end() - 1);
  requests.push_back(requests[0]);
  requests.back().push_back(std::byte{0});
  requests.emplace_back(requests[0].begin(), requests[0].begin() + kHeader);
  if (GetParam().protocol == "chor") {
    ASSERT_NE(client_->layout().bucket.rows() % 8, 0u);
    requests.push_back(requests[0]);
    requests.back().back() |= std::byte{128};  // wrong for the last bucket only: a bit behind its rows
  }
  const std::vector<ByteSpan> batch(requests.begin(), requests.end());
  const auto replies = servers_[0]->answer(batch);
  ASSERT_EQ(replies.size(), requests.size());
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const auto admitted = servers_[0]->admit(requests[i]);
    EXPECT_EQ(admitted.has_value(), i < good) << i;
    EXPECT_EQ(replies[i].has_value(), i < good) << i;
    if (i < good) {
      EXPECT_EQ(*replies[i], answer(*servers_[0], requests[i]).value());
      EXPECT_EQ(*admitted, i == 1 ? 2u : 1u);
    } else if (!replies[i]) {
      EXPECT_EQ(replies[i].error().code(),
                i == 8 || i == 9 ? ErrorCode::kStaleEpoch : ErrorCode::kInvalidArgument);
    }
  }
}

TEST_P(Vertical, QueriesOfAnotherCodeAreRefused) {
  const std::string other = GetParam().code == "subcube:2,1" ? "subcube:3,1" : "subcube:2,1";
  const auto foreign = client(other);
  const std::vector<std::uint64_t> wanted{1};
  const auto request = foreign.client().query(foreign.plan(wanted)->rows(), rng_).value().requests[0];
  EXPECT_FALSE(servers_[0]->admit(request).has_value());
  const auto plain = (*make_(*plain_, version_, {}))->query(wanted, rng_).value().requests[0];
  EXPECT_FALSE(servers_[0]->admit(plain).has_value());
}

/// Three buckets of half the rows each: nothing but the name tells these two apart.
TEST_P(Vertical, NamesAreBoundToQueries) {
  const auto one = client("subcube:2,1");
  const auto other = client("subset:2,1");
  const auto server = open({{"code", "subset:2,1"}}).value();
  const std::vector<std::uint64_t> wanted{1};
  const auto request = [&](const VerticalClient& client) {
    return client.client().query(client.plan(wanted)->rows(), rng_).value().requests[0];
  };
  EXPECT_EQ(request(one).size(), request(other).size());
  EXPECT_TRUE(server->admit(request(other)).has_value());
  EXPECT_EQ(server->admit(request(one)).error().code(), ErrorCode::kStaleEpoch);
}

/// Rows of buckets have no digests: the records that are made of them do.
TEST_P(Vertical, DigestsOfRecordsDecideWhatRepliesDoNotProve) {
  const bool chor = GetParam().protocol == "chor";
  const std::vector<std::uint64_t> wanted{7, 50};
  const auto wish = client_->plan(wanted).value();
  for (const bool look : {true, false}) {
    auto query = client_->client().query(wish.rows(), rng_).value();
    // One reply more than is needed, and one of them wrong; of Chor's protocol all.
    std::vector<std::optional<Bytes>> replies;
    for (std::size_t j = 0; j < (chor ? GetParam().l : GetParam().t + 2); ++j) {
      replies.emplace_back(answer(*servers_[j], query.requests[j]).value());
    }
    // Never the highest byte of an element, which over a prime field would make it none.
    for (std::size_t k = kHeader; k < replies[1]->size(); k += 7) (*replies[1])[k] ^= std::byte{1};
    const auto decoded =
        client_->client().decode(std::move(query.state), replies, look ? reading(wish) : DecodeOptions());
    if (chor) {
      EXPECT_EQ(decoded.has_value(), !look);
    } else if (look) {
      ASSERT_TRUE(decoded.has_value()) << decoded.error().to_string();
      EXPECT_EQ(decoded->certainty, Certainty::kProbable);
      EXPECT_EQ(decoded->servers[1], ServerStatus::kSuspected);
      expect_records(wanted, decoded);
    } else {
      EXPECT_EQ(decoded.error().code(), ErrorCode::kUndecodable);
    }
  }
}

/// A lie in a bucket that is not used, or beside the wanted record, leaves the answer what it is. Were it
/// another one, the look-up would fail, or not, as the liar chose by what is wanted.
TEST_P(Vertical, ALieInWhatIsNotWantedChangesNothing) {
  if (GetParam().protocol == "chor") GTEST_SKIP() << "there is no reply to spare";
  for (std::uint64_t wanted = 0; wanted < kRecords; ++wanted) {
    const auto wish = client_->plan(std::span(&wanted, 1)).value();
    auto query = client_->client().query(wish.rows(), rng_).value();
    std::vector<std::optional<Bytes>> replies;
    for (std::size_t j = 0; j < GetParam().t + 2; ++j) {
      replies.emplace_back(answer(*servers_[j], query.requests[j]).value());
    }
    (*replies[1])[kHeader] ^= std::byte{1};
    const auto decoded = client_->client().decode(std::move(query.state), replies, reading(wish));
    ASSERT_TRUE(decoded.has_value()) << wanted << ": " << decoded.error().to_string();
    EXPECT_EQ(decoded->certainty, Certainty::kProbable);
    expect_records(std::span(&wanted, 1), decoded);
  }
}

/// One batch of rows that takes a second search over many sets, and sixteen of them: they share its time.
TEST_P(Vertical, OneSearchBudgetForAllBatches) {
  if (GetParam().code != "subset:3,1") GTEST_SKIP() << "the code is another one anyway";
  const auto planner = client("subset:5,4");
  std::vector<std::uint64_t> wanted;
  for (const std::uint64_t row : {3, 3, 8, 1, 13, 11, 3, 3, 8, 1, 6, 6, 13, 6, 11, 6})
    wanted.push_back(2 * row);
  EXPECT_TRUE(pirx::testing::good(planner.plan(wanted)));
  std::vector<std::uint64_t> many;
  for (int batch = 0; batch < 16; ++batch) many.insert(many.end(), wanted.begin(), wanted.end());
  pirx::testing::expect_error(planner.plan(many), ErrorCode::kInvalidArgument, "no way was found in time");
  EXPECT_TRUE(pirx::testing::good(planner.stand_in(many.size())));
  // Different sets leave the budget alone.
  std::iota(many.begin(), many.end(), std::uint64_t{0});
  for (auto& record : many) record %= kRecords;
  EXPECT_TRUE(pirx::testing::good(planner.plan(many)));
}

TEST_P(Vertical, DescribesItself) {
  const auto& server = *servers_[0];
  EXPECT_EQ(server.max_queries(), std::min<std::size_t>(256, 4096 / m()));
  const std::vector<std::uint64_t> wanted{1};
  const auto request = client_->client().query(client_->plan(wanted)->rows(), rng_).value().requests[0];
  EXPECT_GE(server.max_request_bytes(), kHeader + server.max_queries() * (request.size() - kHeader));
  const auto reply = answer(server, request).value();
  EXPECT_GT(server.working_bytes(1), reply.size());
  EXPECT_GE(server.max_reply_bytes(1), reply.size());
  EXPECT_EQ(server.working_bytes(SIZE_MAX), SIZE_MAX);
  EXPECT_TRUE(server.answer({}).empty());
}

TEST_P(Vertical, RefusesWhatCannotWork) {
  const auto code_of = [&](const std::vector<std::uint64_t>& wanted) {
    const auto wish = client_->plan(wanted);
    return wish ? ErrorCode{} : wish.error().code();
  };
  EXPECT_EQ(code_of({}), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code_of({kRecords}), ErrorCode::kOutOfRange);
  EXPECT_EQ(code_of(std::vector<std::uint64_t>(4096 * q(), 1)), ErrorCode::kInvalidArgument);
  for (const char* code : {"cube:2,1", "subcube:1,1", "subcube:02,1", "subcube:2", "subcube:2,1,",
                           "subcube:2,-1", "subset:4,4", "subcube:15,4"}) {
    EXPECT_EQ(open({{"code", code}}).error().code(), ErrorCode::kInvalidArgument) << code;
  }
  EXPECT_EQ(open({{"prepared", "x"}}).error().code(), ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace pirx::itpir
