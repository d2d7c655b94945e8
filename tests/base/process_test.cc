// SPDX-License-Identifier: Apache-2.0
// Parent and child never have the same number, whatever made the child.
#include "src/base/process.h"

#include <gtest/gtest.h>

#include "support/forks.h"

namespace pirx {
namespace {

using pirx::testing::in_child;

Bytes token() {
  Bytes bytes(8);
  store_le(bytes.data(), process_token());
  return bytes;
}

TEST(Process, ItsTokenStays) {
  EXPECT_NE(process_token(), 0u);
  EXPECT_EQ(token(), token());
}

TEST(Process, AChildHasAnotherToken) {
  const auto own = token();
  const auto child = in_child(token);
  const auto cloned = in_child([] { return pirx::testing::raw_clone(0); }, token);
  const auto grandchild = in_child([] { return in_child(token).value(); });
  for (const auto& other : {child, cloned, grandchild}) {
    ASSERT_EQ(other.value().size(), 8u);
    EXPECT_NE(other, own);
  }
  EXPECT_NE(child, cloned);
  EXPECT_EQ(token(), own);
}

TEST(Process, AChildWithItsParentsProcessIdHasAnotherToken) {
  const auto both = pirx::testing::with_equal_pids([] {}, token);
  if (!both) GTEST_SKIP() << "the system allows no pid namespaces";
  EXPECT_NE(load_le<std::uint64_t>(both->data()), load_le<std::uint64_t>(both->data() + 8));
}

}  // namespace
}  // namespace pirx
