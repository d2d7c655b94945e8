// Secrets are gone after a move and after destruction.
#include "pirx/base/secret.h"

#include <gtest/gtest.h>

#include <new>

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

static_assert(!std::is_copy_constructible_v<Secret<int>> && !std::is_copy_constructible_v<SecretVector<int>>);

}  // namespace
}  // namespace pirx
