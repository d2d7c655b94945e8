// The random source: no repeats, no bias that shows, and never the parent's coins after a fork.
#include "pirx/base/rng.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <set>

namespace pirx {
namespace {

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

TEST(Rng, AForkedChildDrawsOtherCoins) {
  auto rng = Rng::from_os().value();
  std::array<std::byte, 32> before{};
  rng.fill(before);
  int pipe_ends[2];
  ASSERT_EQ(pipe(pipe_ends), 0);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  std::array<std::byte, 32> coins{};
  rng.fill(coins);
  if (child == 0) {
    const bool sent = write(pipe_ends[1], coins.data(), coins.size()) == static_cast<ssize_t>(coins.size());
    _exit(sent ? 0 : 1);
  }
  std::array<std::byte, 32> childs{};
  ASSERT_EQ(read(pipe_ends[0], childs.data(), childs.size()), static_cast<ssize_t>(childs.size()));
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_NE(childs, coins);
  close(pipe_ends[0]);
  close(pipe_ends[1]);
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
