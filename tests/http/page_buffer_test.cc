// SPDX-License-Identifier: Apache-2.0
// The buffers of requests: they grow with what they hold, and go back to the system.
#include "service/http/page_buffer.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <vector>

#include "support/memory.h"

namespace pirx::http {
namespace {

TEST(PageBuffer, KeepsWhatItHoldsAndIsZeroBehind) {
  PageBuffer buffer;
  EXPECT_EQ(buffer.size(), 0u);
  std::size_t filled = 0;
  for (const std::size_t size : {1u, 4095u, 4096u, 4097u, 100'000u, 3'000'000u}) {
    ASSERT_TRUE(buffer.grow(size));
    ASSERT_EQ(buffer.size(), size);
    const ByteSpan bytes = buffer;
    EXPECT_EQ(static_cast<std::size_t>(std::count(bytes.begin(), bytes.end(), std::byte{'x'})), filled);
    EXPECT_TRUE(std::all_of(bytes.begin() + static_cast<std::ptrdiff_t>(filled), bytes.end(),
                            [](std::byte b) { return b == std::byte{0}; }));
    std::fill_n(buffer.data(), size, std::byte{'x'});
    filled = size;
  }
}

TEST(PageBuffer, GoesWithItsOwner) {
  PageBuffer first;
  ASSERT_TRUE(first.grow(10'000));
  const auto* data = first.data();
  PageBuffer second = std::move(first);
  EXPECT_EQ(second.data(), data);
  EXPECT_EQ(first.size(), 0u);
  first = std::move(second);
  EXPECT_EQ(first.data(), data);
  EXPECT_TRUE(first.grow(20'000));
  first = {};
  EXPECT_EQ(first.size(), 0u);
}

TEST(PageBuffer, SmallOnesAreKeptForTheNextAndHoldNothing) {
  PageBuffer first;
  ASSERT_TRUE(first.grow(10'000));
  const auto* data = first.data();
  std::fill_n(first.data(), 10'000, std::byte{'x'});
  first = {};
  PageBuffer second;
  ASSERT_TRUE(second.grow(65'536));
  EXPECT_EQ(second.data(), data);
  EXPECT_TRUE(std::all_of(data, data + 65'536, [](std::byte b) { return b == std::byte{0}; }));
  // Not all that a crowd had.
  std::vector<PageBuffer> crowd(1000);
  for (auto& one : crowd) ASSERT_TRUE(one.grow(5000));
}

/// The pages of this process in memory, in bytes.
std::size_t resident() {
  std::ifstream file("/proc/self/statm");
  std::size_t all = 0, pages = 0;
  file >> all >> pages;
  return pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

/// A kept mapping has all its pages, however little the next request says.
TEST(PageBuffer, ACrowdTakesNoMoreThanItSays) {
  if (pirx::testing::kSanitized) GTEST_SKIP() << "the sanitizer takes memory of its own";
  std::vector<PageBuffer> crowd;
  crowd.reserve(4096);
  const std::size_t before = resident();
  std::size_t said = 0;
  for (const std::size_t small : {std::size_t{1}, std::size_t{5000}}) {
    for (int round = 0; round < 32; ++round) {
      {
        std::vector<PageBuffer> full(64);
        for (auto& one : full) {
          ASSERT_TRUE(one.grow(65'536));
          std::fill_n(one.data(), one.size(), std::byte{'x'});
        }
      }
      for (int i = 0; i < 64; ++i) {
        ASSERT_TRUE(crowd.emplace_back().grow(small));
        said += PageBuffer::taken(small);
      }
    }
    constexpr std::size_t kKept = 64 * 65'536, kElse = std::size_t{1} << 20;
    EXPECT_LE(resident(), before + said + kKept + kElse) << small;
  }
}

TEST(PageBuffer, SaysWhatItTakesAndWhenThereIsNoMore) {
  EXPECT_EQ(PageBuffer::taken(0), 0u);
  EXPECT_EQ(PageBuffer::taken(1), 4096u);
  EXPECT_EQ(PageBuffer::taken(4096), 4096u);
  EXPECT_EQ(PageBuffer::taken(4097), 65'536u);
  EXPECT_EQ(PageBuffer::taken(65'536), 65'536u);
  EXPECT_GT(PageBuffer::taken(65'537), 65'536u);
  PageBuffer buffer;
  ASSERT_TRUE(buffer.grow(5));
  EXPECT_FALSE(buffer.grow(std::size_t{1} << 62));
  EXPECT_EQ(buffer.size(), 5u);
}

}  // namespace
}  // namespace pirx::http
