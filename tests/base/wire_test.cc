// SPDX-License-Identifier: Apache-2.0
// Reader and Writer, and what truncated and overlong input gets.
#include "pirx/base/wire.h"

#include <gtest/gtest.h>

namespace pirx {
namespace {

TEST(Wire, RoundTrip) {
  Writer writer(32);
  writer.put(std::uint8_t{1});
  writer.put(std::uint16_t{0x0203});
  writer.put(std::uint32_t{0x04050607});
  writer.put(std::uint64_t{0x08090a0b0c0d0e0f});
  writer.put_bytes(as_bytes("xyz"));
  writer.extend(2)[1] = std::byte{9};
  const Bytes bytes = std::move(writer).take();
  EXPECT_EQ(to_hex(bytes), "010302070605040f0e0d0c0b0a090878797a0009");

  Reader reader(bytes, "message");
  EXPECT_EQ(*reader.get<std::uint8_t>(), 1);
  EXPECT_EQ(*reader.get<std::uint16_t>(), 0x0203);
  EXPECT_EQ(*reader.get<std::uint32_t>(), 0x04050607u);
  EXPECT_EQ(*reader.get<std::uint64_t>(), 0x08090a0b0c0d0e0fu);
  EXPECT_EQ(as_text(*reader.get_bytes(3)), "xyz");
  EXPECT_EQ(reader.expect_end().error().code(), ErrorCode::kDataLoss);
  EXPECT_TRUE(reader.get_bytes(1));
  EXPECT_EQ(reader.expect_end().error().code(), ErrorCode::kDataLoss) << "one byte is left";
  EXPECT_TRUE(reader.get_bytes(1));
  EXPECT_TRUE(reader.expect_end());
}

TEST(Wire, EveryTruncationIsAnErrorThatNamesTheMessage) {
  const Bytes bytes(8);
  for (std::size_t length = 0; length < 8; ++length) {
    Reader reader(ByteSpan(bytes).first(length), "the query");
    const auto value = reader.get<std::uint64_t>();
    ASSERT_FALSE(value);
    EXPECT_EQ(value.error().code(), ErrorCode::kDataLoss);
    EXPECT_NE(value.error().message().find("the query is truncated"), std::string::npos);
  }
}

TEST(Wire, ArraysAreReadWholeOrNotAtAll) {
  Reader reader(as_bytes("abcdef"), "m");
  std::array<std::byte, 4> array{};
  ASSERT_TRUE(reader.read(array));
  EXPECT_EQ(as_text(array), "abcd");
  EXPECT_EQ(reader.read(array).error().code(), ErrorCode::kDataLoss);
  EXPECT_EQ(as_text(array), "abcd");
  EXPECT_EQ(reader.remaining(), 2u);
}

TEST(Wire, ALyingLengthAllocatesNothing) {
  const Bytes bytes(8);
  Reader reader(bytes, "m");
  EXPECT_FALSE(reader.get_bytes(~std::uint64_t{0}));
  EXPECT_EQ(reader.remaining(), 8u);
}

TEST(Wire, NotOneByteMoreThanThereIs) {
  const Bytes bytes(8);
  Reader reader(bytes, "m");
  EXPECT_FALSE(reader.get_bytes(9));
  EXPECT_EQ(reader.remaining(), 8u);
  EXPECT_TRUE(reader.get_bytes(8));
  EXPECT_FALSE(reader.get_bytes(1));
}

}  // namespace
}  // namespace pirx
