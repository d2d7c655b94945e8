// SPDX-License-Identifier: Apache-2.0
// Records that take several rows, and so several queries each.
#include "world.h"

namespace pirx::cpir::inspire {
namespace {

TEST(InspireLongRecords, TakeSeveralRows) {
  testing::expect_every_record({"longer than a row", 2, 300'001, 1, false, "8", "bytes"});
  testing::expect_every_record({"words of 16 bits", 2, 263'001, 1, false, "16", "bytes"});
}

}  // namespace
}  // namespace pirx::cpir::inspire
