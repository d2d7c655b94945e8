// SPDX-License-Identifier: Apache-2.0
// What may be replaced, by whom, and what the file that is replaced leaves behind.
#include "src/database/replacement.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>

#include "database_fixture.h"
#include "pirx/database/update.h"

namespace pirx::database {
namespace {

TEST(Replacement, BadTargetsAreRefused) {
  const TemporaryFolder folder;
  expect_error(DatabaseBuilder::create(folder.path(), {}), ErrorCode::kInvalidArgument, "is a folder");
  expect_error(DatabaseBuilder::create(folder / "", {}), ErrorCode::kInvalidArgument, "file name");
  expect_error(DatabaseBuilder::create("", {}), ErrorCode::kInvalidArgument, "file name");
  expect_error(DatabaseBuilder::create("/dev/null", {}), ErrorCode::kInvalidArgument, "regular file");
  expect_error(DatabaseBuilder::create(folder / "absent" / "db", {}), ErrorCode::kUnavailable, "absent");
  write_file(folder / "file", to_bytes("x"));
  expect_error(DatabaseBuilder::create(folder / "file" / "db", {}), ErrorCode::kUnavailable, "directory");
  expect_error(DatabaseBuilder::create(folder / "db", {.fixed_record_bytes = 10, .max_record_bytes = 9}),
               ErrorCode::kInvalidArgument, "limit of 9");
  if (::geteuid() != 0) {
    ASSERT_EQ(::chmod(folder.path().c_str(), 0500), 0);
    expect_error(DatabaseBuilder::create(folder / "db", {}), ErrorCode::kUnavailable, "denied");
    ASSERT_EQ(::chmod(folder.path().c_str(), 0700), 0);
  }
  EXPECT_EQ(folder.files(), std::vector<std::string>{"file"});
}

TEST(Replacement, LeftoversOfTheDeadAreRemovedAndOnlyThose) {
  const TemporaryFolder folder;
  auto alive = DatabaseBuilder::create(folder / "db", {});
  ASSERT_TRUE(good(alive));
  ASSERT_TRUE(good(alive->add(to_bytes("alive"))));
  for (const char* name : {"db.tmp-1-0", "db.spool-77-3", "db.tmp-1-0x", "db.tmp-1", "db.tmp--1",
                           "other.tmp-1-0", "db2.tmp-1-0"}) {
    write_file(folder / name, to_bytes("x"));
  }
  std::filesystem::create_symlink(folder / "other.tmp-1-0", folder / "db.tmp-2-0");
  std::filesystem::create_directory(folder / "db.tmp-3-0");
  ASSERT_TRUE(good(build(folder / "db", {to_bytes("second")})));
  auto files = folder.files();
  EXPECT_EQ(std::erase_if(files,
                          [](const std::string& name) {
                            return name.starts_with("db.tmp-" + std::to_string(::getpid()));
                          }),
            1u);
  EXPECT_EQ(files, (std::vector<std::string>{"db", "db.tmp--1", "db.tmp-1", "db.tmp-1-0x", "db.tmp-2-0",
                                             "db.tmp-3-0", "db2.tmp-1-0", "other.tmp-1-0"}));
  // It began when there was no file: the second build's stays.
  expect_error(alive->finish(), ErrorCode::kUnavailable, "meanwhile");
  EXPECT_EQ(as_text(*(*Database::open(folder / "db"))->record(0)), "second");
}

TEST(Replacement, KeepsThePermissionsOfTheOldFile) {
  const TemporaryFolder folder;
  ASSERT_TRUE(good(build(folder / "db", {to_bytes("x")})));
  ASSERT_EQ(::chmod((folder / "db").c_str(), 0640), 0);
  ASSERT_TRUE(good(build(folder / "db", {to_bytes("y")})));
  struct stat status {};
  ASSERT_EQ(::stat((folder / "db").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0640u);
}

/// Of a file with an access control list, the group's bits are what anybody whom it names may do at most:
/// here user 4321 may read, and the group may not.
TEST(Replacement, KeepsTheAccessControlListOfTheOldFile) {
  static constexpr char kName[] = "system.posix_acl_access";
  static constexpr char kList[] =
      "\2\0\0\0"                     // its version
      "\1\0\6\0\xff\xff\xff\xff"     // the owner: reads and writes
      "\2\0\4\0\xe1\x10\0\0"         // user 4321: reads
      "\4\0\0\0\xff\xff\xff\xff"     // the group
      "\x10\0\4\0\xff\xff\xff\xff"   // the most
      "\x20\0\0\0\xff\xff\xff\xff";  // others
  const std::string list(kList, sizeof kList - 1);
  const TemporaryFolder folder;
  ASSERT_TRUE(good(build(folder / "db", {to_bytes("x")})));
  if (::setxattr((folder / "db").c_str(), kName, list.data(), list.size(), 0) != 0) {
    GTEST_SKIP() << "there are no access control lists here";
  }
  ASSERT_TRUE(good(build(folder / "db", {to_bytes("y")})));
  char now[256];
  const auto size = ::getxattr((folder / "db").c_str(), kName, now, sizeof now);
  EXPECT_EQ(std::string(now, static_cast<std::size_t>(std::max<ssize_t>(size, 0))), list);
}

TEST(Replacement, OnlyADeltaIsRemovedOrLiesWhereOneWould) {
  const TemporaryFolder folder;
  const auto db = folder / "db", delta = folder / "db.delta";
  ASSERT_TRUE(good(build(db, {to_bytes("one")})));
  expect_error(DatabaseBuilder::create(delta, {}), ErrorCode::kInvalidArgument,
               "db.delta: changes of the database " + db.native() + " have that name");
  EXPECT_EQ(folder.files(), std::vector<std::string>{"db"});
  for (const std::string_view foreign : {"precious", ""}) {
    write_file(delta, as_bytes(foreign));
    expect_error(DatabaseBuilder::create(db, {.epoch = 2}), ErrorCode::kInvalidArgument,
                 "db.delta is no pirx delta, but lies where that of");
    EXPECT_EQ(as_text(read_file(delta)), foreign);
  }
  // What only looks like the name of a delta.
  write_file(folder / "text", to_bytes("text"));
  std::filesystem::create_directory(folder / "inner");
  EXPECT_TRUE(good(build(folder / "text.delta", {to_bytes("x")})));
  EXPECT_TRUE(good(build(folder / "inner.delta", {to_bytes("x")})));
  // A damaged delta goes with its file.
  write_file(delta, to_bytes("PIRXDD\r\n and no more"));
  EXPECT_TRUE(good(build(db, {to_bytes("two")}, {}, {.epoch = 2})));
  EXPECT_FALSE(std::filesystem::exists(delta));
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
  expect_error(DatabaseBuilder::create(db, {}), ErrorCode::kInvalidArgument,
               "db.delta has changes of a database");
  std::filesystem::remove(folder / "db.delta");
  auto builder = DatabaseBuilder::create(db, {});
  ASSERT_TRUE(good(builder));
  ASSERT_TRUE(good(builder->add(to_bytes("late"))));
  ASSERT_TRUE(good(build(db, {to_bytes("early")})));
  expect_error(builder->finish(), ErrorCode::kUnavailable, "meanwhile");
  EXPECT_EQ(as_text(*(*Database::open(db))->record(0)), "early");
}

/// Has something done to a database or its delta during a build and during an update. `other` is a file of
/// another content and the same size.
void expect_meanwhile(bool refused, void (*act)(const char* file, const char* other)) {
  for (const bool building : {true, false}) {
    for (const char* suffix : {"", ".delta"}) {
      SCOPED_TRACE(std::string(building ? "build" : "update") + suffix);
      const TemporaryFolder folder;
      const auto begin_update = [](const std::filesystem::path& path, std::string_view text) {
        auto update = DatabaseUpdate::begin(path);
        EXPECT_TRUE(good(update) && good(update->set(0, as_bytes(text))));
        return update;
      };
      for (const auto& [name, text] : {std::pair("db", "one"), std::pair("other", "two")}) {
        ASSERT_TRUE(good(build(folder / name, {to_bytes(text)})));
        ASSERT_TRUE(good(begin_update(folder / name, text)->commit()));
      }
      std::optional<Result<DatabaseBuilder>> builder;
      std::optional<Result<DatabaseUpdate>> change;
      if (building) {
        builder = DatabaseBuilder::create(folder / "db", {.epoch = 5});
        ASSERT_TRUE(good(*builder) && good((*builder)->add(to_bytes("new"))));
      } else {
        change = begin_update(folder / "db", "new");
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(30));  // file systems count time in ticks
      act((folder / ("db" + std::string(suffix))).c_str(),
          (folder / ("other" + std::string(suffix))).c_str());
      std::optional<Error> error;
      if (building) {
        if (const auto done = (*builder)->finish(); !done) error = done.error();
      } else {
        if (const auto done = (*change)->commit(); !done) error = done.error();
      }
      EXPECT_EQ(error && error->code() == ErrorCode::kUnavailable &&
                    error->message().find("meanwhile") != std::string::npos,
                refused)
          << (error ? error->to_string() : "no error");
      EXPECT_TRUE(refused || as_text(*(*Database::open(folder / "db"))->record(0)) == "new");
    }
  }
}

TEST(UpdateLock, WhatLeavesAFileAsItWasIsNoChange) {
  expect_meanwhile(false, [](const char* file, const char*) {  // for a backup
    EXPECT_EQ(::link(file, (std::string(file) + ".backup").c_str()), 0);
  });
  expect_meanwhile(false, [](const char* file, const char*) {
    const auto backup = std::string(file) + ".backup";
    EXPECT_EQ(::link(file, backup.c_str()) | ::unlink(backup.c_str()), 0);
  });
  expect_meanwhile(false, [](const char* file, const char*) {
    struct stat now {};
    EXPECT_EQ(::stat(file, &now) | ::chmod(file, now.st_mode) | ::chown(file, now.st_uid, now.st_gid), 0);
  });
  expect_meanwhile(false, [](const char* file, const char*) {
    const timespec times[] = {{0, UTIME_NOW}, {0, UTIME_OMIT}};
    EXPECT_EQ(::utimensat(AT_FDCWD, file, times, 0), 0);
  });
}

TEST(UpdateLock, OtherPermissionsAndAnotherContentAreAChangeThoughTimeAndSizeAreTheSame) {
  expect_meanwhile(true, [](const char* file, const char*) { EXPECT_EQ(::chmod(file, 0640), 0); });
  expect_meanwhile(true, [](const char* file, const char* other) { overwrite(file, other); });
  expect_meanwhile(true, [](const char* file, const char* other) {
    EXPECT_EQ(::link(file, (std::string(file) + ".backup").c_str()), 0);
    overwrite(file, other);
  });
}

TEST(Replacement, ADeltaThatAppearsWhileItsFileIsBuiltStays) {
  const TemporaryFolder folder;
  const auto db = folder / "db", delta = folder / "db.delta";
  const auto begun = [&] {
    auto builder = DatabaseBuilder::create(db, {.epoch = 2});
    EXPECT_TRUE(good(builder) && good(builder->add(to_bytes("new"))));
    return builder;
  };
  auto first = begun();
  write_file(delta, to_bytes("precious"));
  expect_error(first->finish(), ErrorCode::kInvalidArgument, "has changes of a database that is not there");
  EXPECT_FALSE(std::filesystem::exists(db));
  std::filesystem::remove(delta);
  ASSERT_TRUE(good(build(db, {to_bytes("old")})));
  auto next = begun();
  write_file(delta, to_bytes("precious"));
  EXPECT_FALSE(next->finish());
  EXPECT_EQ(as_text(read_file(delta)), "precious");
  std::filesystem::remove(delta);
  EXPECT_EQ(as_text(*(*Database::open(db))->record(0)), "old");
}

}  // namespace
}  // namespace pirx::database
