// SPDX-License-Identifier: Apache-2.0
// Secrets are gone after a move and after destruction.
#include "pirx/base/secret.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <new>
#include <vector>

#include "pirx/base/buffer.h"
#include "support/memory.h"

namespace pirx {
namespace {

TEST(Secret, TheSourceOfAMoveIsWiped) {
  Secret<std::uint64_t> a(0x1122334455667788);
  Secret<std::uint64_t> b(std::move(a));
  EXPECT_EQ(b.expose(), 0x1122334455667788u);
  EXPECT_EQ(a.expose(), 0u);  // NOLINT(bugprone-use-after-move): that is the point
  Secret<std::uint64_t> c;
  c = std::move(b);
  EXPECT_EQ(c.expose(), 0x1122334455667788u);
  EXPECT_EQ(b.expose(), 0u);  // NOLINT(bugprone-use-after-move)
}

TEST(Secret, DestructionWipesTheMemory) {
  alignas(Secret<std::uint64_t>) unsigned char memory[sizeof(Secret<std::uint64_t>)];
  auto* secret = new (memory) Secret<std::uint64_t>(~std::uint64_t{0});
  secret->~Secret();
  std::uint64_t left = 1;
  std::memcpy(&left, memory, sizeof left);
  EXPECT_EQ(left, 0u);
}

TEST(Secret, VectorsMoveWithoutCopies) {
  const std::uint32_t values[] = {1, 2, 3};
  SecretVector<std::uint32_t> a{std::span<const std::uint32_t>(values)};
  const auto* where = a.expose().data();
  SecretVector<std::uint32_t> b(std::move(a));
  EXPECT_EQ(b.expose().data(), where);
  EXPECT_EQ(b.size(), 3u);
  SecretVector<std::uint32_t> c(5);
  c = std::move(b);
  EXPECT_EQ(c.expose()[2], 3u);
}

/// A pattern of this size, written inverted, so that no other copy of it is made.
template <class Container>
void write_pattern(Container& to) {
  for (std::size_t i = 0; i < to.size(); ++i) to[i] = static_cast<std::byte>(~(i * i + 7 * i + 3) >> 1);
}

// Small blocks, which share pages, and large ones, which have their own.
constexpr std::size_t kSizes[] = {24, 64, 4096, 33 << 10, 5 << 20};

TEST(SecretMemory, IsWipedWhenItIsGivenBack) {
  if (pirx::testing::kSanitized) GTEST_SKIP() << "the sanitizer keeps freed memory";
  for (const auto size : kSizes) {
    pirx::testing::Canaries canaries;
    {
      SecretVector<std::byte> secret(size);
      auto values = secret.expose();
      write_pattern(values);
      canaries.add(values);
      EXPECT_GE(pirx::testing::copies_in_memory(canaries), 1u) << size;
      Bytes grown(secret.expose().begin(), secret.expose().end());
      grown.resize(3 * size);
      const Bytes moved = std::move(grown);
      secret = SecretVector<std::byte>(7);
    }
    EXPECT_EQ(pirx::testing::copies_in_memory(canaries), 0u) << size;
  }
}

TEST(SecretMemory, IsLeftOutOfCoreDumps) {
  if (pirx::testing::kSanitized || !pirx::testing::dumps_are_told())
    GTEST_SKIP() << "the system does not tell";
  const std::vector<std::byte> plain(5 << 20);
  EXPECT_FALSE(pirx::testing::is_left_out_of_dumps(plain.data()));
  for (const auto size : kSizes) {
    const SecretVector<std::uint64_t> secret(size / 8);
    const Bytes bytes(size);
    EXPECT_TRUE(pirx::testing::is_left_out_of_dumps(secret.expose().data())) << size;
    EXPECT_TRUE(pirx::testing::is_left_out_of_dumps(bytes.data())) << size;
    EXPECT_TRUE(pirx::testing::is_left_out_of_dumps(AlignedBuffer::create(size)->data())) << size;
  }
}

TEST(SecretMemory, BlocksAreAlignedAndApart) {
  std::vector<SecretVector<std::byte>> blocks;
  for (std::size_t size = 1; size < 70'000; size += 1 + size / 3) {
    auto values = blocks.emplace_back(size).expose();
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(values.data()) % 64, 0u) << size;
    std::fill(values.begin(), values.end(), static_cast<std::byte>(size));
  }
  for (const auto& block : blocks) {
    for (const auto byte : block.expose()) ASSERT_EQ(byte, static_cast<std::byte>(block.size()));
  }
}

/// Wherever pages end to be had.
TEST(SecretMemory, ThatIsNotToBeHadIsAnError) {
  if (pirx::testing::kSanitized) GTEST_SKIP() << "the sanitizer takes memory of its own";
  const auto ends_in_an_error = [](std::size_t size, rlim_t more) {
    const rlimit limit{more, more};
    if (setrlimit(RLIMIT_AS, &limit) != 0) return false;
    try {
      for (;;) std::memset(secret_allocate(size), 1, size);
    } catch (const std::bad_alloc&) {
      return true;
    }
  };
  std::ifstream statm("/proc/self/statm");
  rlim_t pages = 0;
  ASSERT_TRUE(statm >> pages);
  const auto page = static_cast<rlim_t>(sysconf(_SC_PAGESIZE));
  for (std::size_t size = 64; size <= std::size_t{64} << 10; size *= 2) {
    for (rlim_t more = 0; more < 80; ++more) {
      const auto child = fork();
      if (child == 0) _exit(ends_in_an_error(size, (pages + more) * page) ? 0 : 1);
      int status = -1;
      ASSERT_EQ(waitpid(child, &status, 0), child);
      EXPECT_EQ(status, 0) << size << " bytes, " << more << " pages";
    }
  }
}

static_assert(!std::is_copy_constructible_v<Secret<int>> && !std::is_copy_constructible_v<SecretVector<int>>);

}  // namespace
}  // namespace pirx
