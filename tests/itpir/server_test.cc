// SPDX-License-Identifier: Apache-2.0
// The server half: batches, refusals, options, and many threads on one object.
#include "pirx/itpir/goldberg/server.h"

#include <thread>

#include "database/database_fixture.h"
#include "deployment.h"
#include "pirx/batchcodes/fields.h"
#include "support/serve.h"

namespace pirx::itpir::goldberg {
namespace {

using testing::Deployment;
using testing::EngineSource;
using testing::expect_error;

template <class F>
class Server : public ::testing::Test {
 protected:
  Server()
      : engine_(pirx::testing::seeded_engine(10)),
        deployment_(field(), {30, 21, 2, true, true}, 3, 1, engine_) {}
  static F field() {
    if constexpr (std::is_same_v<F, fp::PrimeField>) {
      return fp::PrimeField::create(64).value();
    } else {
      return F{};
    }
  }
  /// A request of one client for `count` random records, to server 0.
  Bytes request(std::size_t count) {
    std::vector<std::uint64_t> wanted(count);
    for (auto& index : wanted) index = engine_() % 30;
    EngineSource rng{engine_};
    return deployment_.client().query(testing::records_of(wanted), rng).value().requests[0];
  }
  const AnyServer& server() const { return *deployment_.servers[0]; }

  std::mt19937_64 engine_;
  Deployment<F> deployment_;
};
using Fields = ::testing::Types<gf2e::Gf2_8, gf2e::Gf2_16, fp::W160, fp::W48, fp::PrimeField>;
TYPED_TEST_SUITE(Server, Fields);

TYPED_TEST(Server, BatchEqualsSingles) {
  std::vector<Bytes> requests;
  for (const std::size_t count : {1u, 5u, 2u, 1u, 9u}) requests.push_back(this->request(count));
  const std::vector<ByteSpan> batch(requests.begin(), requests.end());
  const auto replies = this->server().answer(batch);
  ASSERT_EQ(replies.size(), requests.size());
  for (std::size_t i = 0; i < requests.size(); ++i) {
    EXPECT_EQ(replies[i].value(), Deployment<TypeParam>::answer(this->server(), requests[i]));
  }
}

TYPED_TEST(Server, BadRequestFailsAlone) {
  std::vector<Bytes> requests;
  for (int i = 0; i < 5; ++i) requests.push_back(this->request(2));
  requests[1].pop_back();
  requests[3][4] = std::byte{9};
  const bool has_bad_values = this->field().tag().kind == FieldKind::kPrime;
  if (has_bad_values) std::fill(requests[2].end() - 10, requests[2].end(), std::byte{0xFF});
  const std::vector<ByteSpan> batch(requests.begin(), requests.end());
  const auto replies = this->server().answer(batch);
  for (const std::size_t good : {0u, 4u}) {
    EXPECT_EQ(replies[good].value(), Deployment<TypeParam>::answer(this->server(), requests[good]));
  }
  EXPECT_EQ(replies[1].error().code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(replies[3].error().code(), ErrorCode::kInvalidArgument);
  ASSERT_EQ(replies[2].has_value(), !has_bad_values);
  if (has_bad_values) {
    expect_error(replies[2], ErrorCode::kInvalidArgument, "no element");
  }
}

TYPED_TEST(Server, EightThreadsGetTheSameAnswers) {
  std::vector<Bytes> requests;
  for (int i = 0; i < 8; ++i) requests.push_back(this->request(3));
  std::vector<Bytes> expected;
  for (const auto& request : requests)
    expected.push_back(Deployment<TypeParam>::answer(this->server(), request));
  std::vector<int> wrong(8, 0);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < 8; ++i) {
    threads.emplace_back([&, i] {
      for (int round = 0; round < 5; ++round) {
        const std::vector<ByteSpan> batch{requests[i], requests[(i + 1) % 8]};
        const auto replies = this->server().answer(batch);
        wrong[i] += replies[0].value() != expected[i] || replies[1].value() != expected[(i + 1) % 8];
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(8, 0));
}

using Gf8Server = Server<gf2e::Gf2_8>;

TEST_F(Gf8Server, SlicesWhatDoesNotFitOneProduct) {
  std::vector<Bytes> requests;
  for (const std::size_t count : {4096u, 4000u, 96u, 1u, 4096u}) requests.push_back(request(count));
  const std::vector<ByteSpan> batch(requests.begin(), requests.end());
  const auto replies = server().answer(batch);
  for (std::size_t i = 0; i < requests.size(); ++i) {
    EXPECT_EQ(replies[i].value(), Deployment<gf2e::Gf2_8>::answer(server(), requests[i]));
  }
}

TEST_F(Gf8Server, AnswersNothingWithNothing) { EXPECT_TRUE(server().answer({}).empty()); }

TEST_F(Gf8Server, DescribesItself) {
  EXPECT_EQ(server().protocol(), ProtocolId::kGoldberg);
  const auto parameters = ServerParameters::decode(server().parameters()).value();
  EXPECT_EQ(parameters.field, kTagGf2_8);
  EXPECT_EQ(parameters.geometry, deployment_.spec().geometry);
  EXPECT_EQ(parameters.version, deployment_.spec().version);
  EXPECT_EQ(parameters.coordinate, 1u);
  EXPECT_EQ(server().max_request_bytes(), 80u + 4096u * 32u) << "seeds are longer than vectors of 15 rows";
}

void expect_refused(const AnyServer& server, const Bytes& request, ErrorCode code, std::string_view part) {
  const auto admitted = server.admit(request);
  expect_error(admitted, code, part);
  const ByteSpan one = request;
  const auto replies = server.answer({&one, 1});
  ASSERT_FALSE(replies.at(0).has_value());
  EXPECT_EQ(replies.at(0).error().to_string(), admitted.error().to_string());
}

TYPED_TEST(Server, AnswersItsSample) {
  for (const std::size_t queries : {1u, 3u}) {
    const Bytes sample = this->server().sample_request(queries);
    EXPECT_EQ(this->server().admit(sample).value(), queries);
    const ByteSpan request = sample;
    EXPECT_TRUE(this->server().answer({&request, 1}).front().has_value());
  }
}

TYPED_TEST(Server, SaysWhatAnsweringTakes) {
  const auto& server = this->server();
  EXPECT_EQ(server.max_queries(), 4096u);
  for (const std::size_t count : {1u, 9u}) {
    const auto reply = Deployment<TypeParam>::answer(server, this->request(count));
    EXPECT_GT(server.working_bytes(count), reply.size());
    EXPECT_LT(server.working_bytes(count), 100 * reply.size());
    EXPECT_EQ(server.max_reply_bytes(count), reply.size());
  }
  EXPECT_EQ(server.working_bytes(SIZE_MAX), SIZE_MAX);
}

TEST_F(Gf8Server, AdmitsAndCounts) { EXPECT_EQ(server().admit(request(7)).value(), 7u); }

TEST_F(Gf8Server, RefusesOneByteMoreOrLess) {
  auto bytes = request(2);
  bytes.push_back(std::byte{0});
  expect_refused(server(), bytes, ErrorCode::kInvalidArgument, "111 bytes instead of 110");
  bytes.resize(109);
  expect_refused(server(), bytes, ErrorCode::kInvalidArgument, "109 bytes instead of 110");
}

TEST_F(Gf8Server, RefusesAnotherHeader) {
  const auto bytes = request(2);
  const auto refused = [&](ErrorCode code, std::string_view part, auto&& change) {
    Reader reader(bytes, "request");
    auto header = MessageHeader::decode(reader).value();
    change(header);
    Writer writer;
    header.encode(writer);
    writer.put_bytes(ByteSpan(bytes).subspan(80));
    expect_refused(server(), std::move(writer).take(), code, part);
  };
  refused(ErrorCode::kInvalidArgument, "is no query", [](auto& h) { h.type = MessageType::kReply; });
  refused(ErrorCode::kInvalidArgument, "over the field w160", [](auto& h) { h.field = kTagW160; });
  refused(ErrorCode::kInvalidArgument, "coordinate 2", [](auto& h) { h.coordinate = 2; });
  refused(ErrorCode::kInvalidArgument, "for 16 rows, there are 15 here", [](auto& h) { h.length = 16; });
  refused(ErrorCode::kInvalidArgument, "for 14 rows, there are 15 here", [](auto& h) { h.length = 14; });
  refused(ErrorCode::kInvalidArgument, "instead of", [](auto& h) { h.queries = 3; });
  refused(ErrorCode::kInvalidArgument, "18446744073709551615 rows", [](auto& h) { h.length = ~0ull; });
  refused(ErrorCode::kStaleEpoch, "epoch 8", [](auto& h) { h.version.epoch = 8; });
  refused(ErrorCode::kStaleEpoch, "holds epoch 7", [](auto& h) { h.version.epoch = 6; });
  refused(ErrorCode::kStaleEpoch, "(005a5a", [](auto& h) { h.version.identity[0] = std::byte{0}; });
  refused(ErrorCode::kInvalidArgument, "malformed", [](auto& h) { h.coordinate = 0; });
}

TEST_F(Gf8Server, RefusesARequestForAServerBeforeIt) {
  expect_refused(*deployment_.servers[1], request(2), ErrorCode::kInvalidArgument,
                 "for the server with coordinate 1, this one has 2");
}

class Opened : public ::testing::Test {
 protected:
  void SetUp() override {
    std::vector<Bytes> records;
    for (int i = 0; i < 20; ++i) records.push_back(pirx::testing::to_bytes("record " + std::to_string(i)));
    ASSERT_TRUE(database::build(folder_ / "db", records).has_value());
  }
  Result<std::unique_ptr<AnyServer>> open(Texts options) {
    options.emplace("coordinate", "1");
    return pirx::testing::serve_file("goldberg", folder_ / "db", options);
  }
  void expect_refused(const Texts& options, std::string_view part) {
    const auto server = open(options);
    expect_error(server, ErrorCode::kInvalidArgument, part);
  }
  pirx::testing::TemporaryFolder folder_;
};

TEST_F(Opened, TakesItsOptions) {
  const auto server = open({{"field", "w160"}, {"coordinate", "77"}, {"max_queries", "3"}}).value();
  const auto parameters = ServerParameters::decode(server->parameters()).value();
  EXPECT_EQ(parameters.field, kTagW160);
  EXPECT_EQ(parameters.coordinate, 77u);
  EXPECT_EQ(server->max_request_bytes(), 80 + 3 * parameters.geometry.rows() * 21);
  EXPECT_EQ(ServerParameters::decode(open({{"field", "prime32"}}).value()->parameters())->field.name(),
            "prime32");
}

TEST_F(Opened, RefusesMoreQueriesThanItTakes) {
  const auto server = open({{"max_queries", "3"}}).value();
  const auto parameters = ServerParameters::decode(server->parameters()).value();
  const Params::Spec spec{parameters.field, parameters.geometry, parameters.version, {1, 2}, 1};
  const Client client(Params::create(spec).value());
  auto rng = Rng::from_os().value();
  const std::vector<std::uint64_t> wanted{1, 2, 3, 4};
  const auto query = client.query(wanted, rng).value();
  const auto admitted = server->admit(query.requests[0]);
  ASSERT_FALSE(admitted.has_value());
  EXPECT_NE(admitted.error().message().find("this server takes 3"), std::string::npos);
}

TEST_F(Opened, RefusesBadOptions) {
  expect_refused({{"layout", "spiral"}}, "only auto, rows, residues, strassen1");
  expect_refused(
      {{"colour", "red"}},
      "goldberg has no option 'colour': its options are coordinate, field, code, layout, prepared, "
      "max_queries");
  expect_refused({{"field", "gf3"}}, "there are gf2_8");
  expect_refused({{"field", "gf2"}}, "single non-zero element");
  expect_refused({{"field", "primeval"}}, "no field is called");
  expect_refused({{"field", "prime99999999999"}}, "");
  expect_refused({{"coordinate", "0"}}, "coordinate 0");
  expect_refused({{"coordinate", "256"}}, "below 256");
  expect_refused({{"coordinate", "-1"}}, "--coordinate: '-1' is no whole number");
  expect_refused({{"coordinate", ""}}, "no whole number");
  expect_refused({{"max_queries", "0"}}, "from 1 to 4096");
  expect_refused({{"max_queries", "4097"}}, "from 1 to 4096");
  expect_refused({{"max_queries", "99999999999"}}, "from 1 to 4096");
}

TEST_F(Opened, APlainDatabaseNeedsACoordinate) {
  const auto server = pirx::testing::serve_file("goldberg", folder_ / "db", {});
  ASSERT_FALSE(server.has_value());
  EXPECT_NE(server.error().message().find("give --coordinate"), std::string::npos);
}

TEST_F(Opened, ReportsAMissingDatabase) {
  EXPECT_EQ(pirx::testing::serve_file("goldberg", folder_ / "none", {}).error().code(),
            ErrorCode::kUnavailable);
}

}  // namespace
}  // namespace pirx::itpir::goldberg
