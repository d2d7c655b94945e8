// SPDX-License-Identifier: Apache-2.0
// Field tags: names, wire form, refusals.
#include "pirx/base/field.h"

#include <gtest/gtest.h>

namespace pirx {
namespace {

TEST(FieldTag, NamesAndWireForm) {
  EXPECT_EQ(kTagGf2_8.name(), "gf2_8");
  EXPECT_EQ(kTagW160.name(), "w160");
  EXPECT_EQ((FieldTag{FieldKind::kPrime, 65, 13}).name(), "prime64");
  EXPECT_EQ((FieldTag{FieldKind::kBinary, 8, 0x1D}).name(), "1/8/29");
  Writer writer;
  kTagGf2_16.encode(writer);
  const Bytes bytes = std::move(writer).take();
  EXPECT_EQ(to_hex(bytes), "01001000d7500000");
  Reader reader(bytes, "tag");
  EXPECT_EQ(*FieldTag::decode(reader), kTagGf2_16);
}

TEST(FieldTag, MalformedTagsAreRefused) {
  for (const char* hex :
       {"00000800001b0000", "03000800001b0000", "01010800001b0000", "0100000000000000", "010008000000"}) {
    const Bytes bytes = from_hex(hex).value();
    Reader reader(bytes, "tag");
    EXPECT_EQ(FieldTag::decode(reader).error().code(), ErrorCode::kDataLoss) << hex;
  }
}

}  // namespace
}  // namespace pirx
