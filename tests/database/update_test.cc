// Updates: after any sequence of them the database is, byte for byte, what a build of the same records gives;
// deltas that are damaged, foreign or forged are refused; whoever has the database open keeps what they have.
#include "pirx/database/update.h"

#include <sys/stat.h>

#include <algorithm>

#include "database_fixture.h"
#include "src/database/delta.h"
#include "src/database/mapping.h"

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
  const auto database = Database::open(folder / "db", {.verify_content = true});
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
TEST(Update, RandomSequencesOfLongRecords) { check_sequences(62, 4, 400'000); }

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

TEST(UpdateLock, OneWriterAtATime) {
  const TemporaryFolder folder;
  const auto db = folder / "db";
  ASSERT_TRUE(good(build(db, {to_bytes("one")})));
  const auto expect_locked = [&] {
    expect_error(DatabaseBuilder::create(db, {}), ErrorCode::kUnavailable, "another process");
    expect_error(DatabaseUpdate::begin(db), ErrorCode::kUnavailable, "another process");
    expect_error(compact_database(db), ErrorCode::kUnavailable, "another process");
  };
  {
    auto builder = DatabaseBuilder::create(db, {.epoch = 2});
    ASSERT_TRUE(good(builder));
    expect_locked();
    ASSERT_TRUE(good(builder->add(to_bytes("two"))));
    expect_locked();
    ASSERT_TRUE(good(builder->finish()));
    // The lock went with the name, and is let go though the builder lives.
    ASSERT_TRUE(good(DatabaseUpdate::begin(db)));
  }
  {
    auto update = DatabaseUpdate::begin(db);
    ASSERT_TRUE(good(update));
    expect_locked();
    ASSERT_TRUE(good(update->set(0, to_bytes("TWO"))));
    ASSERT_TRUE(good(update->commit()));
  }
  int calls = 0;
  ASSERT_TRUE(good(compact_database(db, [&](std::uint64_t done, std::uint64_t total) {
    if (done < total) expect_locked();
    ++calls;
  })));
  EXPECT_GT(calls, 1);
  EXPECT_EQ(as_text(*(*Database::open(db))->record(0)), "TWO");
  EXPECT_EQ(folder.files(), std::vector<std::string>{"db"});
}

TEST(UpdateLock, ABuildOverAFileThatChangedMeanwhileIsRefused) {
  const TemporaryFolder folder;
  const auto db = folder / "db";
  const auto update = [&](std::string_view text) -> Result<void> {
    PIRX_ASSIGN(auto change, DatabaseUpdate::begin(db));
    PIRX_TRY(change.set(0, as_bytes(text)));
    PIRX_TRY(change.commit());
    return {};
  };
  // Between the choice of the epoch and the lock.
  expect_error(build(db, {to_bytes("new")}, {}, {.replaces = Version{{}, 1}}), ErrorCode::kUnavailable,
               "begin it");
  ASSERT_TRUE(good(build(db, {to_bytes("one")}, {}, {.replaces = Version()})));
  const Version before = (*Database::open(db))->version();
  ASSERT_TRUE(good(update("ONE")));
  for (const Version& seen : {before, Version()}) {
    expect_error(build(db, {to_bytes("new")}, {}, {.epoch = 2, .replaces = seen}), ErrorCode::kUnavailable,
                 "begin it");
  }
  EXPECT_EQ(as_text(*(*Database::open(db))->record(0)), "ONE");
  // By who takes no lock, while the records are added, or before the changes are written.
  for (const bool replaced : {true, false}) {
    auto builder = DatabaseBuilder::create(db, {.epoch = 3});
    ASSERT_TRUE(good(builder));
    ASSERT_TRUE(good(builder->add(to_bytes("new"))));
    if (replaced) {
      std::filesystem::copy_file(db, folder / "copy");
      std::filesystem::rename(folder / "copy", db);
    } else {
      write_file(db, read_file(db));
    }
    expect_error(builder->finish(), ErrorCode::kUnavailable, "meanwhile");
    EXPECT_EQ(as_text(*(*Database::open(db))->record(0)), "ONE");
  }
  // A delta that was copied in meanwhile is not taken away.
  std::filesystem::copy_file(db, folder / "twin");
  {
    auto elsewhere = DatabaseUpdate::begin(folder / "twin");
    ASSERT_TRUE(good(elsewhere));
    ASSERT_TRUE(good(elsewhere->set(0, to_bytes("BUT"))));
    ASSERT_TRUE(good(elsewhere->commit()));
  }
  {
    auto builder = DatabaseBuilder::create(db, {.epoch = 3});
    ASSERT_TRUE(good(builder));
    ASSERT_TRUE(good(builder->add(to_bytes("new"))));
    std::filesystem::copy_file(folder / "twin.delta", folder / "db.delta",
                               std::filesystem::copy_options::overwrite_existing);
    expect_error(builder->finish(), ErrorCode::kUnavailable, "meanwhile");
    EXPECT_EQ(as_text(*(*Database::open(db))->record(0)), "BUT");
  }
  auto change = DatabaseUpdate::begin(db);
  ASSERT_TRUE(good(change));
  ASSERT_TRUE(good(change->set(0, to_bytes("new"))));
  ASSERT_TRUE(good(build(folder / "other", {to_bytes("two")}, {}, {.epoch = 7})));
  std::filesystem::rename(folder / "other", db);
  expect_error(change->commit(), ErrorCode::kUnavailable, "meanwhile");
  EXPECT_EQ(as_text(*(*Database::open(db))->record(0)), "two");
  // Where there was no file, the first one that is there stays.
  std::filesystem::remove(db);
  auto builder = DatabaseBuilder::create(db, {});
  ASSERT_TRUE(good(builder));
  ASSERT_TRUE(good(builder->add(to_bytes("late"))));
  ASSERT_TRUE(good(build(db, {to_bytes("early")})));
  expect_error(builder->finish(), ErrorCode::kUnavailable, "meanwhile");
  EXPECT_EQ(as_text(*(*Database::open(db))->record(0)), "early");
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

/// A database with a delta, and the files of both.
class Damaged : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(
        good(build(folder / "db", {to_bytes("one"), to_bytes("two"), to_bytes("three")}, {"a", "b", "c"})));
    ASSERT_TRUE(good(commit("TWO")));
    delta = read_file(folder / "db.delta");
  }
  Result<UpdateReport> commit(std::string_view text) {
    PIRX_ASSIGN(auto update, DatabaseUpdate::begin(folder / "db"));
    PIRX_TRY(update.set(1, as_bytes(text)));
    return update.commit();
  }
  void reseal(Bytes& file) const {
    const Digest digest = sha256(ByteSpan(file).first(file.size() - 32));
    std::copy(digest.begin(), digest.end(), file.end() - 32);
  }
  auto open(const Bytes& file) {
    write_file(folder / "db.delta", file);
    return Database::open(folder / "db", {.verify_content = true});
  }
  const TemporaryFolder folder{TemporaryFolder::kMemory};
  Bytes delta;
};

TEST_F(Damaged, EveryByteAndEveryLengthIsCovered) {
  ASSERT_TRUE(good(open(delta)));
  for (std::size_t at = 0; at < delta.size(); ++at) {
    // Of the long runs of zeros a few.
    if (at % 4096 > 512 && at < 2 * kPageBytes && at % 61 != 0) continue;
    Bytes file = delta;
    file[at] ^= static_cast<std::byte>(1 << at % 8);
    const auto opened = open(file);
    ASSERT_FALSE(opened.has_value()) << at;
    EXPECT_EQ(opened.error().code(), ErrorCode::kDataLoss);
  }
  for (std::size_t size = 0; size < delta.size(); size += size < 64 ? 1 : 97) {
    ASSERT_FALSE(open(Bytes(delta.begin(), delta.begin() + static_cast<std::ptrdiff_t>(size)))) << size;
  }
  Bytes longer = delta;
  longer.push_back(std::byte{0});
  expect_error(open(longer), ErrorCode::kDataLoss, "checksum");
}

TEST_F(Damaged, ForgedFieldsAreRefused) {
  const auto expect_refused = [&](std::size_t offset, std::uint64_t value, std::string_view part) {
    Bytes file = delta;
    store_le(&file[offset], value);
    reseal(file);
    expect_error(open(file), ErrorCode::kDataLoss, part);
  };
  expect_refused(0, 0, "not a pirx delta");
  expect_refused(8, 2 | std::uint64_t{4096} << 32, "delta version 2");
  expect_refused(8, 1 | std::uint64_t{4095} << 32, "wrong size");
  expect_refused(16, 0, "another file");
  expect_refused(48, 0, "behind its changes");
  expect_refused(48, ~std::uint64_t{0}, "its length");
  expect_refused(56, 0, "its length");
  expect_refused(64, 1, "not zero");
  expect_refused(4096, 0, "not a pirx database");
  expect_refused(4096 + 100, 0, "header is damaged");
  for (const std::uint64_t offset :
       {std::uint64_t{0}, std::uint64_t{4095}, ~std::uint64_t{0}, std::uint64_t{1} << 50}) {
    expect_refused(8192, offset, "outside of the file");
  }
  for (const std::uint64_t length : {std::uint64_t{0}, ~std::uint64_t{0}, std::uint64_t{1} << 40}) {
    expect_refused(8200, length, "outside of the file");
  }
  expect_refused(8200, 1, "behind its changes");
  // Another byte in a changed row: whole as a file, and found by a full check.
  Bytes file = delta;
  file[8192 + 2 * 16 + 5] ^= std::byte{1};
  reseal(file);
  expect_error(open(file), ErrorCode::kDataLoss, "damaged");
}

TEST_F(Damaged, AForeignDeltaIsRefusedAndAnOldOneIgnored) {
  // A later one of another database.
  ASSERT_TRUE(good(build(folder / "other", {to_bytes("1"), to_bytes("2"), to_bytes("333")})));
  expect_error(
      [&] {
        std::filesystem::copy_file(folder / "db.delta", folder / "other.delta");
        return Database::open(folder / "other");
      }(),
      ErrorCode::kDataLoss, "other.delta to go on with epoch 1 without them");
  // A build over an updated database, as a crash between its two files would leave it.
  ASSERT_TRUE(good(build(folder / "db", {to_bytes("new")}, {}, {.epoch = 2})));
  const auto opened = open(delta);
  ASSERT_TRUE(good(opened));
  EXPECT_EQ(as_text(*(*opened)->record(0)), "new");
  EXPECT_EQ((*opened)->delta_bytes(), 0u);
  // And the next update replaces it.
  auto update = DatabaseUpdate::begin(folder / "db");
  ASSERT_TRUE(good(update));
  ASSERT_TRUE(good(update->set(0, to_bytes("NEW"))));
  ASSERT_TRUE(good(update->commit()));
  EXPECT_EQ(as_text(*(*Database::open(folder / "db"))->record(0)), "NEW");
}

TEST_F(Damaged, ABuildDropsTheChangesOfWhatItReplaces) {
  ASSERT_TRUE(good(build(folder / "db", {to_bytes("new")})));
  EXPECT_EQ(folder.files(), std::vector<std::string>{"db"});
  EXPECT_EQ(as_text(*(*Database::open(folder / "db"))->record(0)), "new");
}

TEST_F(Damaged, ADeltaIsAsPrivateAsItsDatabase) {
  ASSERT_EQ(::chmod((folder / "db").c_str(), 0600), 0);
  ASSERT_TRUE(good(commit("2")));
  struct stat status {};
  ASSERT_EQ(::stat((folder / "db.delta").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
}

TEST_F(Damaged, ALinkedDatabaseHasOneDelta) {
  std::filesystem::create_symlink("db", folder / "link");
  EXPECT_EQ(as_text(*(*Database::open(folder / "link"))->record(1)), "TWO");
  auto update = DatabaseUpdate::begin(folder / "link");
  ASSERT_TRUE(good(update));
  ASSERT_TRUE(good(update->set(1, to_bytes("2"))));
  ASSERT_TRUE(good(update->commit()));
  EXPECT_EQ(as_text(*(*Database::open(folder / "db"))->record(1)), "2");
  ASSERT_TRUE(good(compact_database(folder / "link")));
  EXPECT_EQ(folder.files(), (std::vector<std::string>{"db", "link"}));
  EXPECT_EQ(as_text(*(*Database::open(folder / "db"))->record(1)), "2");
}

}  // namespace
}  // namespace pirx::database
