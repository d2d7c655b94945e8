// SPDX-License-Identifier: Apache-2.0
// Replies that are no replies: each is an erasure with its reason. Messages changed at random are in
// tests/fuzz.
#include "deployment.h"

namespace pirx::itpir::goldberg {
namespace {

using testing::Deployment;

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

}  // namespace
}  // namespace pirx::itpir::goldberg
