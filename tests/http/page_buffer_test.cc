// SPDX-License-Identifier: Apache-2.0
// Buffers on pages of their own: they grow with what they hold, and go back to the system.
#include "service/http/page_buffer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

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

TEST(PageBuffer, SaysWhatItTakesAndWhenThereIsNoMore) {
  const auto page = PageBuffer::taken(1);
  EXPECT_EQ(PageBuffer::taken(0), 0u);
  EXPECT_EQ(PageBuffer::taken(page), page);
  EXPECT_EQ(PageBuffer::taken(page + 1), 2 * page);
  PageBuffer buffer;
  ASSERT_TRUE(buffer.grow(5));
  EXPECT_FALSE(buffer.grow(std::size_t{1} << 62));
  EXPECT_EQ(buffer.size(), 5u);
}

}  // namespace
}  // namespace pirx::http
