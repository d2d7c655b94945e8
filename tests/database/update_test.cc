// SPDX-License-Identifier: Apache-2.0
// Updates: after any sequence of them the database is, byte for byte, what a build of the same records gives;
// whoever has the database open keeps what they have.
#include "pirx/database/update.h"

#include <algorithm>
#include <ctime>

#include "database_fixture.h"
#include "src/database/mapping.h"
#include "support/memory.h"

namespace pirx::database {
namespace {

/// What a database holds, and how it is built anew.
struct Model {
  std::vector<Bytes> records;
  std::vector<std::string> keys;
  BuildOptions options;

  /// The file that a build with this epoch gives.
  Bytes rebuilt(const TemporaryFolder& folder, std::uint64_t epoch) {
    options.epoch = epoch;
    EXPECT_TRUE(good(build(folder / "oracle", records, keys, options)));
    Bytes file = read_file(folder / "oracle");
    std::filesystem::remove(folder / "oracle");
    return file;
  }
};

void expect_same(const TemporaryFolder& folder, Model& model, std::uint64_t epoch) {
  const auto database = pirx::testing::open_verified(folder / "db");
  ASSERT_TRUE(good(database));
  const Bytes expected = model.rebuilt(folder, epoch);
  ASSERT_TRUE(std::ranges::equal((*database)->mapping().file, expected));
  EXPECT_EQ((*database)->version().epoch, epoch);
  const std::uint64_t last = model.records.size() - 1;
  EXPECT_TRUE(std::ranges::equal(*(*database)->record(last), model.records[last]));
  if (!model.keys.empty()) {
    const auto found = (*database)->find(model.keys[last]);
    ASSERT_TRUE(good(found));
    const auto first = std::find(model.keys.begin(), model.keys.end(), model.keys[last]);
    EXPECT_EQ(*found, static_cast<std::uint64_t>(first - model.keys.begin()));
  }
}

/// A database whose first record has the full length and stays, so that a build gives the same geometry.
Model random_model(std::mt19937_64& engine, std::uint64_t longest) {
  Model model;
  const bool fixed = engine() % 2 == 0, keyed = engine() % 2 == 0;
  const std::uint64_t n = 1 + engine() % 60;
  for (std::uint64_t i = 0; i < n; ++i) {
    model.records.push_back(random_bytes(engine, fixed || i == 0 ? longest : engine() % (longest + 1)));
    if (keyed) model.keys.push_back("key" + std::to_string(engine() % 50));
  }
  model.options.fixed_record_bytes = fixed ? longest : 0;
  model.options.records_per_row = 1 + engine() % std::min<std::uint64_t>(n, 9);
  model.options.digests = engine() % 3 != 0;
  return model;
}

/// A random change of model and database alike.
void change(DatabaseUpdate& update, Model& model, std::mt19937_64& engine) {
  const std::uint64_t longest = model.records[0].size();
  const bool fixed = model.options.fixed_record_bytes != 0;
  const Bytes data = random_bytes(engine, fixed ? longest : engine() % (longest + 1));
  switch (engine() % 8) {
    case 0:
    case 1:
    case 2: {
      if (model.records.size() < 2) return;
      const std::uint64_t at = 1 + engine() % (model.records.size() - 1);
      ASSERT_TRUE(good(update.set(at, data)));
      model.records[at] = data;
      return;
    }
    case 3: {
      if (model.keys.empty()) return;
      const std::string key = model.keys[engine() % model.keys.size()];
      const auto at = std::find(model.keys.begin(), model.keys.end(), key) - model.keys.begin();
      if (at == 0) return;
      ASSERT_TRUE(good(update.set(key, data)));
      model.records[static_cast<std::size_t>(at)] = data;
      return;
    }
    case 4: {
      const std::uint64_t least = model.options.records_per_row;
      const std::uint64_t count = least + engine() % (model.records.size() - least + 1);
      ASSERT_TRUE(good(update.truncate(count)));
      model.records.resize(count);
      if (!model.keys.empty()) model.keys.resize(count);
      return;
    }
    default:
      if (model.keys.empty()) {
        ASSERT_TRUE(good(update.append(data)));
      } else {
        model.keys.push_back("key" + std::to_string(engine() % 50));
        ASSERT_TRUE(good(update.append(model.keys.back(), data)));
      }
      model.records.push_back(data);
  }
  ASSERT_EQ(update.records(), model.records.size());
}

void check_sequences(unsigned stream, int trials, std::uint64_t longest) {
  auto engine = testing::seeded_engine(stream);
  for (int trial = 0; trial < trials && !::testing::Test::HasFailure(); ++trial) {
    const TemporaryFolder folder(TemporaryFolder::kMemory);
    Model model = random_model(engine, longest);
    model.options.epoch = 1;
    ASSERT_TRUE(good(build(folder / "db", model.records, model.keys, model.options)));
    for (std::uint64_t epoch = 2; epoch < 8; ++epoch) {
      auto update = DatabaseUpdate::begin(folder / "db");
      ASSERT_TRUE(good(update));
      for (std::uint64_t n = engine() % 12; n > 0; --n) change(*update, model, engine);
      const auto report = update->commit();
      ASSERT_TRUE(good(report));
      EXPECT_EQ(report->after.epoch, epoch);
      EXPECT_EQ(report->records, model.records.size());
      ASSERT_NO_FATAL_FAILURE(expect_same(folder, model, epoch));
      if (engine() % 4 == 0) {
        ASSERT_TRUE(good(compact_database(folder / "db")));
        EXPECT_EQ(folder.files(), std::vector<std::string>{"db"});
        ASSERT_NO_FATAL_FAILURE(expect_same(folder, model, epoch));
        ASSERT_EQ(read_file(folder / "db"), model.rebuilt(folder, epoch));
      }
    }
  }
}

TEST(Update, RandomSequencesGiveWhatABuildGives) { check_sequences(61, 60, 40); }
// Rows and files of several chunks.
TEST(Update, RandomSequencesOfLongRecords) { check_sequences(62, testing::kSanitized ? 1 : 4, 400'000); }

TEST(Update, CostsWhatChanges) {
  const TemporaryFolder folder;
  auto engine = testing::seeded_engine(63);
  std::vector<Bytes> records(4096, random_bytes(engine, 8000));
  ASSERT_TRUE(good(build(folder / "db", records)));
  std::uint64_t delta_bytes = 0;
  for (int round = 0; round < 3; ++round) {
    auto update = DatabaseUpdate::begin(folder / "db");
    ASSERT_TRUE(good(update));
    ASSERT_TRUE(good(update->set(17, records[3])));
    const auto report = update->commit();
    ASSERT_TRUE(good(report));
    EXPECT_EQ(report->changed_rows.size(), 1u);
    delta_bytes = report->delta_bytes;
  }
  const auto database = Database::open(folder / "db");
  ASSERT_TRUE(good(database));
  EXPECT_EQ((*database)->delta_bytes(), delta_bytes);
  // One row, 32 bytes a MiB, and the frame: not three times the row.
  EXPECT_LT(delta_bytes,
            (*database)->geometry().row_stride() + 3 * kPageBytes + (*database)->file_bytes() / 32768);
}

TEST(Update, TruncatingCostsWhatGoes) {
  const TemporaryFolder folder;
  ASSERT_TRUE(good(build(folder / "db", {to_bytes("one"), to_bytes("two")}, {"a", "b"})));
  auto update = DatabaseUpdate::begin(folder / "db");
  ASSERT_TRUE(good(update));
  constexpr std::uint64_t kMany = 20'000;
  const auto start = std::clock();
  for (std::uint64_t i = 0; i < kMany; ++i) {
    ASSERT_TRUE(good(update->append("key" + std::to_string(i), {})));
  }
  for (std::uint64_t i = 0; i < kMany; ++i) {
    if (i % 2 == 0) {
      ASSERT_TRUE(good(update->append("key0", {})));
    }
    ASSERT_TRUE(good(update->truncate(2 + kMany)));
  }
  // All keys passed over for each call would be minutes.
  EXPECT_LT(std::clock() - start, 4 * CLOCKS_PER_SEC);
  ASSERT_TRUE(good(update->set("key0", to_bytes("x"))));
  ASSERT_TRUE(good(update->truncate(3)));
  expect_error(update->set("key1", to_bytes("y")), ErrorCode::kOutOfRange, "no record has that key");
  ASSERT_TRUE(good(update->append("key1", to_bytes("y"))));
  ASSERT_TRUE(good(update->commit()));
  const auto database = pirx::testing::open_verified(folder / "db");
  ASSERT_TRUE(good(database));
  EXPECT_EQ((*database)->geometry().records(), 4u);
  EXPECT_EQ(**(*database)->find("key0"), 2u);
  EXPECT_EQ(**(*database)->find("key1"), 3u);
  EXPECT_EQ(as_text(*(*database)->record(2)), "x");
}

TEST(Update, AKeyThatWasTruncatedIsThatOfItsNewRecord) {
  const TemporaryFolder folder;
  const std::vector<Bytes> records{to_bytes("1"), to_bytes("2"), to_bytes("3")};
  ASSERT_TRUE(good(build(folder / "db", records, {"a", "b", "c"}, {.records_per_row = 1})));
  auto update = DatabaseUpdate::begin(folder / "db");
  ASSERT_TRUE(good(update));
  ASSERT_TRUE(good(update->truncate(1)));
  ASSERT_TRUE(good(update->append("x", to_bytes("4"))));
  expect_error(update->set("b", to_bytes("5")), ErrorCode::kOutOfRange, "no record has that key");
  ASSERT_TRUE(good(update->append("b", to_bytes("6"))));
  ASSERT_TRUE(good(update->set("b", to_bytes("7"))));
  ASSERT_TRUE(good(update->commit()));
  const auto database = pirx::testing::open_verified(folder / "db");
  ASSERT_TRUE(good(database));
  EXPECT_EQ(as_text(*(*database)->record(1)), "4");
  EXPECT_EQ(as_text(*(*database)->record(2)), "7");
}

// Rows that end with a page, so that the update writes no byte of theirs.
TEST(Update, TruncatedRowsHaveARightChecksum) {
  const TemporaryFolder folder;
  ASSERT_TRUE(good(build(folder / "db", std::vector<Bytes>(128, Bytes(4000, std::byte{7})), {},
                         {.records_per_row = 1, .fixed_record_bytes = 4000, .digests = false})));
  auto update = DatabaseUpdate::begin(folder / "db");
  ASSERT_TRUE(good(update));
  ASSERT_TRUE(good(update->truncate(64)));
  ASSERT_TRUE(good(update->commit()));
  EXPECT_TRUE(good(pirx::testing::open_verified(folder / "db")));
}

TEST(Update, DamageGetsNoRightChecksum) {
  const TemporaryFolder folder{TemporaryFolder::kMemory};
  const std::vector<Bytes> records(40, Bytes(100'000, std::byte{7}));  // ten in a chunk
  std::vector<std::string> keys;
  for (int i = 0; i < 40; ++i) keys.push_back("key" + std::to_string(i));
  ASSERT_TRUE(good(build(folder / "db", records, keys)));
  const Bytes sound = read_file(folder / "db");
  const auto damage = [&](std::size_t at) {
    Bytes file = sound;
    file[at] ^= std::byte{1};
    write_file(folder / "db", file);
  };
  const auto set = [&](std::uint64_t record) -> Result<UpdateReport> {
    PIRX_ASSIGN(auto update, DatabaseUpdate::begin(folder / "db"));
    PIRX_TRY(update.set(record, as_bytes("new")));
    return update.commit();
  };
  const auto opened = Database::open(folder / "db");
  ASSERT_TRUE(good(opened));
  const Layout layout = (*opened)->mapping().header.layout;
  damage(layout.rows.offset + 3 * layout.geometry.row_stride() + 500);
  expect_error(set(4), ErrorCode::kDataLoss, "db: the file is damaged between");
  damage(layout.keys.end() - 2);
  expect_error(set(4), ErrorCode::kDataLoss, "db: the file is damaged between");
  damage(layout.checksums.offset + 40);
  expect_error(set(4), ErrorCode::kDataLoss, "damaged");
  EXPECT_EQ(folder.files(), std::vector<std::string>{"db"});
  // What is far from the change stays as damaged as it was.
  damage(layout.rows.offset + 3 * layout.geometry.row_stride() + 500);
  ASSERT_TRUE(good(set(25)));
  expect_error(pirx::testing::open_verified(folder / "db"), ErrorCode::kDataLoss, "damaged");
}

TEST(Update, WhoHasItOpenKeepsIt) {
  const TemporaryFolder folder;
  ASSERT_TRUE(good(build(folder / "db", {to_bytes("one"), to_bytes("two")}, {"a", "b"})));
  const auto first = Database::open(folder / "db");
  auto update = DatabaseUpdate::begin(folder / "db");
  ASSERT_TRUE(good(update));
  expect_error(DatabaseUpdate::begin(folder / "db"), ErrorCode::kUnavailable, "another process");
  ASSERT_TRUE(good(update->set("b", to_bytes("TWO"))));
  ASSERT_TRUE(good(update->append("c", to_bytes("new"))));
  ASSERT_TRUE(good(update->set("c", to_bytes("NEW"))));
  ASSERT_TRUE(good(update->commit()));
  expect_error(update->commit(), ErrorCode::kInvalidArgument, "is committed");
  expect_error(update->set(0, to_bytes("x")), ErrorCode::kInvalidArgument, "is committed");
  const auto second = Database::open(folder / "db");
  ASSERT_TRUE(good(second));
  ASSERT_TRUE(good(compact_database(folder / "db")));
  for (const auto& [database, record] : {std::pair(*first, "two"), std::pair(*second, "TWO")}) {
    EXPECT_EQ(as_text(*database->record(1)), record);
    EXPECT_TRUE(good(database->verify()));
  }
  EXPECT_EQ(**(*second)->find("c"), 2u);
  EXPECT_EQ(*(*first)->find("c"), std::nullopt);
}

TEST(Update, ADamagedDatabaseIsNotCompacted) {
  const TemporaryFolder folder;
  const auto target = folder / "db";
  ASSERT_TRUE(good(build(target, {to_bytes("one record"), to_bytes("two")})));
  auto update = DatabaseUpdate::begin(target);
  ASSERT_TRUE(good(update));
  ASSERT_TRUE(good(update->append(to_bytes("three"))));
  ASSERT_TRUE(good(update->commit()));
  Bytes damaged = read_file(target);
  damaged[as_text(damaged).find("one record")] ^= std::byte{1};
  write_file(target, damaged);
  expect_error(compact_database(target), ErrorCode::kDataLoss, "checksum");
  EXPECT_EQ(read_file(target), damaged);
}

TEST(Update, RefusesWhatDoesNotFit) {
  const TemporaryFolder folder;
  ASSERT_TRUE(
      good(build(folder / "keys", {to_bytes("one"), to_bytes("two")}, {"a", "b"}, {.records_per_row = 2})));
  ASSERT_TRUE(
      good(build(folder / "fixed", {to_bytes("one"), to_bytes("two")}, {}, {.fixed_record_bytes = 3})));
  auto keys = DatabaseUpdate::begin(folder / "keys");
  auto fixed = DatabaseUpdate::begin(folder / "fixed");
  ASSERT_TRUE(good(keys));
  ASSERT_TRUE(good(fixed));
  expect_error(keys->set(0, to_bytes("longer")), ErrorCode::kInvalidArgument, "build the database again");
  expect_error(fixed->set(0, to_bytes("2b")), ErrorCode::kInvalidArgument, "exactly 3");
  expect_error(fixed->append(to_bytes("long")), ErrorCode::kInvalidArgument, "exactly 3");
  expect_error(keys->set(2, to_bytes("x")), ErrorCode::kOutOfRange, "2 records");
  expect_error(keys->set("c", to_bytes("x")), ErrorCode::kOutOfRange, "no record has that key");
  expect_error(fixed->set("c", to_bytes("xxx")), ErrorCode::kInvalidArgument, "without keys");
  expect_error(keys->append(to_bytes("x")), ErrorCode::kInvalidArgument, "has keys");
  expect_error(keys->append(std::string(65536, 'k'), to_bytes("x")), ErrorCode::kInvalidArgument, "65535");
  expect_error(fixed->append("k", to_bytes("xxx")), ErrorCode::kInvalidArgument, "without keys");
  expect_error(keys->truncate(3), ErrorCode::kInvalidArgument, "only 2 records");
  expect_error(keys->truncate(1), ErrorCode::kInvalidArgument, "build it again");
  expect_error(fixed->truncate(0), ErrorCode::kInvalidArgument, "build it again");
  ASSERT_TRUE(good(keys->commit()));
  EXPECT_EQ(as_text(*(*Database::open(folder / "keys"))->record(0)), "one");
}

}  // namespace
}  // namespace pirx::database
