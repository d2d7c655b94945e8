// SPDX-License-Identifier: Apache-2.0
// Deltas that are damaged, foreign or forged are refused.
#include "src/database/delta.h"

#include <unistd.h>

#include <algorithm>

#include "database_fixture.h"
#include "pirx/database/serving.h"
#include "pirx/database/update.h"

namespace pirx::database {
namespace {

/// A database with a delta, and the files of both.
class DeltaFile : public ::testing::Test {
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
    return pirx::testing::open_verified(folder / "db");
  }
  const TemporaryFolder folder{TemporaryFolder::kMemory};
  Bytes delta;
};

TEST_F(DeltaFile, EveryByteAndEveryLengthIsCovered) {
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

TEST_F(DeltaFile, ForgedFieldsAreRefused) {
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
  const auto first = load_le<std::uint64_t>(&delta[8192]), length = load_le<std::uint64_t>(&delta[8200]);
  expect_refused(8200, 1, "behind its changes");
  expect_refused(8200, length - 1, "behind its changes");
  ASSERT_GT(load_le<std::uint64_t>(&delta[48]), 1u) << "there is a second run of changes";
  expect_refused(8208, first + length - 1, "overlap");
  // The header of a database of other rows.
  const TemporaryFolder other(TemporaryFolder::kMemory);
  ASSERT_TRUE(good(build(other / "db", {to_bytes("one"), to_bytes("two"), to_bytes("three")}, {"a", "b", "c"},
                         {.digests = false})));
  auto update = DatabaseUpdate::begin(other / "db");
  ASSERT_TRUE(good(update));
  ASSERT_TRUE(good(update->set(1, as_bytes("TWO"))));
  ASSERT_TRUE(good(update->commit()));
  Bytes forged = delta;
  const Bytes others = read_file(other / "db.delta");
  std::copy_n(others.begin() + 4096, 4096, forged.begin() + 4096);
  reseal(forged);
  expect_error(open(forged), ErrorCode::kDataLoss, "more than records");
  // Another byte in a changed row: whole as a file, and found by a full check.
  Bytes file = delta;
  file[8192 + 2 * 16 + 5] ^= std::byte{1};
  reseal(file);
  expect_error(open(file), ErrorCode::kDataLoss, "damaged");
}

TEST_F(DeltaFile, WhatLiesBehindItsBaseIsAllInIt) {
  // So that no small file makes a large database.
  auto update = DatabaseUpdate::begin(folder / "db");
  ASSERT_TRUE(good(update));
  for (int i = 0; i < 5000; ++i) ASSERT_TRUE(good(update->append("m" + std::to_string(i), as_bytes("more"))));
  ASSERT_TRUE(good(update->commit()));
  Bytes file = read_file(folder / "db.delta");
  const auto whole = open(file);
  ASSERT_TRUE(good(whole));
  // The last run of changes ends a byte earlier.
  const auto count = load_le<std::uint64_t>(&file[48]);
  std::byte* const last = &file[8192 + 16 * (count - 1)];
  ASSERT_GT(load_le<std::uint64_t>(last) + load_le<std::uint64_t>(last + 8), read_file(folder / "db").size());
  store_le(last + 8, load_le<std::uint64_t>(last + 8) - 1);
  file.erase(file.end() - 33);
  store_le(&file[56], std::uint64_t{file.size()});
  reseal(file);
  expect_error(open(file), ErrorCode::kDataLoss, "leaves bytes out");
}

TEST_F(DeltaFile, OneThatIsTruncatedWhileItIsReadIsNoDelta) {
  ASSERT_TRUE(good(survive_lost_pages()));
  auto opened = Delta::open(folder / "db.delta");
  ASSERT_TRUE(good(opened));
  ASSERT_TRUE(*opened);
  Bytes target((*opened)->header().layout.file_bytes());
  (*opened)->apply(target);
  EXPECT_FALSE((*opened)->lost());
  std::filesystem::resize_file(folder / "db.delta", 4096);
  (*opened)->apply(target);
  EXPECT_TRUE((*opened)->lost());
}

TEST_F(DeltaFile, AForeignDeltaIsRefusedAndAnOldOneIgnored) {
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

TEST_F(DeltaFile, ABuildDropsTheChangesOfWhatItReplaces) {
  ASSERT_TRUE(good(build(folder / "db", {to_bytes("new")})));
  EXPECT_EQ(folder.files(), std::vector<std::string>{"db"});
  EXPECT_EQ(as_text(*(*Database::open(folder / "db"))->record(0)), "new");
}

TEST_F(DeltaFile, ADeltaIsAsPrivateAsItsDatabase) {
  ASSERT_EQ(::chmod((folder / "db").c_str(), 0600), 0);
  ASSERT_TRUE(good(commit("2")));
  struct stat status {};
  ASSERT_EQ(::stat((folder / "db.delta").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
}

TEST_F(DeltaFile, ADeltaAndACompactedFileAreTheirGroups) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root may give files to any group";
  ASSERT_EQ(::chown((folder / "db").c_str(), 4321, 1234), 0);
  ASSERT_EQ(::chmod((folder / "db").c_str(), 0640), 0);
  ASSERT_TRUE(good(commit("2")));
  for (const char* file : {"db.delta", "db"}) {
    struct stat status {};
    ASSERT_EQ(::stat((folder / file).c_str(), &status), 0);
    EXPECT_EQ(status.st_uid, 4321u);
    EXPECT_EQ(status.st_gid, 1234u);
    EXPECT_EQ(status.st_mode & 0777, 0640u);
    ASSERT_TRUE(good(compact_database(folder / "db")));
  }
}

TEST_F(DeltaFile, ALinkedDatabaseHasOneDelta) {
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

/// With so long a name the system gives an error where the delta is looked for.
TEST_F(DeltaFile, OneThatCannotBeReadIsNotTakenForNone) {
  const auto file = folder / "db.delta";
  std::filesystem::remove(file);
  std::filesystem::create_directory(file);
  EXPECT_FALSE(Database::open(folder / "db"));
}

TEST_F(DeltaFile, AnErrorIsNotTakenForNoDelta) {
  const auto path = folder / std::string(252, 'x');
  std::filesystem::rename(folder / "db", path);
  expect_error(Database::open(path), ErrorCode::kUnavailable, "too long");
  expect_error(DatabaseUpdate::begin(path), ErrorCode::kUnavailable, "too long");
}

}  // namespace
}  // namespace pirx::database
