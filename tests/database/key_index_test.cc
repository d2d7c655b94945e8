// SPDX-License-Identifier: Apache-2.0
// The key section read from memory: search, listing, and damage of every kind.
#include "src/database/key_index.h"

#include <algorithm>

#include "database_fixture.h"

namespace pirx::database {
namespace {

/// A section from (key, position) pairs, in the given order.
Bytes section_of(const std::vector<std::pair<std::string, std::uint64_t>>& keys) {
  Writer writer;
  std::uint64_t bytes = 0;
  for (const auto& [key, position] : keys) bytes += key.size();
  writer.put(std::uint64_t{keys.size()});
  writer.put(bytes);
  std::uint64_t offset = 0;
  for (const auto& [key, position] : keys) {
    writer.put(offset);
    writer.put(static_cast<std::uint64_t>(key.size()));
    writer.put(position);
    offset += key.size();
  }
  for (const auto& [key, position] : keys) {
    for (const char c : key) writer.put(static_cast<std::uint8_t>(c));
  }
  return std::move(writer).take();
}

const std::vector<std::pair<std::string, std::uint64_t>> kKeys = {
    {"", 4}, {"a", 2}, {"a", 3}, {"ab", 0}, {std::string("b\0c", 3), 5}, {"\xff\xfe", 1}};

TEST(KeyIndex, FindsTheLowestPositionAndOnlyWhatIsThere) {
  const Bytes section = section_of(kKeys);
  const auto index = KeyIndex::create(section, kKeys.size());
  ASSERT_TRUE(good(index));
  EXPECT_TRUE(good(index->verify()));
  EXPECT_EQ(*index->find(""), std::optional<std::uint64_t>(4));
  EXPECT_EQ(*index->find("a"), std::optional<std::uint64_t>(2));
  EXPECT_EQ(*index->find("ab"), std::optional<std::uint64_t>(0));
  EXPECT_EQ(*index->find(std::string_view("b\0c", 3)), std::optional<std::uint64_t>(5));
  EXPECT_EQ(*index->find("\xff\xfe"), std::optional<std::uint64_t>(1));
  for (const char* absent : {"b", "aa", "A", "\xff", "\xff\xff", "abc"})
    EXPECT_EQ(*index->find(absent), std::nullopt);
  EXPECT_EQ(*KeyIndex().find("a"), std::nullopt);
}

TEST(KeyIndex, ListsInOrderUntilToldToStop) {
  const Bytes section = section_of(kKeys);
  const auto index = KeyIndex::create(section, kKeys.size());
  ASSERT_TRUE(good(index));
  std::vector<std::pair<std::string, std::uint64_t>> seen;
  EXPECT_TRUE(good(index->for_each([&](std::string_view key, std::uint64_t position) {
    seen.emplace_back(key, position);
    return true;
  })));
  EXPECT_EQ(seen, kKeys);
  int count = 0;
  EXPECT_TRUE(good(index->for_each([&](std::string_view, std::uint64_t) { return ++count < 3; })));
  EXPECT_EQ(count, 3);
}

TEST(KeyIndex, DamageIsNamed) {
  const auto expect_damaged = [](std::size_t offset, std::uint64_t value, std::string_view part) {
    Bytes section = section_of(kKeys);
    store_le(section.data() + offset, value);
    const auto index = KeyIndex::create(section, kKeys.size());
    if (!index) return expect_error(index, ErrorCode::kDataLoss, part);
    expect_error(index->verify(), ErrorCode::kDataLoss, part);
  };
  expect_damaged(0, 7, "counts");
  expect_damaged(8, 0, "counts");
  const std::size_t third = 16 + 2 * 24;
  expect_damaged(third, 0, "out of order or overlap");
  expect_damaged(third, 1000, "outside");
  expect_damaged(third, ~std::uint64_t{0}, "outside");
  expect_damaged(third + 8, 1000, "outside");
  expect_damaged(third + 8, 1 | std::uint64_t{1} << 32, "outside");
  expect_damaged(third + 16, 2, "out of order");
  expect_damaged(third + 16, 6, "outside");
  const std::size_t last = 16 + 5 * 24;
  expect_damaged(last + 8, 1, "behind the last key");
  Bytes unsorted = section_of({{"b", 0}, {"a", 1}});
  EXPECT_FALSE(KeyIndex::create(unsorted, 2)->verify().has_value());
  Bytes repeated = section_of({{"a", 0}, {"b", 0}});
  EXPECT_FALSE(KeyIndex::create(repeated, 2)->verify().has_value());
}

TEST(KeyIndex, RandomDamageNeverCrashes) {
  auto engine = testing::seeded_engine(3);
  const Bytes good_section = section_of(kKeys);
  int refused = 0;
  for (int i = 0; i < 20000; ++i) {
    Bytes section = good_section;
    for (std::uint64_t n = 1 + engine() % 4; n > 0; --n)
      section[engine() % section.size()] = static_cast<std::byte>(engine());
    const auto index = KeyIndex::create(section, kKeys.size());
    if (!index) {
      ++refused;
      continue;
    }
    for (const auto& [key, position] : kKeys) {
      const auto found = index->find(key);
      if (found && *found) {
        EXPECT_LT(**found, kKeys.size());
      }
    }
    refused += !index->for_each([](std::string_view key, std::uint64_t position) {
      EXPECT_LE(key.size(), 100u);
      return position < 100;
    });
    refused += !index->verify();
  }
  EXPECT_GT(refused, 10000);
}

}  // namespace
}  // namespace pirx::database
