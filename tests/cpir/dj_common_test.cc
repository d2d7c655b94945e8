// SPDX-License-Identifier: Apache-2.0
// Plans and messages: sizes of the paper, every refusal, every truncation.
#include <gtest/gtest.h>

#include "pirx/cpir/dj/common.h"
#include "src/protocol/message.h"
#include "support/seed.h"

namespace pirx::cpir::dj {
namespace {

database::Geometry geometry_of(std::uint64_t rows, std::uint64_t bytes) {
  return database::Geometry::create({rows, bytes, 1, false, false}).value();
}
Params plan(std::uint64_t rows, std::uint64_t bytes, std::vector<std::uint32_t> arities, unsigned bits = 3072,
            KeyPolicy policy = KeyPolicy::kSecure) {
  return Params::create({geometry_of(rows, bytes), {}, std::move(arities), bits, policy}).value();
}
std::string refusal_of(std::uint64_t rows, std::uint64_t bytes, std::vector<std::uint32_t> arities,
                       unsigned bits = 3072, KeyPolicy policy = KeyPolicy::kSecure) {
  const auto params = Params::create({geometry_of(rows, bytes), {}, std::move(arities), bits, policy});
  if (params) return "";
  EXPECT_EQ(params.error().code(), ErrorCode::kInvalidArgument);
  return params.error().message();
}
bool includes(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(Params, SizesAreTheSpecifications) {
  // Bits of traffic for n items of one plaintext: paper 001, Tables 1 and 2, where quad n = 4 and 16 are 8192
  // and 18432.
  const auto paper = KeyPolicy::kPaperReproduction;
  struct Case {
    std::uint64_t n;
    std::uint32_t arity;
    std::size_t bits;
  };
  for (const auto& [n, arity, bits] : {Case{2, 2, 4096},
                                       {4, 2, 8192},
                                       {8, 2, 13312},
                                       {16, 2, 19456},
                                       {32, 2, 26624},
                                       {64, 2, 34816},
                                       {128, 2, 44032},
                                       {256, 2, 54272},
                                       {4, 4, 8192},
                                       {16, 4, 18432},
                                       {64, 4, 31744},
                                       {256, 4, 48128},
                                       {8, 8, 16384},
                                       {64, 8, 38912},
                                       {512, 8, 68608}}) {
    std::vector<std::uint32_t> arities;
    for (std::uint64_t leaves = 1; leaves < n; leaves *= arity) arities.push_back(arity);
    const auto params = plan(n, 127, arities, 1024, paper);
    const std::size_t overhead = 2 * kHeaderBytes + params.modulus_bytes();
    EXPECT_EQ(8 * (params.request_bytes() + params.reply_bytes() - overhead), bits) << n << " by " << arity;
  }
  const auto octree = plan(512, 383, {8, 8, 8}), mixed = plan(512, 383, {32, 16});
  EXPECT_EQ(octree.request_bytes(), kHeaderBytes + 384 + 24192);
  EXPECT_EQ(octree.reply_bytes(), kHeaderBytes + 1536);
  EXPECT_EQ(mixed.request_bytes(), kHeaderBytes + 384 + 41088);
  EXPECT_EQ(mixed.reply_bytes(), kHeaderBytes + 1152);
}

TEST(Params, ChunksCoverARow) {
  const auto params = plan(10, 1000, {10});
  EXPECT_EQ(params.chunk_bytes(), 383u);
  EXPECT_EQ(params.chunks(), 3u);
  EXPECT_EQ(params.chunk_length(0), 383u);
  EXPECT_EQ(params.chunk_length(2), 234u);
  EXPECT_EQ(params.reply_bytes(), kHeaderBytes + 3 * 768);
  const auto small = plan(10, 5, {10});
  EXPECT_EQ(small.chunk_bytes(), 5u);
  EXPECT_EQ(small.chunks(), 1u);
}

/// A leaf layer of s carries s times as much in a reply of s + m parts: (s + m) / s times a long row.
TEST(Params, LeafLayers) {
  const auto with = [](unsigned leaf_layer, std::vector<std::uint32_t> arities, std::uint64_t bytes) {
    return Params::create({geometry_of(512, bytes),
                           {},
                           std::move(arities),
                           3072,
                           KeyPolicy::kSecure,
                           Selectors::kOneHot,
                           leaf_layer});
  };
  const std::uint64_t long_row = 12 * 4604;  // of whole chunks for each layer, but for a few bytes
  for (const unsigned s : {1u, 2u, 3u, 4u}) {
    const auto params = with(s, {32, 16}, long_row).value();
    EXPECT_EQ(params.layer(1), s);
    EXPECT_EQ(params.layer(2), s + 1);
    EXPECT_EQ(params.chunk_bytes(), s * 3071 / 8);
    EXPECT_EQ(params.chunks(), div_up(long_row, s * 3071 / 8));
    EXPECT_EQ(params.request_bytes(), kHeaderBytes + 384 + 31 * (s + 1) * 384 + 15 * (s + 2) * 384);
    EXPECT_EQ(params.reply_bytes(), kHeaderBytes + params.chunks() * (s + 2) * 384);
    EXPECT_NEAR(static_cast<double>(params.reply_bytes()) / static_cast<double>(long_row), (s + 2.0) / s,
                0.02 * (s + 2.0) / s);
    const auto bytes = params.encode();
    EXPECT_EQ(static_cast<unsigned>(bytes[55]), s - 1);
    EXPECT_EQ(Params::decode(bytes).value().digest(), params.digest());
  }
  EXPECT_TRUE(includes(with(0, {32, 16}, 8).error().message(), "from 1 to 4, not 0"));
  EXPECT_TRUE(includes(with(5, {32, 16}, 8).error().message(), "from 1 to 4, not 5"));
  const std::vector<std::uint32_t> nine(9, 2);
  EXPECT_TRUE(with(2, nine, 8).has_value());  // 512 rows
  EXPECT_TRUE(includes(with(3, nine, 8).error().message(), "9 levels is too high: at most 8"));
}

TEST(Params, DefaultArities) {
  using List = std::vector<std::uint32_t>;
  EXPECT_EQ(default_arities(1), List({2}));
  EXPECT_EQ(default_arities(2), List({2}));
  EXPECT_EQ(default_arities(32), List({32}));
  EXPECT_EQ(default_arities(33), List({32, 2}));
  EXPECT_EQ(default_arities(512), List({32, 16}));
  EXPECT_EQ(default_arities(640), List({32, 20}));
  EXPECT_EQ(default_arities(65536), List({32, 16, 16, 8}));
  for (std::uint64_t n = 1; n < 3000; ++n) EXPECT_EQ(refusal_of(n, 8, {}), "") << n;
  EXPECT_EQ(refusal_of(std::uint64_t{1} << 41, 8, {}), "");
  EXPECT_TRUE(includes(refusal_of(std::uint64_t{1} << 42, 8, {}), "too high"));
}

TEST(Params, Refusals) {
  EXPECT_TRUE(includes(refusal_of(10, 8, {10}, 1024), "1024 bits is refused"));
  EXPECT_TRUE(includes(refusal_of(10, 8, {10}, 3072, KeyPolicy::kPaperReproduction), "1024 bits, not 3072"));
  EXPECT_TRUE(includes(refusal_of(10, 8, {10}, 15, KeyPolicy::kToy), "16 bits or more"));
  EXPECT_TRUE(includes(refusal_of(10, 8, {10, 1}), "from 2 to"));
  EXPECT_TRUE(includes(refusal_of(10, 8, {0}), "from 2 to"));
  EXPECT_TRUE(includes(refusal_of(10, 8, {1025}), "from 2 to"));
  EXPECT_TRUE(includes(refusal_of(10, 8, {10, 2}), "more levels"));
  EXPECT_TRUE(includes(refusal_of(10, 8, {3, 3}), "fewer leaves"));
  EXPECT_EQ(refusal_of(1024, 8, std::vector<std::uint32_t>(10, 2)), "");
  EXPECT_TRUE(includes(refusal_of(2048, 8, std::vector<std::uint32_t>(11, 2)), "too high"));
  EXPECT_TRUE(includes(refusal_of(std::uint64_t{1} << 49, 8, {1024, 1024, 1024, 1024, 512}), "too long"));
  EXPECT_TRUE(includes(refusal_of(2, std::uint64_t{1} << 30, {2}), "the limit is"));
}

TEST(Params, EncodingGoesBothWays) {
  auto engine = pirx::testing::seeded_engine();
  Params::Spec spec{geometry_of(600, 900), {}, {40, 15}, 2048, KeyPolicy::kSecure};
  spec.version.identity[3] = std::byte{7};
  spec.version.epoch = 99;
  const auto params = Params::create(spec).value();
  const auto bytes = params.encode();
  const auto again = Params::decode(bytes).value();
  EXPECT_EQ(again.encode(), bytes);
  EXPECT_EQ(again.digest(), params.digest());
  EXPECT_EQ(again.spec().version, spec.version);
  EXPECT_EQ(again.arities(), spec.arities);
  EXPECT_EQ(again.geometry(), spec.geometry);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(Params::decode(ByteSpan(bytes).first(size)).has_value()) << size;
  }
  auto longer = bytes;
  longer.push_back(std::byte{0});
  EXPECT_EQ(Params::decode(longer).error().code(), ErrorCode::kDataLoss);
  // Damage is refused or means another plan.
  for (int i = 0; i < 3000; ++i) {
    auto damaged = bytes;
    damaged[engine() % bytes.size()] ^= static_cast<std::byte>(1 + engine() % 255);
    const auto other = Params::decode(damaged);
    EXPECT_TRUE(!other || other->digest() != params.digest());
  }
}

TEST(Params, ParametersOfOthers) {
  const auto bytes = plan(10, 8, {10}).encode();
  const auto with = [&](std::size_t at, unsigned value) {
    auto changed = bytes;
    changed[at] = static_cast<std::byte>(value);
    return Params::decode(changed).error();
  };
  EXPECT_EQ(with(0, 'X').code(), ErrorCode::kDataLoss);
  EXPECT_TRUE(includes(with(4, 2).message(), "message format 2"));
  EXPECT_TRUE(includes(with(6, 1).message(), "type 1 where type 3"));
  EXPECT_TRUE(includes(with(7, 1).message(), "protocol number 1"));
  EXPECT_TRUE(includes(with(52, 3).message(), "key policy 3"));
  EXPECT_TRUE(includes(with(54, 0).message(), "0 levels"));
  EXPECT_TRUE(includes(with(54, 200).message(), "200 levels"));
  EXPECT_TRUE(includes(with(55, 4).message(), "from 1 to 4, not 5"));
  EXPECT_TRUE(includes(with(55, 255).message(), "from 1 to 4, not 256"));
}

}  // namespace
}  // namespace pirx::cpir::dj
