// SPDX-License-Identifier: Apache-2.0
// Changes of keyed databases: what comes of them is what a build of the same records gives, no key lies where
// it lay, and what does not fit is refused.
#include "pirx/database/keyed_update.h"

#include <algorithm>

#include "keyed_fixture.h"
#include "src/database/keyed_rows.h"

namespace pirx::database {
namespace {

std::vector<std::string> keys_upto(std::uint64_t n) {
  std::vector<std::string> keys;
  for (std::uint64_t i = 0; i < n; ++i) keys.push_back(key_of(i));
  return keys;
}

/// Records of the same keys, of which some are others.
Result<BuildReport> build_with(const std::filesystem::path& path, std::uint64_t n,
                               const KeyedChanges& changes, const BuildOptions& options) {
  auto checked = options;
  checked.keyed = true;
  PIRX_ASSIGN(auto builder, DatabaseBuilder::create(path, checked));
  for (std::uint64_t i = 0; i < n; ++i) {
    const auto change = changes.find(key_of(i));
    if (change == changes.end()) {
      PIRX_TRY(builder.add(key_of(i), as_bytes(value_of(i))));
    } else if (change->second) {
      PIRX_TRY(builder.add(key_of(i), *change->second));
    }
  }
  for (const auto& [key, record] : changes) {
    bool old = false;
    for (std::uint64_t i = 0; i < n && !old; ++i) old = key == key_of(i);
    if (!old && record) PIRX_TRY(builder.add(key, *record));
  }
  return builder.finish();
}

void expect_content(const std::filesystem::path& path, std::uint64_t n, const KeyedChanges& changes) {
  const auto db = pirx::testing::open_verified(path);
  ASSERT_TRUE(good(db));
  for (std::uint64_t i = 0; i < n; ++i) {
    const auto change = changes.find(key_of(i));
    const auto found = (*db)->lookup(key_of(i));
    ASSERT_TRUE(good(found));
    EXPECT_EQ(*found, change != changes.end() ? change->second : std::optional(to_bytes(value_of(i)))) << i;
  }
  for (const auto& [key, record] : changes) EXPECT_EQ(*(*db)->lookup(key), record) << key;
}

class KeyedUpdateTest : public ::testing::Test {
 protected:
  const pirx::testing::TemporaryFolder folder_;
  const std::filesystem::path target_ = folder_ / "db", other_ = folder_ / "other";
};

Digest seed_of(const std::filesystem::path& path) {
  return (*Database::open(path))->geometry().spec().filter->seed;
}

// One column and many, few keys and many.
TEST_F(KeyedUpdateTest, GivesWhatABuildOfTheSameRecordsGives) {
  for (const std::uint64_t n : {1u, 2u, 7u, 300u, 3000u, 20000u}) {
    for (const std::uint64_t columns : {0u, 1u, 3u}) {
      std::filesystem::remove(target_);
      std::filesystem::remove(other_);
      ASSERT_TRUE(good(build_keyed(target_, upto(n), {.records_per_row = columns})));
      const KeyedChanges changes{{key_of(n / 2), to_bytes("x")}};
      const auto done = update_keyed(target_, keys_upto(n), changes);
      ASSERT_TRUE(good(done));
      EXPECT_EQ(done->before.epoch, 1u);
      EXPECT_EQ(done->after.epoch, 2u);
      EXPECT_EQ(done->replaced, 1u);
      EXPECT_EQ(done->records, n);
      expect_content(target_, n, changes);
      const auto fresh = build_with(other_, n, changes, {.epoch = 2, .records_per_row = columns});
      ASSERT_TRUE(good(fresh));
      EXPECT_EQ(fresh->version, done->after);
    }
  }
}

// Whoever can foresee which records are added up for an absent key can choose some so that their sum is a
// record for it. So the seed follows from every byte of every record, and changes with each of them.
TEST_F(KeyedUpdateTest, NobodyForeseesTheSeed) {
  ASSERT_TRUE(good(build_keyed(target_, upto(300))));
  const KeyedChanges changes{{key_of(7), to_bytes("x")}};
  ASSERT_TRUE(good(build_with(other_, 300, changes, {})));
  EXPECT_NE(seed_of(target_), seed_of(other_));
  ASSERT_TRUE(good(update_keyed(target_, keys_upto(300), changes)));
  EXPECT_EQ(seed_of(target_), seed_of(other_));
  ASSERT_TRUE(good(update_keyed(target_, keys_upto(300), {{key_of(7), to_bytes("y")}})));
  EXPECT_NE(seed_of(target_), seed_of(other_));
}

TEST_F(KeyedUpdateTest, KeysComeAndGo) {
  const std::string longest(200, 'l');
  for (const auto& [changes, added, removed] : std::vector<std::tuple<KeyedChanges, unsigned, unsigned>>{
           {{{"new", to_bytes("n")}}, 1, 0},
           {{{key_of(3), std::nullopt}, {key_of(5), std::nullopt}}, 0, 2},
           {{{key_of(3), to_bytes(longest)}}, 0, 0},
           {{{"", to_bytes("the empty key")}, {key_of(1), std::nullopt}, {key_of(2), to_bytes("2")}},
            1,
            1}}) {
    std::filesystem::remove(target_);
    std::filesystem::remove(other_);
    ASSERT_TRUE(good(build_keyed(target_, upto(500))));
    std::uint64_t announced = 0;
    std::vector<std::string> listed;
    const KeyedUpdateOptions options{
        .rebuilding = [&](std::uint64_t records, double seconds) -> Result<void> {
          announced = records;
          EXPECT_GT(seconds, 0);
          return {};
        },
        .each_key = [&](std::string_view key) -> Result<void> {
          listed.emplace_back(key);
          return {};
        }};
    const auto done = update_keyed(target_, keys_upto(500), changes, options);
    ASSERT_TRUE(good(done));
    EXPECT_EQ(done->added, added);
    EXPECT_EQ(done->removed, removed);
    EXPECT_EQ(announced, 500 + added - removed);
    EXPECT_EQ(listed.size(), announced);
    EXPECT_TRUE(std::is_sorted(listed.begin(), listed.end()));
    EXPECT_EQ(done->after.epoch, 2u);
    expect_content(target_, 500, changes);
    // The same file as from the input, and the list is that of the next update.
    const auto fresh = build_with(other_, 500, changes, {.epoch = 2});
    ASSERT_TRUE(good(fresh));
    EXPECT_EQ(fresh->version, done->after);
    EXPECT_TRUE(good(update_keyed(target_, listed, {{listed[7], to_bytes("seven")}})));
  }
}

// With as many columns as before it would make rows so long that no server would take them.
TEST_F(KeyedUpdateTest, OneLongRecordDoesNotMakeAllRowsLong) {
  const KeyedChanges contributed{{"contributor", Bytes(6000)}};
  for (const std::uint64_t columns : {0u, 9u}) {
    std::filesystem::remove(target_);
    std::filesystem::remove(other_);
    const auto built = build_keyed(target_, upto(2000), {.records_per_row = columns});
    ASSERT_TRUE(good(built));
    auto keys = keys_upto(2000);
    keys.emplace_back("contributor");
    const auto done = update_keyed(target_, keys, contributed);
    ASSERT_TRUE(good(done));
    const auto fresh = build_with(other_, 2000, contributed, {.epoch = 2});
    ASSERT_TRUE(good(fresh));
    EXPECT_EQ(done->after, fresh->version);
    EXPECT_LT((*Database::open(target_))->geometry().row_bytes(), 7000u);
    // Without it, all is as it was.
    const auto removed = update_keyed(target_, keys, {{"contributor", std::nullopt}});
    ASSERT_TRUE(good(removed));
    if (columns == 0) {
      EXPECT_EQ(removed->after.identity, built->version.identity);
    }
  }
}

TEST_F(KeyedUpdateTest, ForeignAndRepeatedKeysInTheListDoNoHarm) {
  ASSERT_TRUE(good(build_keyed(target_, upto(300))));
  auto keys = keys_upto(400);
  keys.insert(keys.end(), {"", "nobody", key_of(7), key_of(7)});
  const KeyedChanges changes{{"added", to_bytes("a")}};
  ASSERT_TRUE(good(update_keyed(target_, keys, changes)));
  expect_content(target_, 300, changes);
}

TEST_F(KeyedUpdateTest, ADrawnSeedStaysOneThatIsDrawn) {
  ASSERT_TRUE(good(build_keyed(other_, upto(300))));
  ASSERT_TRUE(good(build_keyed(target_, upto(300), {.random_seed = true})));
  const auto computed = [](std::uint64_t n, const Digest& seed) {
    KeyedContent content;
    for (std::uint64_t i = 0; i < n; ++i) content.add(key_of(i), as_bytes(value_of(i)));
    return computes_seed(std::move(content).finish(), seed);
  };
  EXPECT_TRUE(computed(300, seed_of(other_)));
  const Digest drawn = seed_of(target_);
  EXPECT_FALSE(computed(300, drawn));
  for (const auto& target : {target_, other_}) {
    const auto report = update_keyed(target, keys_upto(300), {{key_of(300), to_bytes(value_of(300))}});
    ASSERT_TRUE(good(report));
    expect_content(target, 301, {});
  }
  EXPECT_TRUE(computed(301, seed_of(other_)));
  EXPECT_FALSE(computed(301, seed_of(target_)));
  EXPECT_NE(seed_of(target_), drawn);
}

TEST_F(KeyedUpdateTest, DamageGetsNoRightChecksum) {
  ASSERT_TRUE(good(build_keyed(target_, upto(300))));
  Bytes file = read_file(target_);
  file[4096 + 50] ^= std::byte{1};
  pirx::testing::write_file(target_, file);
  for (const auto& key : {key_of(1), std::string("added")}) {
    expect_error(update_keyed(target_, keys_upto(300), {{key, to_bytes("x")}}), ErrorCode::kDataLoss,
                 "damaged");
  }
  EXPECT_EQ(read_file(target_), file);
}

TEST_F(KeyedUpdateTest, WhatIsRefusedChangesNothing) {
  ASSERT_TRUE(good(build_keyed(target_, upto(300))));
  const auto expect_refused = [&](std::vector<std::string> keys, const KeyedChanges& changes, ErrorCode code,
                                  const char* part, const KeyedUpdateOptions& options = {}) {
    expect_error(update_keyed(target_, std::move(keys), changes, options), code, part);
    EXPECT_EQ((*Database::open(target_))->version().epoch, 1u);
  };
  const KeyedChanges one{{key_of(1), to_bytes("x")}};
  expect_refused(keys_upto(299), one, ErrorCode::kInvalidArgument, "has 299 of the 300 keys");
  expect_refused({}, one, ErrorCode::kInvalidArgument, "has 0 of the 300 keys");
  expect_refused(keys_upto(299), one, ErrorCode::kUnavailable, "has changed", {.replaces = Version{{}, 1}});
  expect_refused(keys_upto(300), {}, ErrorCode::kInvalidArgument, "no change");
  expect_refused(keys_upto(300), {{"nobody\n", std::nullopt}}, ErrorCode::kOutOfRange,
                 "no record has the key");
  KeyedChanges none;
  for (const auto& key : keys_upto(300)) none[key] = std::nullopt;
  expect_refused(keys_upto(300), none, ErrorCode::kInvalidArgument, "no records");
  expect_refused(keys_upto(300), {{std::string(70000, 'k'), to_bytes("x")}}, ErrorCode::kResourceExhausted,
                 "key");
  expect_refused(
      keys_upto(300), {{"new", to_bytes("x")}}, ErrorCode::kUnavailable, "not now",
      {.rebuilding = [](std::uint64_t, double) { return fail(ErrorCode::kUnavailable, "not now"); }});
  expect_refused(keys_upto(300), {{"new", to_bytes("x")}}, ErrorCode::kUnavailable, "no room",
                 {.each_key = [](std::string_view) { return fail(ErrorCode::kUnavailable, "no room"); }});
  // All records become as long as the longest.
  for (const auto& changed : {std::string("new"), key_of(1)}) {
    expect_refused(keys_upto(300), {{changed, Bytes(1000)}}, ErrorCode::kResourceExhausted,
                   "records of 1000 bytes", {.most_growth_bytes = 200'000});
  }
  expect_refused(keys_upto(300), {{"new", Bytes(4 << 20)}}, ErrorCode::kResourceExhausted,
                 "the rows would take");
  expect_error(update_keyed(folder_ / "none", {}, one), ErrorCode::kUnavailable, "none");
  // Not keyed; records of one length.
  ASSERT_TRUE(good(pirx::database::build(other_, {to_bytes("a")}, {"k"})));
  expect_error(update_keyed(other_, {"k"}, one), ErrorCode::kInvalidArgument, "not keyed");
  std::filesystem::remove(other_);
  auto builder = *DatabaseBuilder::create(other_, {.fixed_record_bytes = 3, .keyed = true});
  ASSERT_TRUE(good(builder.add("k", to_bytes("abc"))));
  ASSERT_TRUE(good(builder.finish()));
  expect_error(update_keyed(other_, {"k"}, {{"k", to_bytes("ab")}}), ErrorCode::kInvalidArgument,
               "exactly 3");
  ASSERT_TRUE(good(update_keyed(other_, {"k"}, {{"k", to_bytes("xyz")}, {"l", to_bytes("uvw")}})));
  // Another process is at it.
  const auto building = DatabaseBuilder::create(target_, {.keyed = true});
  ASSERT_TRUE(good(building));
  expect_refused(keys_upto(300), one, ErrorCode::kUnavailable, "another process");
}

TEST_F(KeyedUpdateTest, OneThatEndsMeanwhileIsNotLost) {
  ASSERT_TRUE(good(build_keyed(target_, upto(300))));
  const KeyedChanges first{{key_of(1), to_bytes("first")}}, second{{key_of(2), to_bytes("second")}};
  const KeyedUpdateOptions meanwhile{.rebuilding = [&](std::uint64_t, double) -> Result<void> {
    return update_keyed(target_, keys_upto(300), first).map([](const auto&) {});
  }};
  expect_error(update_keyed(target_, keys_upto(300), second, meanwhile), ErrorCode::kUnavailable,
               "has changed since");
  expect_content(target_, 300, first);
}

}  // namespace
}  // namespace pirx::database
