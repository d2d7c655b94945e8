// SPDX-License-Identifier: Apache-2.0
// Filters are as small as promised, and keys with equal hashes have none.
#include "src/database/key_peeler.h"

#include "keyed_fixture.h"

namespace pirx::database {
namespace {

TEST(KeyPeeler, RowsStayNearTheNumberOfKeys) {
  // The figures of docs/protocols/keyword.md, with room for other keys than these.
  const struct {
    std::uint64_t keys, columns;
    double most;
  } kCases[] = {{1000, 1, 1.33}, {10000, 1, 1.28}, {100000, 1, 1.2}, {100000, 25, 1.40}};
  for (const auto& c : kCases) {
    std::vector<HashedKey> keys;
    for (std::uint64_t i = 0; i < c.keys; ++i) keys.push_back({hash_key(Digest{}, key_of(i)), i});
    const auto plan = plan_keys(keys, c.columns, Digest{});
    ASSERT_TRUE(plan.has_value());
    const std::uint64_t rows = (plan->filter.segments + 2) * plan->filter.segment_length;
    EXPECT_LE(static_cast<double>(rows * c.columns), c.most * static_cast<double>(c.keys)) << c.keys;
  }
}

TEST(KeyPeeler, EqualHashesAreRefusedBySeed) {
  // What somebody who chose keys after the seed could do: the builder then takes another seed.
  std::vector<HashedKey> keys = {{{1, 99}, 0}, {{2, 99}, 1}};
  EXPECT_FALSE(plan_keys(keys, 1, Digest{}).has_value());
}

}  // namespace
}  // namespace pirx::database
