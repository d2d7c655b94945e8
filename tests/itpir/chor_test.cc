// SPDX-License-Identifier: Apache-2.0
// Chor's protocol end to end: parameters, batches, seeds, what is refused, and what a liar achieves.
#include <numeric>

#include "checked_by.h"
#include "chor_deployment.h"
#include "database/database_fixture.h"
#include "itpir/chor/common.h"
#include "pirx/itpir/chor/client.h"
#include "support/serve.h"

namespace pirx::itpir::chor {
namespace {

using pirx::testing::expect_error;
using testing::ChorDeployment;

constexpr std::size_t kHeader = MessageHeader::kBytes;

ErrorCode code_of(const Result<Answer>& answer) { return answer ? ErrorCode{} : answer.error().code(); }

TEST(ChorParams, RefusesWhatCannotWork) {
  const Params::Spec good{database::Geometry::create({100, 7}).value(), {}, {1, 2, 300}};
  EXPECT_EQ(Params::create(good)->threshold(), 2u);
  const auto refused = [&](std::string_view part, auto&& change) {
    auto spec = good;
    change(spec);
    const auto params = Params::create(spec);
    expect_error(params, ErrorCode::kInvalidArgument, part);
  };
  refused("at least two servers, not 0", [](auto& s) { s.coordinates = {}; });
  refused("at least two servers, not 1", [](auto& s) { s.coordinates = {1}; });
  refused("coordinate 0", [](auto& s) { s.coordinates[1] = 0; });
  refused("two servers have coordinate 300", [](auto& s) { s.coordinates[0] = 300; });
  refused("at most 1024", [](auto& s) {
    s.coordinates.resize(1025);
    std::iota(s.coordinates.begin(), s.coordinates.end(), 1u);
  });
  refused("balance the records per row", [](auto& s) {
    s.geometry = database::Geometry::create({1, std::uint64_t{1} << 31}).value();
  });
}

TEST(ChorPlan, RefusesOtherSettings) {
  const auto* row = find_protocol("chor").value();
  const auto plan = [&](Texts members) -> Result<std::shared_ptr<const Plan>> {
    members.emplace("field", "gf2");
    members.emplace("threshold", "2");
    PIRX_ASSIGN(auto given, Options::create(row->members, members, row->name));
    return row->plan({.members = std::move(given),
                      .geometry = database::Geometry::create({10, 30, 1, true, true}).value(),
                      .version = {},
                      .coordinates = {1, 2, 3}});
  };
  ASSERT_TRUE(plan({}).has_value());
  EXPECT_NE(plan({}).value()->summary().find("3 replies needed"), std::string::npos);
  const auto refused = [&](std::string_view part, const Texts& members) {
    const auto made = plan(members);
    expect_error(made, ErrorCode::kInvalidArgument, part);
  };
  for (const char* t : {"0", "1", "3"}) refused("with 3 servers has threshold 2", {{"threshold", t}});
  refused("over gf2, not over gf2_8", {{"field", "gf2_8"}});
  for (const char* name : {"ramp", "encoding.arity", "encoding.independence"}) refused(name, {{name, "2"}});
}

TEST(Chor, AskingAgainTellsNothing) {
  auto engine = pirx::testing::seeded_engine(26);
  auto rng = Rng::from_os().value();
  const auto client = ChorDeployment({10, 30, 1, true, true}, 3, engine).client();
  const std::uint64_t wanted = 0;
  auto collector = client.collect(std::move(client.query({&wanted, 1}, rng)->state));
  const auto again = collector->ask_again(std::move(client.query({&wanted, 1}, rng)->state));
  expect_error(again, ErrorCode::kInvalidArgument, "cannot tell liars apart");
}

TEST(Chor, EveryRecordOfManyShapes) {
  auto engine = pirx::testing::seeded_engine(20);
  auto rng = Rng::from_os().value();
  for (const bool seeded : {false, true}) {
    for (unsigned l = 2; l <= 4; ++l) {
      for (const std::uint64_t n : {1u, 7u, 8u, 9u, 63u, 64u, 65u, 130u}) {
        const ChorDeployment deployment({n, 5, 1 + n % 3 % n, true, true}, l, engine, seeded);
        const auto client = deployment.client();
        std::vector<std::uint64_t> all(n);
        std::iota(all.begin(), all.end(), 0u);
        all.push_back(n / 2);  // one of them twice
        auto query = client.query(all, rng).value();
        for (std::size_t j = 0; j < l; ++j) {
          EXPECT_EQ(query.requests[j].size(),
                    seeded && j + 1 < l ? seeds_bytes(all.size()) : client.request_bytes(all.size()));
        }
        const auto replies = deployment.replies(query.requests);
        EXPECT_EQ(replies[0]->size(), client.reply_bytes(all.size()));
        const auto answer = client.decode(std::move(query.state), replies).value();
        for (std::size_t k = 0; k < all.size(); ++k) {
          ASSERT_EQ(answer.records[k], deployment.records[all[k]]) << n << " records, " << l << " servers";
        }
        EXPECT_EQ(answer.certainty, Certainty::kProbable);
        EXPECT_EQ(answer.servers, std::vector<ServerStatus>(l, ServerStatus::kOk));
      }
    }
  }
}

TEST(Chor, WithoutDigestsNothingIsVerified) {
  auto engine = pirx::testing::seeded_engine(21);
  auto rng = Rng::from_os().value();
  const ChorDeployment deployment({9, 4, 1, false, false}, 2, engine);
  const auto client = deployment.client();
  const std::vector<std::uint64_t> wanted{3};
  const auto knowing =
      checked_by([&](std::span<const Bytes> records) { return records[0] == deployment.records[3]; });
  for (const bool check : {false, true}) {
    auto query = client.query(wanted, rng).value();
    const auto replies = deployment.replies(query.requests);
    const auto options = check ? knowing : DecodeOptions();
    const auto answer = client.decode(std::move(query.state), replies, options).value();
    EXPECT_EQ(answer.certainty, check ? Certainty::kProbable : Certainty::kUnverified);
  }
  // And a lie goes through, unless the caller knows better.
  for (const bool check : {false, true}) {
    auto query = client.query(wanted, rng).value();
    auto replies = deployment.replies(query.requests);
    replies[1]->back() ^= std::byte{1};
    const auto options = check ? knowing : DecodeOptions();
    const auto answer = client.decode(std::move(query.state), replies, options);
    EXPECT_EQ(code_of(answer), check ? ErrorCode::kDataLoss : ErrorCode{});
  }
}

TEST(Chor, SumsOfRows) {
  auto engine = pirx::testing::seeded_engine(25);
  auto rng = Rng::from_os().value();
  for (const bool seeded : {false, true}) {
    const ChorDeployment deployment({30, 9, 2, true, true}, 3, engine, seeded);
    const auto client = deployment.client();
    const std::vector<std::array<std::uint64_t, 3>> rows{{0, 7, 14}, {3, 3, 5}, {2, 2, 2}};
    auto query = client.query_sums(rows, rng).value();
    EXPECT_EQ(query.requests[0].size(), seeded ? seeds_bytes(3) : client.request_bytes(3));
    const auto replies = deployment.replies(query.requests);
    const auto answer = client.decode(std::move(query.state), replies).value();
    EXPECT_EQ(answer.certainty, Certainty::kUnverified);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      Bytes sum(static_cast<std::size_t>(deployment.spec().geometry.row_bytes()));
      for (const auto row : rows[i]) {
        for (std::size_t c = 0; c < sum.size(); ++c) sum[c] ^= deployment.rows().at(row, c);
      }
      EXPECT_EQ(answer.records[i], sum);
    }
  }
  const ChorDeployment deployment({30, 9, 2, true, true}, 2, engine);
  const std::vector<std::array<std::uint64_t, 3>> beyond{{0, 15, 1}};
  EXPECT_EQ(deployment.client().query_sums(beyond, rng).error().code(), ErrorCode::kOutOfRange);
  EXPECT_EQ(deployment.client().query_sums({}, rng).error().code(), ErrorCode::kInvalidArgument);
}

/// Some records of a deployment with a reply changed at will.
class ChorLies : public ::testing::Test {
 protected:
  ChorLies()
      : engine_(pirx::testing::seeded_engine(22)),
        deployment_({40, 21, 2, true, true}, 3, engine_),
        client_(deployment_.client()),
        rng_(Rng::from_os().value()) {}
  Result<Answer> ask(const std::function<void(std::vector<std::optional<Bytes>>&)>& change) {
    const std::vector<std::uint64_t> wanted{5, 20};
    auto query = client_.query(wanted, rng_).value();
    auto replies = deployment_.replies(query.requests);
    change(replies);
    return client_.decode(std::move(query.state), replies);
  }
  void expect_lost(ErrorCode code, std::string_view part,
                   const std::function<void(std::vector<std::optional<Bytes>>&)>& change) {
    const auto answer = ask(change);
    expect_error(answer, code, part);
  }

  std::mt19937_64 engine_;
  ChorDeployment deployment_;
  Client client_;
  Rng rng_;
};

TEST_F(ChorLies, ALieInTheWantedSlotLosesTheAnswerWhoeverTellsIt) {
  for (std::size_t liar = 0; liar < 3; ++liar) {
    expect_lost(ErrorCode::kDataLoss, "cannot tell which one", [&](auto& replies) {
      const auto slot = static_cast<std::size_t>(deployment_.spec().geometry.slot_bytes());
      (*replies[liar])[kHeader + slot + engine_() % slot] ^= std::byte{4};  // record 5 is second in its row
    });
  }
  // Elsewhere in the row it is not even noticed.
  const auto answer = ask([&](auto& replies) { (*replies[1])[kHeader] ^= std::byte{4}; });
  EXPECT_EQ(answer->records[0], deployment_.records[5]);
}

TEST_F(ChorLies, TheErrorNamesNoServerAndNoRecord) {
  const auto lost = [&](std::size_t liar) {
    return ask([&](auto& replies) {
             for (std::size_t k = kHeader; k < replies[liar]->size(); ++k)
               (*replies[liar])[k] ^= std::byte{1};
           })
        .error()
        .to_string();
  };
  EXPECT_EQ(lost(0), lost(1));
  EXPECT_EQ(lost(0), lost(2));
}

TEST_F(ChorLies, AServerWithAnotherDatabaseLosesTheAnswer) {
  auto other = matrix::Matrix<std::byte>::create(deployment_.rows().rows, deployment_.rows().cols).value();
  const auto liar = deployment_.serve(11, other.view());
  const std::vector<std::uint64_t> wanted{5};
  int lost = 0;
  for (int round = 0; round < 64; ++round) {  // right by chance when its vector has a zero there: one in two
    auto query = client_.query(wanted, rng_).value();
    auto replies = deployment_.replies(query.requests);
    replies[1] = ChorDeployment::answer(*liar, query.requests[1]).value();
    const auto answer = client_.decode(std::move(query.state), replies);
    if (answer) {
      EXPECT_EQ(answer->records[0], deployment_.records[5]);
    }
    lost += code_of(answer) == ErrorCode::kDataLoss;
  }
  EXPECT_GT(lost, 0);
}

TEST_F(ChorLies, EveryServerMustAnswer) {
  for (std::size_t missing = 0; missing < 3; ++missing) {
    expect_lost(ErrorCode::kUndecodable,
                "2 usable replies of 3 servers, Chor's protocol needs all of them (1 silent",
                [&](auto& replies) { replies[missing].reset(); });
  }
  expect_lost(ErrorCode::kUndecodable, "1 malformed", [](auto& replies) { replies[2]->pop_back(); });
  expect_lost(ErrorCode::kStaleEpoch, "1 with another database version",
              [](auto& replies) { (*replies[0])[48] ^= std::byte{1}; });
}

TEST_F(ChorLies, TheCollectorTakesRepliesAsTheyCome) {
  const std::vector<std::uint64_t> wanted{5};
  auto query = client_.query(wanted, rng_).value();
  const auto replies = deployment_.replies(query.requests);
  auto collector = client_.collect(std::move(query.state));
  EXPECT_FALSE(collector->add(3, *replies[0]).has_value());
  EXPECT_FALSE(collector->add(1, *replies[0]).has_value()) << "the reply of another server";
  collector->set_missing(2, ServerStatus::kRefused);
  EXPECT_EQ(collector->decode()->status, DecodeStatus::kFailed);
  for (const std::size_t j : {2u, 0u, 1u}) {
    EXPECT_FALSE(collector->settled(0));
    EXPECT_TRUE(collector->add(j, *replies[j]).has_value());
  }
  EXPECT_TRUE(collector->settled(0));
  EXPECT_EQ(collector->decode()->status, DecodeStatus::kOk);
  EXPECT_FALSE(collector->add(1, *replies[1]).has_value()) << "twice";
  collector->set_missing(1, ServerStatus::kSilent);
  EXPECT_EQ(std::move(*collector).finish()->records[0], deployment_.records[5]);
}

TEST_F(ChorLies, RepliesOfAnotherShapeAreNone) {
  const std::vector<std::uint64_t> wanted{5, 20};
  const auto query = client_.query(wanted, rng_).value();
  const auto reply = ChorDeployment::answer(*deployment_.servers[0], query.requests[0]).value();
  const auto refused = [&](ErrorCode code, std::string_view part, std::size_t at, unsigned value) {
    auto bytes = reply;
    bytes[at] = static_cast<std::byte>(value);
    auto fresh = client_.query(wanted, rng_).value();
    auto collector = client_.collect(std::move(fresh.state));
    const auto added = collector->add(0, bytes);
    expect_error(added, code, part);
  };
  refused(ErrorCode::kDataLoss, "no reply", 6, 1);
  refused(ErrorCode::kDataLoss, "protocol number 1 instead of 2", 7, 1);
  refused(ErrorCode::kDataLoss, "field 1/8/1 instead of gf2", 10, 8);
  refused(ErrorCode::kStaleEpoch, "was for epoch 7", 48, 8);
  refused(ErrorCode::kDataLoss, "coordinate 11 instead of 10", 56, 11);
  refused(ErrorCode::kDataLoss, "1 x ", 64, 1);
  refused(ErrorCode::kDataLoss, "words instead of", 72, 3);
}

TEST_F(ChorLies, QueriesAreChecked) {
  EXPECT_EQ(client_.query({}, rng_).error().code(), ErrorCode::kInvalidArgument);
  const std::vector<std::uint64_t> beyond{1, 40};
  EXPECT_EQ(client_.query(beyond, rng_).error().code(), ErrorCode::kOutOfRange);
  const std::vector<std::uint64_t> many(4097, 0);
  EXPECT_NE(client_.query(many, rng_).error().message().find("at most 4096"), std::string::npos);
}

class ChorServers : public ::testing::TestWithParam<bool> {
 protected:
  ChorServers()
      : engine_(pirx::testing::seeded_engine(23)),
        deployment_({37, 11, 1, true, true}, 3, engine_, GetParam()),
        client_(deployment_.client()),
        rng_(Rng::from_os().value()) {}
  /// A request to server 0 for so many random records.
  Bytes request(std::size_t count) {
    std::vector<std::uint64_t> wanted(count);
    for (auto& index : wanted) index = engine_() % 37;
    return client_.query(wanted, rng_).value().requests[0];
  }
  /// What the server should say: the sum of the rows that its bits, or those of its seeds, choose.
  Bytes expected(const Bytes& request) const {
    const std::size_t each = GetParam() ? 32 : 5,
                      width = static_cast<std::size_t>(deployment_.spec().geometry.row_bytes());
    Bytes sums;
    for (std::size_t at = kHeader; at < request.size(); at += each) {
      Bytes bits(request.begin() + static_cast<std::ptrdiff_t>(at),
                 request.begin() + static_cast<std::ptrdiff_t>(at + each));
      if (GetParam()) {
        SeedStream stream(std::span<const std::byte, kSeedBytes>(bits.data(), 32));
        bits.resize(5);
        stream.fill(bits);
      }
      Bytes sum(width);
      for (std::size_t k = 0; k < 37; ++k) {
        if ((bits[k / 8] >> (k % 8) & std::byte{1}) == std::byte{0}) continue;
        for (std::size_t c = 0; c < width; ++c) sum[c] ^= deployment_.rows().at(k, c);
      }
      sums.insert(sums.end(), sum.begin(), sum.end());
    }
    return sums;
  }
  const AnyServer& server() const { return *deployment_.servers[0]; }

  std::mt19937_64 engine_;
  ChorDeployment deployment_;
  Client client_;
  Rng rng_;
};
INSTANTIATE_TEST_SUITE_P(Vectors, ChorServers, ::testing::Values(false), [](const auto&) { return "Bits"; });
INSTANTIATE_TEST_SUITE_P(Seeds, ChorServers, ::testing::Values(true), [](const auto&) { return "Seeds"; });

TEST_P(ChorServers, ABatchEqualsItsSinglesWithEveryKernel) {
  std::vector<Bytes> requests;
  for (const std::size_t count : {1u, 5u, 2u, 1u, 90u, 3u}) requests.push_back(request(count));
  requests[3].pop_back();
  const std::vector<ByteSpan> batch(requests.begin(), requests.end());
  const CpuFeatures here = allowed_cpu_features().value();
  int kernels_run = 0;
  for (const auto& kernels : gf2e::kernel_table(gf2e::Gf2{})) {
    if ((kernels.needs & ~here) != 0) continue;
    const auto own = deployment_.serve(10, deployment_.rows(), strassen::Engine<gf2e::Gf2>({}, kernels));
    const auto replies = own->answer(batch);
    ASSERT_EQ(replies.size(), requests.size());
    for (std::size_t i = 0; i < requests.size(); ++i) {
      ASSERT_EQ(replies[i].has_value(), i != 3);
      if (i == 3) continue;
      EXPECT_EQ(*replies[i], ChorDeployment::answer(*own, requests[i]).value());
      EXPECT_EQ(Bytes(replies[i]->begin() + kHeader, replies[i]->end()), expected(requests[i]))
          << kernels.name;
    }
    ++kernels_run;
  }
  EXPECT_GT(kernels_run, 0);
}

TEST_P(ChorServers, DescribesItself) {
  EXPECT_EQ(server().protocol(), ProtocolId::kChor);
  const auto parameters = ServerParameters::decode(server().parameters()).value();
  EXPECT_EQ(parameters.protocol, ProtocolId::kChor);
  EXPECT_EQ(parameters.field, kTagGf2);
  EXPECT_EQ(parameters.geometry, deployment_.spec().geometry);
  EXPECT_EQ(parameters.version, deployment_.spec().version);
  EXPECT_EQ(parameters.coordinate, 10u);
  EXPECT_EQ(server().max_queries(), 4096u);
  EXPECT_EQ(server().max_request_bytes(), 80u + 4096u * 32u);
  EXPECT_EQ(server().admit(request(7)).value(), 7u);
  for (const std::size_t count : {1u, 9u}) {
    const auto reply = ChorDeployment::answer(server(), request(count)).value();
    EXPECT_GT(server().working_bytes(count), reply.size());
    EXPECT_EQ(server().max_reply_bytes(count), reply.size());
  }
  EXPECT_EQ(server().working_bytes(SIZE_MAX), SIZE_MAX);
  EXPECT_TRUE(server().answer({}).empty());
}

TEST_P(ChorServers, RefuseOtherRequests) {
  const auto good = request(2);
  const auto refused = [&](ErrorCode code, std::string_view part, const Bytes& bytes) {
    const auto admitted = server().admit(bytes);
    expect_error(admitted, code, part);
    EXPECT_EQ(ChorDeployment::answer(server(), bytes).error().to_string(), admitted.error().to_string());
  };
  const auto with = [&](std::size_t at, unsigned value) {
    auto bytes = good;
    bytes[at] = static_cast<std::byte>(value);
    return bytes;
  };
  constexpr auto kInvalid = ErrorCode::kInvalidArgument;
  refused(kInvalid, "malformed", with(0, 'Q'));
  refused(kInvalid, "is no query", with(6, 2));
  refused(kInvalid, GetParam() ? "instead of 90" : "instead of 144", with(6, GetParam() ? 1 : 4));
  refused(kInvalid, "protocol number 1 instead of 2", with(7, 1));
  refused(kInvalid, "field 1/8/1", with(10, 8));
  refused(ErrorCode::kStaleEpoch, "holds epoch 7", with(48, 8));
  refused(ErrorCode::kStaleEpoch, "holds epoch 7 (5a5a", with(16, 0));
  refused(kInvalid, "coordinate 12", with(56, 12));
  refused(kInvalid, "bytes instead of", with(64, 3));
  refused(kInvalid, "for 38 rows", with(72, 38));
  auto bytes = good;
  bytes.pop_back();
  refused(kInvalid, "bytes instead of", bytes);
  bytes.resize(good.size() + 1);
  refused(kInvalid, "bytes instead of", bytes);
  if (GetParam()) return;
  for (std::size_t bit = 5; bit < 8; ++bit) {  // 37 rows: the last byte of a vector has five bits
    for (const std::size_t vector : {0u, 1u}) {
      bytes = good;
      bytes[kHeader + 5 * vector + 4] |= std::byte{1} << bit;
      refused(kInvalid, "bits behind its last row", bytes);
    }
  }
}

TEST_P(ChorServers, MutatedRequestsHurtNobody) {
  const auto good = request(2);
  int refused = 0;
  for (int round = 0; round < 5000; ++round) {
    auto bytes = good;
    for (auto changes = 1 + engine_() % 3; changes > 0; --changes) {
      if (engine_() % 4 == 0) {
        bytes.resize(engine_() % (bytes.size() + 40));
      } else if (!bytes.empty()) {
        bytes[engine_() % std::min<std::size_t>(bytes.size(), 100)] = static_cast<std::byte>(engine_());
      }
    }
    const ByteSpan batch[] = {bytes, good};
    const auto replies = server().answer(batch);
    ASSERT_EQ(Bytes(replies[1]->begin() + kHeader, replies[1]->end()), expected(good));
    ASSERT_EQ(replies[0].has_value(), server().admit(bytes).has_value());
    refused += !replies[0].has_value();
  }
  EXPECT_GT(refused, 2000);
}

TEST(ChorSeeds, AllVectorsAddUpToTheUnitVector) {
  auto engine = pirx::testing::seeded_engine(24);
  auto rng = Rng::from_os().value();
  const ChorDeployment deployment({21, 1, 1, false, true}, 3, engine, true);
  const std::vector<std::uint64_t> wanted{17, 2};
  const auto requests = deployment.client().query(wanted, rng).value().requests;
  ASSERT_EQ(requests[0].size(), kHeader + 2 * 32);
  ASSERT_EQ(requests[2].size(), kHeader + 2 * 3);
  EXPECT_NE(Bytes(requests[0].begin() + kHeader, requests[0].end()),
            Bytes(requests[1].begin() + kHeader, requests[1].end()));
  for (std::size_t i = 0; i < 2; ++i) {
    Bytes sum(requests[2].begin() + kHeader + static_cast<std::ptrdiff_t>(3 * i),
              requests[2].begin() + kHeader + static_cast<std::ptrdiff_t>(3 * i + 3));
    for (std::size_t j = 0; j < 2; ++j) {
      Bytes bits(3);
      SeedStream(ByteSpan(requests[j]).subspan(kHeader + 32 * i).first<kSeedBytes>()).fill(bits);
      for (std::size_t k = 0; k < 3; ++k) sum[k] ^= bits[k];
    }
    sum[2] &= std::byte{0x1F};
    Bytes unit(3);
    unit[wanted[i] / 8] = std::byte{1} << wanted[i] % 8;
    EXPECT_EQ(sum, unit);
  }
}

TEST(ChorProtocol, OpensDatabaseFiles) {
  const pirx::testing::TemporaryFolder folder;
  std::vector<Bytes> records;
  for (int i = 0; i < 20; ++i) records.push_back(pirx::testing::to_bytes("record " + std::to_string(i)));
  ASSERT_TRUE(database::build(folder / "db", records).has_value());
  const auto open = [&](Texts options) {
    options.emplace("coordinate", "1");
    return pirx::testing::serve_file("chor", folder / "db", options);
  };
  const auto first = open({{"coordinate", "1"}, {"max_queries", "3"}}).value();
  const auto second = open({{"coordinate", "1000000"}, {"layout", "rows"}}).value();
  const auto parameters = ServerParameters::decode(first->parameters()).value();
  const Client client(Params::create({parameters.geometry, parameters.version, {1, 1000000}}).value());
  auto rng = Rng::from_os().value();
  const std::vector<std::uint64_t> wanted{4, 19, 4};
  auto query = client.query(wanted, rng).value();
  const std::vector<std::optional<Bytes>> replies{ChorDeployment::answer(*first, query.requests[0]).value(),
                                                  ChorDeployment::answer(*second, query.requests[1]).value()};
  EXPECT_EQ(as_text(client.decode(std::move(query.state), replies)->records[1]), "record 19");
  const std::vector<std::uint64_t> four{1, 2, 3, 4};
  query = client.query(four, rng).value();
  EXPECT_NE(first->admit(query.requests[0]).error().message().find("this server takes 3"), std::string::npos);
  for (const auto& [name, value] : std::map<std::string, std::string>{
           {"coordinate", "0"}, {"max_queries", "0"}, {"layout", "spiral"}, {"colour", "red"}}) {
    EXPECT_EQ(open({{name, value}}).error().code(), ErrorCode::kInvalidArgument) << name;
  }
}

}  // namespace
}  // namespace pirx::itpir::chor
