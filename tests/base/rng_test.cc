// SPDX-License-Identifier: Apache-2.0
// The random source: no repeats, no bias that shows, and never the parent's coins after a fork.
#include "pirx/base/rng.h"

#include <gtest/gtest.h>

#include <array>
#include <set>

#include "support/forks.h"
#include "support/memory.h"

namespace pirx {
namespace {

using pirx::testing::in_child;

TEST(Rng, TwoStreamsDiffer) {
  auto a = Rng::from_os().value();
  auto b = Rng::from_os().value();
  Bytes x(64), y(64), z(64);
  a.fill(x);
  b.fill(y);
  a.fill(z);
  EXPECT_NE(x, y);
  EXPECT_NE(x, z);
}

TEST(Rng, FillsEveryByteOfAnyLength) {
  auto rng = Rng::from_os().value();
  for (std::size_t size : {0u, 1u, 15u, 16u, 17u, 4095u, (1u << 20) + 3u}) {
    // Every position must become non-zero in one of 16 draws (failure by chance: below 2^-107 for the
    // largest).
    Bytes seen(size), draw(size);
    for (int round = 0; round < 16; ++round) {
      rng.fill(draw);
      for (std::size_t i = 0; i < size; ++i) seen[i] |= draw[i];
    }
    for (std::size_t i = 0; i < size; ++i) ASSERT_NE(seen[i], std::byte{0}) << i << " of " << size;
  }
}

TEST(Rng, BytesAreEvenlySpread) {
  auto rng = Rng::from_os().value();
  constexpr double kDraws = 1 << 22;
  Bytes bytes(1 << 22);
  rng.fill(bytes);
  std::array<double, 256> count{};
  for (const auto b : bytes) count[std::to_integer<std::size_t>(b)] += 1;
  double chi_square = 0;
  for (const double c : count) chi_square += (c - kDraws / 256) * (c - kDraws / 256) / (kDraws / 256);
  // 255 degrees of freedom: mean 255, standard deviation 22.6; 10 deviations happen by chance less than once
  // in 10^15 runs.
  EXPECT_LT(chi_square, 255 + 226);
  EXPECT_GT(chi_square, 255 - 226);
}

/// Draws some coins and keeps the source, as a process does that forks then.
struct UsedRng {
  Rng rng = Rng::from_os().value();
  UsedRng() {
    Bytes before(32);
    rng.fill(before);
  }
  Bytes coins() {
    Bytes bytes(32);
    rng.fill(bytes);
    return bytes;
  }
};

TEST(Rng, AForkedChildDrawsOtherCoins) {
  UsedRng used;
  const auto childs = in_child([&] { return used.coins(); });
  const auto clones = in_child([] { return pirx::testing::raw_clone(0); }, [&] { return used.coins(); });
  const auto own = used.coins();
  for (const auto& other : {childs, clones}) {
    ASSERT_EQ(other.value().size(), own.size());
    EXPECT_NE(other, own);
  }
  EXPECT_NE(childs, clones);
}

TEST(Rng, AChildWithItsParentsProcessIdDrawsOtherCoins) {
  std::optional<UsedRng> used;
  const auto both = pirx::testing::with_equal_pids([&] { used.emplace(); }, [&] { return used->coins(); });
  if (!both) GTEST_SKIP() << "the system allows no pid namespaces";
  ASSERT_EQ(both->size(), 64u);
  EXPECT_FALSE(std::equal(both->begin(), both->begin() + 32, both->begin() + 32));
}

// As one does who has a core dump of the client and its earlier queries.
TEST(Rng, ItsMemoryHoldsNeitherCoinsDrawnNorTheirKey) {
  if (pirx::testing::kSanitized) GTEST_SKIP() << "the sanitizer keeps freed memory";
  auto rng = Rng::from_os().value();
  Bytes first_use(64);  // the dynamic linker saves registers on the stack when it first finds a function
  rng.fill(first_use);
  std::array<unsigned char, 16> first{};  // the first block under its key, kept inverted
  pirx::testing::Canaries coins;
  for (const std::size_t size : {64u, 1u << 20}) {
    {
      Bytes drawn(size);
      rng.fill(drawn);
      coins.add(drawn);
      for (std::size_t i = 0; i < first.size(); ++i) {
        first[i] = static_cast<unsigned char>(~std::to_integer<unsigned>(drawn[i]));
      }
    }
    EXPECT_EQ(pirx::testing::copies_in_memory(coins), 0u);

    // OpenSSL's expanded keys begin with the key itself.
    std::size_t keys = 0;
    pirx::testing::for_own_memory(31, [&](const unsigned char* data, std::size_t length) {
      for (std::size_t at = 0; at + kSeedBytes <= length; at += 8) {
        std::array<std::byte, kSeedBytes> key;
        std::memcpy(key.data(), data + at, key.size());
        if (std::count(key.begin(), key.end(), std::byte{0}) > 4) continue;  // no random one
        std::array<std::byte, 16> block;
        SeedStream(key).fill(block);
        for (std::size_t i = 0; i < block.size(); ++i) block[i] ^= std::byte{first[i]};
        keys += std::count(block.begin(), block.end(), std::byte{0xff}) == 16;
      }
    });
    EXPECT_EQ(keys, 0u);
  }
}

// The key stream of the zero key is in test cases 13 of the GCM specification (McGrew and Viega 2004): H is
// its first block, the tag of the empty message its second.
TEST(SeedStream, IsAes256CounterMode) {
  const std::array<std::byte, kSeedBytes> zero{};
  SeedStream stream(zero);
  Bytes first(5), rest(27);
  stream.fill(first);
  stream.fill({});
  stream.fill(rest);
  EXPECT_EQ(to_hex(first) + to_hex(rest), "dc95c078a2408989ad48a21492842087530f8afbc74536b9a963b4f1c4cb738b");
}

TEST(SeedStream, SeedsHaveStreamsOfTheirOwn) {
  std::array<std::byte, kSeedBytes> seed{};
  std::set<std::string> seen;
  for (std::size_t at = 0; at < kSeedBytes; ++at) {
    seed[at] = std::byte{0x80};
    SeedStream stream(seed);
    Bytes bytes(16);
    stream.fill(bytes);
    seen.insert(to_hex(bytes));
    seed[at] = std::byte{0};
  }
  EXPECT_EQ(seen.size(), kSeedBytes);
}

}  // namespace
}  // namespace pirx
