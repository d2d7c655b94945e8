// Aligned buffers: alignment, zeros, moves, refusals.
#include "pirx/base/buffer.h"

#include <gtest/gtest.h>

namespace pirx {
namespace {

TEST(AlignedBuffer, IsAlignedZeroedAndWritable) {
  for (std::uint64_t size :
       {1ull, 63ull, 64ull, 65ull, 4096ull, (4ull << 20) - 1, 4ull << 20, (9ull << 20) + 1}) {
    auto buffer = AlignedBuffer::create(size).value();
    ASSERT_GE(buffer.size(), size);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.data()) % 64, 0u);
    for (std::uint64_t i = 0; i < buffer.size(); ++i) ASSERT_EQ(buffer.data()[i], std::byte{0});
    std::memset(buffer.data(), 0xff, buffer.size());
    AlignedBuffer moved(std::move(buffer));
    EXPECT_EQ(buffer.data(), nullptr);  // NOLINT(bugprone-use-after-move)
    EXPECT_EQ(moved.data()[size - 1], std::byte{0xff});
    AlignedBuffer assigned;
    assigned = std::move(moved);
    EXPECT_EQ(assigned.data()[0], std::byte{0xff});
  }
}

TEST(AlignedBuffer, EmptyAndImpossibleSizes) {
  EXPECT_EQ(AlignedBuffer::create(0)->data(), nullptr);
  EXPECT_EQ(AlignedBuffer::create(std::uint64_t{1} << 60).error().code(), ErrorCode::kResourceExhausted);
  EXPECT_EQ(AlignedBuffer::create(~std::uint64_t{0}).error().code(), ErrorCode::kResourceExhausted);
}

TEST(CheckedArithmetic, Overflows) {
  EXPECT_EQ(checked_mul(1ull << 32, 1ull << 31), 1ull << 63);
  EXPECT_FALSE(checked_mul(1ull << 32, 1ull << 32));
  EXPECT_EQ(checked_add(~0ull - 1, 1), ~0ull);
  EXPECT_FALSE(checked_add(~0ull, 1));
  EXPECT_EQ(round_up(0, 64), 0u);
  EXPECT_EQ(round_up(1, 20), 20u);
  EXPECT_EQ(round_up(40, 20), 40u);
}

}  // namespace
}  // namespace pirx
