// SPDX-License-Identifier: Apache-2.0
// Zeros, hexadecimal and little-endian access.
#include "pirx/base/bytes.h"

#include <gtest/gtest.h>

namespace pirx {
namespace {

TEST(Bytes, HexRoundTrip) {
  Bytes all(256);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::byte>(i);
  const std::string text = to_hex(all);
  EXPECT_EQ(text.substr(0, 8), "00010203");
  EXPECT_EQ(text.substr(508), "feff");
  EXPECT_EQ(*from_hex(text), all);
  EXPECT_EQ(*from_hex("AbCd"), *from_hex("aBcD"));
  EXPECT_TRUE(from_hex("")->empty());
}

TEST(Bytes, HexRefusesOddLengthAndOtherCharacters) {
  EXPECT_EQ(from_hex("abc").error().code(), ErrorCode::kInvalidArgument);
  for (const char* bad : {"0g", "g0", " 0", "0 ", "-1", "0/", "0:", "@0", "`0"}) {
    EXPECT_EQ(from_hex(bad).error().code(), ErrorCode::kInvalidArgument) << bad;
  }
}

TEST(Bytes, EveryByteThatIsNotZeroIsSeen) {
  for (std::size_t size = 0; size < 20; ++size) {
    Bytes bytes(size);
    EXPECT_TRUE(all_zero(bytes));
    for (std::size_t at = 0; at < size; ++at) {
      bytes[at] = std::byte{0x80};
      EXPECT_FALSE(all_zero(bytes)) << at << " of " << size;
      bytes[at] = {};
    }
  }
}

TEST(Bytes, LittleEndianAtAnyAlignment) {
  std::byte memory[16]{};
  store_le<std::uint32_t>(memory + 3, 0x01020304);
  EXPECT_EQ(std::to_integer<int>(memory[3]), 4);
  EXPECT_EQ(std::to_integer<int>(memory[6]), 1);
  EXPECT_EQ(load_le<std::uint32_t>(memory + 3), 0x01020304u);
}

}  // namespace
}  // namespace pirx
