// SPDX-License-Identifier: Apache-2.0
// Hostile messages: mutated requests and replies give a typed error or change nothing that matters; nothing
// crashes.
#include "deployment.h"
#include "pirx/batchcodes/fields.h"

namespace pirx::itpir::goldberg {
namespace {

using testing::Deployment;

/// Flips bits, cuts, extends, overwrites fields with extreme values, or splices another message in.
Bytes mutate(Bytes bytes, const Bytes& other, std::mt19937_64& engine) {
  const std::size_t changes = 1 + engine() % 3;
  for (std::size_t i = 0; i < changes; ++i) {
    switch (engine() % 6) {
      case 0:
        if (!bytes.empty()) bytes[engine() % bytes.size()] ^= static_cast<std::byte>(1u << engine() % 8);
        break;
      case 1:
        bytes.resize(engine() % (bytes.size() + 1));
        break;
      case 2:
        for (auto n = engine() % 40; n > 0; --n) bytes.push_back(static_cast<std::byte>(engine()));
        break;
      case 3:  // an extreme number in the header
        if (bytes.size() >= 80) {
          const std::uint64_t values[] = {
              0, 1, 4096, 4097, 0xFFFFFFFFu, ~std::uint64_t{0}, std::uint64_t{1} << 63};
          store_le(bytes.data() + 8 * (engine() % 10), values[engine() % 7]);
        }
        break;
      case 4:  // extreme values in the body
        if (bytes.size() > 110)
          std::fill_n(bytes.begin() + 80 + static_cast<std::ptrdiff_t>(engine() % 10), 20, std::byte{0xFF});
        break;
      default: {
        const auto n = engine() % (std::min(bytes.size(), other.size()) + 1);
        std::copy_n(other.begin(), n, bytes.begin());
      }
    }
  }
  return bytes;
}

template <class F>
class Mutations : public ::testing::Test {};
using Fields = ::testing::Types<gf2e::Gf2_8, gf2e::Gf2_16, fp::W160, fp::W48>;
TYPED_TEST_SUITE(Mutations, Fields);

TYPED_TEST(Mutations, RequestsAreRefusedOrAnswered) {
  auto engine = pirx::testing::seeded_engine(1);
  const Deployment<TypeParam> deployment({}, {20, 30, 1, true, true}, 3, 1, engine);
  const std::vector<std::uint64_t> wanted{3, 4};
  testing::TestRng rng(engine);
  const auto requests = deployment.client().query(testing::records_of(wanted), rng).value().requests;
  constexpr std::size_t header_size = 80;
  const std::size_t query_size = (requests[0].size() - header_size) / wanted.size();
  int refused = 0;
  for (int round = 0; round < 10'000; ++round) {
    const auto bytes = mutate(requests[0], requests[1], engine);
    const ByteSpan batch[] = {bytes, requests[0]};
    const auto admitted = deployment.servers[0]->admit(bytes);
    const auto replies = deployment.servers[0]->answer(batch);
    ASSERT_TRUE(replies[1].has_value()) << "a neighbour in the batch must not suffer";
    refused += !replies[0].has_value();
    if (replies[0]) {
      ASSERT_TRUE(admitted.has_value());
      // A mutation may say fewer queries and cut to match: that is a valid request.
      Reader reader(bytes, "request");
      const auto header = MessageHeader::decode(reader).value();
      ASSERT_EQ(bytes.size(), header_size + header.queries * query_size);
    } else {
      const auto code = replies[0].error().code();
      ASSERT_TRUE(code == ErrorCode::kInvalidArgument || code == ErrorCode::kStaleEpoch);
    }
  }
  EXPECT_GT(refused, 5'000);
}

TYPED_TEST(Mutations, RepliesAreErasuresOrCorrected) {
  auto engine = pirx::testing::seeded_engine(2);
  const Deployment<TypeParam> deployment({}, {20, 30, 1, true, true}, 4, 1, engine);
  const std::vector<std::uint64_t> wanted{3, 4};
  const auto replies = deployment.ask(wanted, engine);
  for (int round = 0; round < 10'000; ++round) {
    const auto bytes = mutate(replies[0], replies[1], engine);
    auto collector = deployment.collector(wanted);
    const auto added = collector.add(0, bytes);
    if (!added) {
      ASSERT_TRUE(added.error().code() == ErrorCode::kDataLoss ||
                  added.error().code() == ErrorCode::kStaleEpoch ||
                  added.error().code() == ErrorCode::kInvalidArgument);
    }
    for (std::size_t j = 1; j < 4; ++j) ASSERT_TRUE(collector.add(j, replies[j]).has_value());
    const auto answer = std::move(collector).finish();
    ASSERT_TRUE(answer.has_value()) << answer.error().to_string();
    ASSERT_EQ(answer->records.at(0), deployment.records[3]);
    ASSERT_EQ(answer->records.at(1), deployment.records[4]);
    const auto status = answer->servers[0];
    ASSERT_EQ(added.has_value(), status == ServerStatus::kOk || status == ServerStatus::kLied);
    if (status == ServerStatus::kOk) {
      ASSERT_EQ(bytes, replies[0]);
    }
  }
}

template <class F>
void expect_erasure(const Deployment<F>& deployment, const Bytes& reply, ServerStatus status,
                    std::string_view part) {
  const std::vector<std::uint64_t> wanted{1};
  auto collector = deployment.collector(wanted);
  const auto added = collector.add(0, reply);
  ASSERT_FALSE(added.has_value()) << part;
  EXPECT_NE(added.error().message().find(part), std::string::npos) << added.error().message();
  auto engine = pirx::testing::seeded_engine(3);
  const auto honest = deployment.ask(wanted, engine);
  for (std::size_t j = 1; j < 4; ++j) ASSERT_TRUE(collector.add(j, honest[j]).has_value());
  // The honest replies belong together, whatever the first server sent.
  EXPECT_EQ(std::move(collector).finish()->servers[0], status);
}

TEST(Erasures, EveryReasonIsNamed) {
  auto engine = pirx::testing::seeded_engine(4);
  const Deployment<fp::W160> deployment({}, {8, 30, 1, true, true}, 4, 1, engine);
  const std::uint64_t wanted = 1;
  const auto good = deployment.ask({&wanted, 1}, engine)[0];
  const auto changed = [&](auto&& change) {
    Reader reader(good, "reply");
    auto header = MessageHeader::decode(reader).value();
    change(header);
    Writer writer;
    header.encode(writer);
    writer.put_bytes(ByteSpan(good).subspan(80));
    return std::move(writer).take();
  };
  const auto malformed = ServerStatus::kMalformed, stale = ServerStatus::kStaleEpoch;
  expect_erasure(deployment, {}, malformed, "truncated");
  expect_erasure(deployment, changed([](auto& h) { h.type = MessageType::kQuery; }), malformed, "no reply");
  expect_erasure(deployment, changed([](auto& h) { h.field = kTagGf2_8; }), malformed,
                 "over the field gf2_8");
  expect_erasure(deployment, changed([](auto& h) { h.coordinate = 2; }), malformed,
                 "coordinate 2 instead of 1");
  expect_erasure(deployment, changed([](auto& h) { h.queries = 2; }), malformed,
                 "2 x 3 words instead of 1 x 3");
  expect_erasure(deployment, changed([](auto& h) { h.length = 4; }), malformed,
                 "1 x 4 words instead of 1 x 3");
  expect_erasure(deployment, changed([](auto& h) { h.version.epoch = 9; }), stale, "epoch 9");
  expect_erasure(deployment, changed([](auto& h) { h.version.identity[0] = std::byte{1}; }), stale, "(015a");
  auto bytes = good;
  bytes.push_back(std::byte{0});
  expect_erasure(deployment, bytes, malformed, "bytes instead of");
  bytes.resize(good.size() - 1);
  expect_erasure(deployment, bytes, malformed, "bytes instead of");
  bytes = good;
  bytes.back() = std::byte{2};
  expect_erasure(deployment, bytes, malformed, "no element of w160");
}

TEST(Parameters, MutationsGiveTypedErrorsOrValidValues) {
  auto engine = pirx::testing::seeded_engine(5);
  const auto bytes =
      ServerParameters{kTagGf2_8, database::Geometry::create({1000, 50, 3, true, true}).value(), {}, 3, 2, 1,
                       2}
          .encode();
  for (int round = 0; round < 10'000; ++round) {
    const auto parameters = ServerParameters::decode(mutate(bytes, bytes, engine));
    if (parameters) {
      Params::Spec spec{parameters->field, parameters->geometry, parameters->version, {5, 6, 7, 8}, 1};
      spec.arity = parameters->arity;
      spec.independence = parameters->independence;
      spec.modulus = parameters->modulus;
      static_cast<void>(Params::create(spec));
    } else {
      ASSERT_TRUE(parameters.error().code() == ErrorCode::kDataLoss ||
                  parameters.error().code() == ErrorCode::kInvalidArgument);
    }
  }
}

}  // namespace
}  // namespace pirx::itpir::goldberg
