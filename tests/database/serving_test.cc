// SPDX-License-Identifier: Apache-2.0
// Files that rot or go away while they are served.
#include "pirx/database/serving.h"

#include <csignal>

#include "database_fixture.h"
#include "pirx/database/update.h"
#include "support/forks.h"

namespace pirx::database {
namespace {

std::vector<Bytes> records(std::size_t count) {
  return std::vector<Bytes>(count, Bytes(1 << 16, std::byte{'r'}));
}

std::uint64_t sum_of_rows(const Database& database) {
  const auto rows = database.rows();
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < rows.rows; ++i) {
    for (std::size_t b = 0; b < rows.cols; ++b) sum += std::to_integer<std::uint64_t>(rows.row(i)[b]);
  }
  return sum;
}

TEST(Serving, EveryBitBehindTheHeaderIsInAChunk) {
  const TemporaryFolder folder{TemporaryFolder::kMemory};
  const auto db = folder / "db";
  ASSERT_TRUE(good(build(db, records(40))));
  const Bytes original = read_file(db);
  const auto database = Database::open(db);
  ASSERT_TRUE(good(database));
  const std::uint64_t count = chunks(**database);
  ASSERT_EQ(count, 3u);
  for (std::uint64_t bad = 0; bad < count; ++bad) {
    Bytes file = original;
    file[4096 + bad * (1 << 20) + 77] ^= std::byte{4};
    write_file(folder / "bad", file);
    // Opening does not see it.
    const auto opened = Database::open(folder / "bad");
    ASSERT_TRUE(good(opened));
    for (std::uint64_t chunk = 0; chunk < count; ++chunk) {
      if (chunk == bad) {
        expect_error(check_chunk(**opened, chunk), ErrorCode::kDataLoss, "bad: the file is damaged between");
      } else {
        EXPECT_TRUE(good(check_chunk(**opened, chunk)));
      }
    }
  }
}

TEST(Serving, ATruncatedFileIsNoticedAndNobodyDies) {
  const TemporaryFolder folder;
  for (const char* name : {"db", "other"}) ASSERT_TRUE(good(build(folder / name, records(40))));
  ASSERT_TRUE(good(survive_lost_pages()));
  for (const bool updated : {false, true}) {
    if (updated) {
      ASSERT_TRUE(good(build(folder / "db", records(40))));
      auto update = DatabaseUpdate::begin(folder / "db");
      ASSERT_TRUE(good(update));
      ASSERT_TRUE(good(update->set(0, to_bytes("new"))));
      ASSERT_TRUE(good(update->commit()));
    }
    const auto a = Database::open(folder / "db"), b = Database::open(folder / "db");
    const auto other = Database::open(folder / "other");
    ASSERT_TRUE(good(a) && good(b) && good(other));
    const auto sum = sum_of_rows(**a);
    std::filesystem::resize_file(folder / "db", 100'000);
    EXPECT_FALSE(pages_lost(**a));
    EXPECT_LT(sum_of_rows(**a), sum);
    // Who has the same file open learns of it, too.
    EXPECT_TRUE(pages_lost(**a));
    EXPECT_TRUE(pages_lost(**b));
    EXPECT_LT(sum_of_rows(**b), sum);
    expect_error(check_chunk(**b, chunks(**b) - 1), ErrorCode::kDataLoss, "damaged");
    EXPECT_FALSE(pages_lost(**other));
    EXPECT_GT(sum_of_rows(**other), 0u);
  }
  // A file opened anew where a lost one lay is whole.
  const auto again = Database::open(folder / "other");
  ASSERT_TRUE(good(again));
  EXPECT_FALSE(pages_lost(**again));
}

TEST(Serving, OfManyFilesEachIsGuarded) {
  const TemporaryFolder folder;
  for (const char* name : {"db", "other"}) ASSERT_TRUE(good(build(folder / name, records(4))));
  ASSERT_TRUE(good(survive_lost_pages()));
  std::vector<std::shared_ptr<const Database>> others;
  for (int i = 0; i < 600; ++i) {
    const auto other = Database::open(folder / "other");
    ASSERT_TRUE(good(other));
    others.push_back(*other);
  }
  const auto last = Database::open(folder / "db");
  ASSERT_TRUE(good(last));
  std::filesystem::resize_file(folder / "db", 5000);
  EXPECT_LT(sum_of_rows(**last), sum_of_rows(*others.back()));
  EXPECT_TRUE(pages_lost(**last));
  EXPECT_FALSE(pages_lost(*others.back()));
}

TEST(Serving, AFileThatIsWrittenToIsNoticed) {
  const TemporaryFolder folder;
  for (const char* name : {"db", "other"}) ASSERT_TRUE(good(build(folder / name, records(40))));
  const auto database = Database::open(folder / "db");
  ASSERT_TRUE(good(database));
  EXPECT_FALSE(written_to(**database));
  // Another file in its place is none of its business.
  std::filesystem::rename(folder / "other", folder / "db");
  EXPECT_FALSE(written_to(**database));
  const auto next = Database::open(folder / "db");
  ASSERT_TRUE(good(next));
  pirx::testing::write_file(folder / "db", pirx::testing::read_file(folder / "db"));
  EXPECT_TRUE(written_to(**next));
  EXPECT_FALSE(written_to(**database));
}

TEST(Serving, AnotherContentIsNoticedThoughTheTimeOfTheFileIsTheSame) {
  const TemporaryFolder folder;
  const auto db = folder / "db", other = folder / "other";
  ASSERT_TRUE(good(build(db, records(4))));
  ASSERT_TRUE(good(build(other, records(4), {}, {.epoch = 2})));
  for (const bool updated : {false, true}) {
    if (updated) {
      ASSERT_TRUE(good(build(db, records(4))));
      auto update = DatabaseUpdate::begin(db);
      ASSERT_TRUE(good(update));
      ASSERT_TRUE(good(update->set(0, to_bytes("new"))));
      ASSERT_TRUE(good(update->commit()));
    }
    const auto database = Database::open(db);
    ASSERT_TRUE(good(database));
    // Neither a link nor other permissions are another content.
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    std::filesystem::permissions(db,
                                 std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
    EXPECT_FALSE(written_to(**database));
    std::filesystem::create_hard_link(db, folder / "backup");
    EXPECT_FALSE(written_to(**database));
    overwrite(db, other);
    EXPECT_TRUE(written_to(**database));
    std::filesystem::remove(folder / "backup");
    EXPECT_TRUE(written_to(**database));
    std::filesystem::remove(folder / "db.delta");
  }
}

TEST(Serving, OtherBusErrorsEndTheProcess) {
  const int status = testing::status_of_child(
      [] { return survive_lost_pages() && ::raise(SIGBUS) == 0 && ::raise(SIGBUS) == 0; });
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS);
}

}  // namespace
}  // namespace pirx::database
