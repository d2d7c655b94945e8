// SPDX-License-Identifier: Apache-2.0
// Round trips of the builder, its keys, its report, and everything that it refuses.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <csignal>
#include <map>

#include "database_fixture.h"
#include "memory_limit.h"

namespace pirx::database {
namespace {

std::vector<Bytes> random_records(std::mt19937_64& engine, std::size_t count, std::size_t size, bool fixed) {
  std::vector<Bytes> records;
  for (std::size_t i = 0; i < count; ++i)
    records.push_back(random_bytes(engine, fixed ? size : engine() % (size + 1)));
  return records;
}

void expect_records(const Database& database, const std::vector<Bytes>& records) {
  ASSERT_EQ(database.geometry().records(), records.size());
  for (std::size_t i = 0; i < records.size(); ++i) {
    const auto record = database.record(i);
    ASSERT_TRUE(good(record));
    ASSERT_TRUE(std::ranges::equal(*record, records[i])) << "record " << i;
  }
}

TEST(Builder, EveryRecordComesBackForEveryCountAndSize) {
  const TemporaryFolder folder(TemporaryFolder::kMemory);
  auto engine = testing::seeded_engine(1);
  const auto target = folder / "db";
  for (std::size_t count = 1; count <= 100; ++count) {
    const std::size_t sizes[] = {1, 3, 7, 31, 64, 255, 4096};
    for (std::size_t s = 0; s < std::size(sizes); ++s) {
      // Every combination of the options comes up for every size, spread over the counts.
      const std::size_t variant = count + s;
      const bool fixed = variant % 2 == 0;
      BuildOptions options;
      options.fixed_record_bytes = fixed ? sizes[s] : 0;
      options.digests = variant / 2 % 2 == 0;
      options.records_per_row = variant / 4 % 3 == 0 ? 0 : variant / 4 % 3 == 1 ? 1 : 3;
      const auto records = random_records(engine, count, sizes[s], fixed);
      const auto report = build(target, records, {}, options);
      ASSERT_TRUE(good(report));
      const auto database = pirx::testing::open_verified(target);
      ASSERT_TRUE(good(database));
      expect_records(**database, records);
      EXPECT_EQ((*database)->version(), report->version);
      EXPECT_EQ((*database)->file_bytes(), std::filesystem::file_size(target));
      EXPECT_EQ(report->file_bytes, std::filesystem::file_size(target));
      EXPECT_EQ((*database)->geometry(), *Geometry::create(report->geometry));
      EXPECT_FALSE((*database)->has_keys());
      std::uint64_t payload = 0, longest = 0;
      for (const auto& record : records) {
        payload += record.size();
        longest = std::max<std::uint64_t>(longest, record.size());
      }
      EXPECT_EQ(report->payload_bytes, payload);
      EXPECT_EQ(report->longest_record, longest);
      EXPECT_EQ(records[report->longest_position].size(), longest);
      EXPECT_EQ(report->payload_bytes + report->padding_bytes, (*database)->geometry().data_bytes());
    }
  }
  EXPECT_EQ(folder.files(), std::vector<std::string>{"db"});
}

TEST(Builder, KeysAreFoundWithDuplicatesAndEmptyOnes) {
  const TemporaryFolder folder;
  const std::vector<std::string> keys = {"b", "", "a", "b", "", std::string("a\0", 2), "b"};
  std::vector<Bytes> records;
  for (std::size_t i = 0; i < keys.size(); ++i) records.push_back(to_bytes(std::to_string(i)));
  const auto report = build(folder / "db", records, keys);
  ASSERT_TRUE(good(report));
  EXPECT_EQ(report->keys, 7u);
  EXPECT_EQ(report->duplicate_keys, 3u);
  const auto database = pirx::testing::open_verified(folder / "db");
  ASSERT_TRUE(good(database));
  EXPECT_TRUE((*database)->has_keys());
  EXPECT_EQ(*(*database)->find("b"), std::optional<std::uint64_t>(0));
  EXPECT_EQ(*(*database)->find(""), std::optional<std::uint64_t>(1));
  EXPECT_EQ(*(*database)->find("a"), std::optional<std::uint64_t>(2));
  EXPECT_EQ(*(*database)->find("c"), std::nullopt);
}

TEST(Builder, HundredThousandKeysThroughTheExternalSortMakeTheSameFile) {
  const TemporaryFolder folder;
  auto engine = testing::seeded_engine(2);
  std::map<std::string, std::uint64_t> lowest;
  std::vector<Bytes> records;
  std::vector<std::string> keys;
  for (std::uint64_t i = 0; i < 100000; ++i) {
    keys.push_back("package-" + std::to_string(engine() % 90000));
    records.push_back(to_bytes(std::to_string(i)));
    lowest.emplace(keys.back(), i);
  }
  BuildOptions tiny;
  tiny.sort_memory_bytes = 0;
  const auto in_memory = build(folder / "a", records, keys);
  const auto external = build(folder / "b", records, keys, tiny);
  ASSERT_TRUE(good(in_memory));
  ASSERT_TRUE(good(external));
  EXPECT_TRUE(read_file(folder / "a") == read_file(folder / "b"));
  EXPECT_EQ(external->duplicate_keys, keys.size() - lowest.size());
  const auto database = pirx::testing::open_verified(folder / "b");
  ASSERT_TRUE(good(database));
  for (const auto& [key, position] : lowest) ASSERT_EQ(*(*database)->find(key), std::optional(position));
  std::string previous;
  std::uint64_t count = 0;
  ASSERT_TRUE(good((*database)->for_each_key([&](std::string_view key, std::uint64_t position) {
    EXPECT_LE(previous, key);
    EXPECT_EQ(keys[position], key);
    previous = key;
    ++count;
    return true;
  })));
  EXPECT_EQ(count, keys.size());
}

TEST(Builder, IdentityIsThatOfTheContent) {
  const TemporaryFolder folder;
  const std::vector<Bytes> records = {to_bytes("a"), to_bytes("bb"), to_bytes("ccc")};
  const std::vector<std::string> keys = {"1", "2", "3"};
  const auto identity = [&](const std::vector<Bytes>& r, const std::vector<std::string>& k,
                            const BuildOptions& options) {
    const auto report = build(folder / "db", r, k, options);
    EXPECT_TRUE(good(report));
    EXPECT_EQ(report->version.epoch, options.epoch);
    return report->version.identity;
  };
  const auto base = identity(records, keys, {});
  EXPECT_EQ(base, identity(records, keys, {}));
  EXPECT_EQ(base, identity(records, keys, {.epoch = 99}));
  auto other = records;
  other[1] = to_bytes("bB");
  EXPECT_NE(base, identity(other, keys, {}));
  EXPECT_NE(base, identity(records, {"1", "2", "4"}, {}));
  EXPECT_NE(base, identity(records, {}, {}));
  EXPECT_NE(base, identity(records, keys, {.records_per_row = 2}));
  EXPECT_NE(base, identity(records, keys, {.digests = false}));
}

TEST(Builder, EmptyRecordsAndOversizedRowsWork) {
  const TemporaryFolder folder;
  BuildOptions options;
  options.records_per_row = 1000;
  const auto report = build(folder / "db", {Bytes(), Bytes(), Bytes()}, {}, options);
  ASSERT_TRUE(good(report));
  EXPECT_EQ(report->geometry.records_per_row, 3u);
  EXPECT_EQ(report->longest_record, 0u);
  const auto database = pirx::testing::open_verified(folder / "db");
  ASSERT_TRUE(good(database));
  EXPECT_TRUE((*database)->record(2)->empty());
}

TEST(Builder, RecordsLargerThanEveryBuffer) {
  const TemporaryFolder folder;
  auto engine = testing::seeded_engine(3);
  const std::vector<Bytes> records = {random_bytes(engine, 5'000'001), random_bytes(engine, 3),
                                      random_bytes(engine, 1 << 20), random_bytes(engine, (1 << 20) + 1),
                                      random_bytes(engine, (1 << 20) - 8)};
  ASSERT_TRUE(good(build(folder / "db", records)));
  const auto database = pirx::testing::open_verified(folder / "db");
  ASSERT_TRUE(good(database));
  expect_records(**database, records);
}

TEST(Builder, ProgressCoversInputAndLayout) {
  const TemporaryFolder folder;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> calls;
  BuildOptions options;
  options.progress = [&](std::uint64_t done, std::uint64_t total) { calls.emplace_back(done, total); };
  const std::vector<Bytes> records(3000, Bytes(1000));
  const auto report = build(folder / "db", records, {}, options);
  ASSERT_TRUE(good(report));
  EXPECT_TRUE(std::ranges::any_of(calls, [](const auto& call) { return call.second == 0; }));
  EXPECT_TRUE(std::ranges::any_of(
      calls, [](const auto& call) { return call.second != 0 && call.first < call.second; }));
  EXPECT_EQ(calls.back(), (std::pair{report->file_bytes, report->file_bytes}));
}

TEST(Builder, BadRecordsAreRefusedAndTheBuildGoesOn) {
  const TemporaryFolder folder;
  BuildOptions options;
  options.max_record_bytes = 10;
  auto builder = DatabaseBuilder::create(folder / "db", options);
  ASSERT_TRUE(good(builder));
  EXPECT_EQ(builder->target(), folder / "db");
  EXPECT_EQ(builder->options().max_record_bytes, 10u);
  expect_error(builder->add(to_bytes("eleven byte")), ErrorCode::kResourceExhausted, "limit of 10");
  ASSERT_TRUE(good(builder->add("key", to_bytes("ten bytes!"))));
  expect_error(builder->add(to_bytes("x")), ErrorCode::kInvalidArgument, "keys, or none");
  expect_error(builder->add(std::string(65536, 'k'), to_bytes("x")), ErrorCode::kResourceExhausted, "65535");
  ASSERT_TRUE(good(builder->add(std::string(65535, 'k'), to_bytes("y"))));
  const auto report = builder->finish();
  ASSERT_TRUE(good(report));
  EXPECT_EQ(report->records, 2u);
  expect_error(builder->add(to_bytes("x")), ErrorCode::kInvalidArgument, "finished");
  expect_error(builder->finish(), ErrorCode::kInvalidArgument, "finished");

  auto keyless = DatabaseBuilder::create(folder / "db", {.fixed_record_bytes = 4});
  ASSERT_TRUE(good(keyless));
  ASSERT_TRUE(good(keyless->add(to_bytes("1234"))));
  expect_error(keyless->add(to_bytes("123")), ErrorCode::kInvalidArgument, "have 4");
  expect_error(keyless->add("key", to_bytes("1234")), ErrorCode::kInvalidArgument, "keys, or none");
}

TEST(Builder, OneLongRecordAmongManyShortOnesDoesNotFillTheDisk) {
  const TemporaryFolder folder;
  for (const bool keyed : {false, true}) {
    auto builder = DatabaseBuilder::create(folder / "db", {.keyed = keyed});
    ASSERT_TRUE(good(builder));
    for (int i = 0; i < 1100; ++i) ASSERT_TRUE(good(builder->add("key" + std::to_string(i), to_bytes("x"))));
    ASSERT_TRUE(good(builder->add("long", Bytes(std::size_t{1} << 20))));
    expect_error(builder->finish(), ErrorCode::kResourceExhausted, "(1048576 bytes)");
  }
  EXPECT_EQ(folder.files(), std::vector<std::string>());
}

TEST(Builder, NothingIsLeftOfAbandonedAndEmptyBuilds) {
  const TemporaryFolder folder;
  ASSERT_TRUE(good(build(folder / "db", {to_bytes("old")})));
  const Bytes old = read_file(folder / "db");
  {
    auto builder = DatabaseBuilder::create(folder / "db", {});
    ASSERT_TRUE(good(builder));
    ASSERT_TRUE(good(builder->add(to_bytes("new"))));
    EXPECT_EQ(folder.files().size(), 2u);
  }
  EXPECT_EQ(folder.files(), std::vector<std::string>{"db"});
  expect_error(build(folder / "db", {}), ErrorCode::kInvalidArgument, "no records");
  EXPECT_EQ(folder.files(), std::vector<std::string>{"db"});
  EXPECT_TRUE(read_file(folder / "db") == old);
}

/// Runs `body` in a child process whose files may have at most `limit` bytes. True when it returns true.
template <class Body>
bool with_file_limit(rlim_t limit, const Body& body) {
  return testing::status_of_child([&] {
           ::signal(SIGXFSZ, SIG_IGN);
           const rlimit file_size{limit, limit};
           return ::setrlimit(RLIMIT_FSIZE, &file_size) == 0 && body();
         }) == 0;
}

TEST(Builder, AFullDiskLeavesTheOldFile) {
  const TemporaryFolder folder;
  ASSERT_TRUE(good(build(folder / "db", {to_bytes("old")})));
  const Bytes old = read_file(folder / "db");
  const auto exhausted = [](const Result<BuildReport>& result, std::string_view part) {
    return !result && result.error().code() == ErrorCode::kResourceExhausted &&
           result.error().message().find(part) != std::string::npos;
  };
  // While the input is read.
  EXPECT_TRUE(with_file_limit(3 << 20, [&] {
    return exhausted(build(folder / "db", std::vector<Bytes>(10, Bytes(1 << 20))), "cannot write");
  }));
  // While it is laid out: short records are spooled small and take slots of the longest.
  std::vector<Bytes> records(1000, Bytes(1));
  records[500].resize(100'000);
  EXPECT_TRUE(
      with_file_limit(3 << 20, [&] { return exhausted(build(folder / "db", records), "it needs 1"); }));
  // While keys are sorted.
  EXPECT_TRUE(with_file_limit(3 << 20, [&] {
    const std::vector<std::string> keys(100, std::string(60000, 'k'));
    BuildOptions options;
    options.sort_memory_bytes = 0;
    return exhausted(build(folder / "db", std::vector<Bytes>(100, Bytes(1)), keys, options), "cannot write");
  }));
  EXPECT_EQ(folder.files(), std::vector<std::string>{"db"});
  EXPECT_TRUE(read_file(folder / "db") == old);
}

TEST(Builder, PackedInputThatBecomesTooMuchIsRefusedBeforeItTakesTheDisk) {
  const TemporaryFolder folder;
  EXPECT_TRUE(with_file_limit(3 << 20, [&] {
    auto builder = DatabaseBuilder::create(folder / "db", {.keyed = true});
    for (int i = 0; i < 1000 && builder; ++i) {
      if (!builder->add(std::to_string(i), Bytes(i == 500 ? 100'000 : 1))) return false;
    }
    builder->note_input(1000, 1000, 1 << 20);
    const auto done = builder->finish();
    return !done && done.error().message().starts_with("the packed input would become");
  }));
  EXPECT_EQ(folder.files(), std::vector<std::string>());
}

TEST(Builder, NoMemoryForKeysIsAnErrorAndEndsTheBuild) {
  if (!kCanLimitMemory) GTEST_SKIP() << "sanitizers allow no memory limit";
  const TemporaryFolder folder;
  expect_true_within(std::uint64_t{150} << 20, [&] {
    BuildOptions options;
    options.sort_memory_bytes = std::uint64_t{1} << 40;
    auto builder = DatabaseBuilder::create(folder / "db", options);
    if (!builder) return false;
    const std::string key(60000, 'k');
    Result<void> added;
    for (int i = 0; i < 5000 && added; ++i) added = builder->add(key, {});
    return is_error(added, ErrorCode::kResourceExhausted, "out of memory") &&
           is_error(builder->add("k", {}), ErrorCode::kResourceExhausted, "build broke off") &&
           is_error(builder->finish(), ErrorCode::kResourceExhausted, "build broke off");
  });
  EXPECT_FALSE(std::filesystem::exists(folder / "db"));
}

TEST(Builder, NoMemoryWhileFinishingIsAnError) {
  const TemporaryFolder folder;
  BuildOptions options;
  options.progress = [](std::uint64_t, std::uint64_t) { throw std::bad_alloc(); };
  {
    auto builder = DatabaseBuilder::create(folder / "db", options);
    ASSERT_TRUE(good(builder));
    ASSERT_TRUE(good(builder->add(to_bytes("record"))));
    expect_error(builder->finish(), ErrorCode::kResourceExhausted, "out of memory");
    expect_error(builder->finish(), ErrorCode::kResourceExhausted, "build broke off");
  }
  EXPECT_TRUE(folder.files().empty());
}

TEST(Builder, ARefusedRecordLeavesItUsableAndABrokenOneDoesNot) {
  const TemporaryFolder folder;
  auto builder = DatabaseBuilder::create(folder / "db", {.max_record_bytes = 3});
  ASSERT_TRUE(good(builder));
  expect_error(builder->add(to_bytes("long")), ErrorCode::kResourceExhausted, "longer than the limit");
  EXPECT_TRUE(builder->takes_more());
  EXPECT_TRUE(good(builder->add(to_bytes("abc"))));
  EXPECT_TRUE(good(builder->finish()));
  EXPECT_FALSE(builder->takes_more());
}

TEST(Builder, ProgressHasTheTotalOfTheInputThenOfTheFile) {
  for (const bool keyed : {false, true}) {
    const TemporaryFolder folder;
    std::vector<std::pair<std::uint64_t, std::uint64_t>> seen;
    BuildOptions options{.keyed = keyed};
    options.progress = [&seen](std::uint64_t done, std::uint64_t total) { seen.emplace_back(done, total); };
    auto builder = DatabaseBuilder::create(folder / "db", options);
    ASSERT_TRUE(good(builder));
    const Bytes record(1 << 20);
    for (std::uint64_t i = 1; i <= 4; ++i) {
      builder->note_input(1000 * i, 4000);
      ASSERT_TRUE(good(builder->add("key" + std::to_string(i), record)));
    }
    ASSERT_FALSE(seen.empty());
    for (const auto& [done, total] : seen) {
      EXPECT_EQ(total, 4000u);
      EXPECT_LE(done, total);
    }
    const std::size_t of_input = seen.size();
    const auto report = builder->finish();
    ASSERT_TRUE(good(report));
    ASSERT_GT(seen.size(), of_input);
    for (std::size_t i = of_input; i < seen.size(); ++i) {
      EXPECT_GT(seen[i].second, 4000u);
      EXPECT_LE(seen[i].first, seen[i].second);
    }
    EXPECT_EQ(seen.back(), std::pair(report->file_bytes, report->file_bytes));
  }
}

}  // namespace
}  // namespace pirx::database
