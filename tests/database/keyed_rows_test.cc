// SPDX-License-Identifier: Apache-2.0
// Keyed databases as they are built: the same file from the same set of records, and repeated keys.
#include <algorithm>
#include <map>

#include "keyed_fixture.h"
#include "memory_limit.h"
#include "support/memory.h"

namespace pirx::database {
namespace {

TEST(KeyedRows, TheSameRecordsGiveTheSameFileInAnyOrder) {
  auto engine = testing::seeded_engine(3);
  const TemporaryFolder folder;
  auto order = upto(3000);
  const auto base = build_keyed(folder / "a", order);
  ASSERT_TRUE(good(base));
  std::shuffle(order.begin(), order.end(), engine);
  const auto shuffled = build_keyed(folder / "b", order, {.sort_memory_bytes = 1});
  ASSERT_TRUE(good(shuffled));
  EXPECT_EQ(base->version, shuffled->version);
  order.back() = 3000;
  const auto other = build_keyed(folder / "c", order);
  ASSERT_TRUE(good(other));
  EXPECT_NE(base->version.identity, other->version.identity);
  EXPECT_NE(base->geometry.filter->seed, other->geometry.filter->seed);
}

TEST(KeyedRows, RepeatedKeysByPolicy) {
  const TemporaryFolder folder;
  const auto with = [&folder](Duplicates policy) -> Result<BuildReport> {
    PIRX_ASSIGN(auto builder, DatabaseBuilder::create(folder / "db", {.keyed = true, .duplicates = policy}));
    const std::pair<std::string, std::string> kInput[] = {
        {"b", "b1"}, {"a", "a1"}, {"c", "c1"}, {"a", "a2, the longest"}, {"b", "b2"}, {"a", "a3"}};
    std::uint64_t line = 10;
    for (const auto& [key, value] : kInput) {
      builder.note_line(++line);
      PIRX_TRY(builder.add(key, as_bytes(value)));
    }
    return builder.finish();
  };
  const auto refused = with(Duplicates::kRefuse);
  expect_error(refused, ErrorCode::kInvalidArgument, "line 14 repeats the key 'a' of line 12");
  expect_error(refused, ErrorCode::kInvalidArgument, "3 of 6 records");
  const auto get = [&folder](std::string_view key) {
    const auto db = pirx::testing::open_verified(folder / "db");
    return std::string(as_text(**(*db)->lookup(key)));
  };
  auto report = with(Duplicates::kFirst);
  ASSERT_TRUE(good(report));
  EXPECT_EQ(report->records, 3u);
  EXPECT_EQ(report->duplicate_keys, 3u);
  EXPECT_EQ(report->longest_record, 2u);
  EXPECT_EQ(report->payload_bytes, 6u);
  EXPECT_EQ(get("a") + get("b") + get("c"), "a1b1c1");
  report = with(Duplicates::kLast);
  ASSERT_TRUE(good(report));
  EXPECT_EQ(report->keys, 3u);
  EXPECT_EQ(get("a") + get("b") + get("c"), "a3b2c1");
  report = with(Duplicates::kJoin);
  ASSERT_TRUE(good(report));
  EXPECT_EQ(report->records, 3u);
  EXPECT_EQ(report->duplicate_keys, 3u);
  EXPECT_EQ(report->longest_record, 21u);
  EXPECT_EQ(report->longest_position, 1u);
  EXPECT_EQ(report->payload_bytes, 28u);
  EXPECT_EQ(get("a") + "|" + get("b") + "|" + get("c"), "a1\na2, the longest\na3|b1\nb2|c1");
  EXPECT_EQ(folder.files(), std::vector<std::string>{"db"});
}

TEST(KeyedRows, JoiningTakesFewBytesForEachRecord) {
  if (testing::kSanitized) GTEST_SKIP() << "sanitizers keep what is freed";
  const TemporaryFolder folder;
  expect_true_within(std::uint64_t{250} << 20, [&] {
    auto builder = DatabaseBuilder::create(
        folder / "db",
        {.keyed = true, .duplicates = Duplicates::kJoin, .sort_memory_bytes = std::uint64_t{16} << 20});
    for (int i = 0; i < 4'000'000 && builder; ++i) {
      if (!builder->add("k", {})) return false;
    }
    const auto report = builder->finish();
    return report && report->longest_record == 3'999'999;
  });
}

TEST(KeyedRows, JoinsRecordsOfAnyLength) {
  const TemporaryFolder folder(TemporaryFolder::kMemory);
  auto engine = pirx::testing::seeded_engine(19);
  // Beyond every buffer, and empty ones; nothing is repeated in the second database.
  std::map<std::string, std::string> expected;
  auto builder = DatabaseBuilder::create(folder / "db", {.keyed = true, .duplicates = Duplicates::kJoin});
  ASSERT_TRUE(good(builder));
  for (int i = 0; i < 40; ++i) {
    const std::string key = std::to_string(engine() % 12);
    std::string record(i == 7 ? 3'000'000 : i % 5 == 0 ? 0 : engine() % 100, static_cast<char>('a' + i % 26));
    const auto [at, fresh] = expected.try_emplace(key, record);
    if (!fresh) at->second += "\n" + record;
    ASSERT_TRUE(good(builder->add(key, as_bytes(record))));
  }
  const auto report = builder->finish();
  ASSERT_TRUE(good(report));
  EXPECT_EQ(report->keys, expected.size());
  const auto db = pirx::testing::open_verified(folder / "db");
  ASSERT_TRUE(good(db));
  for (const auto& [key, record] : expected) EXPECT_EQ(as_text(**(*db)->lookup(key)), record) << key;

  const auto limited = [&](std::uint64_t limit) -> Result<BuildReport> {
    PIRX_ASSIGN(auto small, DatabaseBuilder::create(
                                folder / "small",
                                {.keyed = true, .duplicates = Duplicates::kJoin, .max_record_bytes = limit}));
    PIRX_TRY(small.add("k", as_bytes("four")));
    PIRX_TRY(small.add("k", as_bytes("five.")));
    return small.finish();
  };
  ASSERT_TRUE(good(limited(10)));
  expect_error(limited(9), ErrorCode::kResourceExhausted, "'k' have 10 bytes when they are joined");
  expect_error(DatabaseBuilder::create(
                   folder / "db", {.fixed_record_bytes = 4, .keyed = true, .duplicates = Duplicates::kJoin}),
               ErrorCode::kInvalidArgument, "cannot be joined");
}

}  // namespace
}  // namespace pirx::database
