// SPDX-License-Identifier: Apache-2.0
// Field names and tags: every shipped field by its name, every other name refused with the list.
#include "pirx/batchcodes/fields.h"

#include <gtest/gtest.h>

namespace pirx::batchcodes {
namespace {

TEST(Fields, NamesLeadToTagsAndBack) {
  for (const auto& tag : {kTagGf2, kTagGf2_8, kTagGf2_16, kTagW160, kTagW48}) {
    EXPECT_EQ(*field_by_name(tag.name()), tag);
  }
  EXPECT_EQ(*field_by_name("prime160"), kTagW160);
  EXPECT_EQ(*field_by_name("prime64"), (FieldTag{FieldKind::kPrime, 65, 13}));
  for (const char* bad :
       {"", "gf3", "GF2_8", "prime", "prime7", "prime264", "prime-8", "prime64x", "prime99999999999"}) {
    const auto tag = field_by_name(bad);
    ASSERT_FALSE(tag) << bad;
    EXPECT_EQ(tag.error().code(), ErrorCode::kInvalidArgument) << bad;
  }
}

TEST(Fields, TagsLeadToFields) {
  const auto tag_of = [](const FieldTag& tag) {
    return with_field(tag, [](const auto& f) -> Result<FieldTag> { return f.tag(); });
  };
  for (const auto& tag : {kTagGf2_8, kTagGf2_16, kTagW160, kTagW48}) EXPECT_EQ(*tag_of(tag), tag);
  for (const auto& bad : {kTagGf2, FieldTag{FieldKind::kBinary, 8, 0x1D}, FieldTag{FieldKind::kPrime, 65, 15},
                          FieldTag{FieldKind::kPrime, 1, 0}, FieldTag{FieldKind::kPrime, 60000, 1}}) {
    EXPECT_EQ(tag_of(bad).error().code(), ErrorCode::kInvalidArgument) << bad.name();
  }
}

}  // namespace
}  // namespace pirx::batchcodes
