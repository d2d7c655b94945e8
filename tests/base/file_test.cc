// SPDX-License-Identifier: Apache-2.0
// The file layer's own promises: errors, printable text, files that are replaced as a whole.
#include "src/base/file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <fstream>
#include <thread>

#include "pirx/base/small_file.h"
#include "support/files.h"

namespace {
bool modes_are_refused = false;
}

/// In place of libc's: as of a network file system that sets no modes, while a test wants that.
extern "C" int fchmod(int fd, mode_t mode) noexcept {
  if (!modes_are_refused) return static_cast<int>(::syscall(SYS_fchmod, fd, mode));
  errno = EPERM;
  return -1;
}

namespace pirx {
namespace {

using testing::expect_error;
using testing::good;
using testing::read_file;
using testing::TemporaryFolder;
using testing::to_bytes;
using testing::write_file;

TEST(File, ErrorsNameActionFileCauseAndRemedy) {
  const Error full = system_error("write", "/x/y", ENOSPC);
  EXPECT_EQ(full.code(), ErrorCode::kResourceExhausted);
  EXPECT_EQ(full.message().find("cannot write /x/y: No space left on device; free space"), 0u)
      << full.message();
  EXPECT_EQ(system_error("write", "/x", EFBIG).code(), ErrorCode::kResourceExhausted);
  EXPECT_EQ(system_error("open", "/x", EACCES).code(), ErrorCode::kUnavailable);
}

TEST(File, ForeignTextIsMadeHarmless) {
  EXPECT_EQ(printable("a\x1b[2J\n\x7f\xc3\xa9\xc2\x9b\xc2\xa0"), "a?[2J??\xc3\xa9??\xc2\xa0");
  EXPECT_EQ(printable(std::string(1000, 'x')), std::string(300, 'x') + "...");
}

TEST(File, ReadAtNamesAFileThatGotShorter) {
  const TemporaryFolder folder;
  write_file(folder / "f", to_bytes("12345"));
  const auto file = open_for_reading(folder / "f", true);
  ASSERT_TRUE(good(file));
  EXPECT_EQ(file->bytes(), 5u);
  Bytes bytes(6);
  expect_error(read_at(file->fd.get(), 0, bytes, folder / "f"), ErrorCode::kDataLoss, "shorter");
  EXPECT_EQ(*read_full(file->fd.get(), bytes, folder / "f"), 5u);
}

TEST(File, AMapGoesWithItsOwner) {
  const TemporaryFolder folder;
  write_file(folder / "f", to_bytes("12345"));
  const auto file = open_for_reading(folder / "f", true);
  ASSERT_TRUE(good(file));
  auto map = FileMap::create(file->bytes(), PROT_READ, MAP_PRIVATE, file->fd.get(), folder / "f");
  ASSERT_TRUE(good(map));
  const FileMap moved = std::move(*map);
  EXPECT_EQ(as_text(moved.bytes()), "12345");
  EXPECT_TRUE(map->bytes().empty());  // NOLINT(bugprone-use-after-move): that is the point
  expect_error(FileMap::create(0, PROT_READ, MAP_PRIVATE, file->fd.get(), folder / "f"),
               ErrorCode::kUnavailable, "cannot map");
}

TEST(File, AFileIsReplacedAsAWholeOrNotAtAll) {
  const TemporaryFolder folder;
  write_file(folder / "f", to_bytes("old"));
  {
    const auto abandoned = TemporaryFile::create(folder / "f");
    ASSERT_TRUE(good(abandoned));
    ASSERT_TRUE(good(write_at(abandoned->fd(), 0, to_bytes("half"), abandoned->path())));
    remove_leftovers(folder / "f");  // it is alive
    EXPECT_EQ(folder.files().size(), 2u);
  }
  EXPECT_EQ(folder.files(), std::vector<std::string>{"f"});
  EXPECT_EQ(read_file(folder / "f"), to_bytes("old"));

  auto file = TemporaryFile::create(folder / "f");
  ASSERT_TRUE(good(file));
  ASSERT_TRUE(good(file->reserve(3)));
  ASSERT_TRUE(good(write_at(file->fd(), 0, to_bytes("new"), file->path())));
  EXPECT_EQ(read_file(folder / "f"), to_bytes("old"));
  ASSERT_TRUE(good(file->commit(folder / "f")));
  EXPECT_EQ(folder.files(), std::vector<std::string>{"f"});
  EXPECT_EQ(read_file(folder / "f"), to_bytes("new"));

  write_file(folder / "f.tmp-1-2", to_bytes("of a dead process"));
  write_file(folder / "f.tmp-mine", to_bytes("of somebody else"));
  remove_leftovers(folder / "f");
  EXPECT_EQ(folder.files(), (std::vector<std::string>{"f", "f.tmp-mine"}));
}

TEST(SmallFile, IsReadWholeWithinItsLimit) {
  const TemporaryFolder folder;
  const auto path = folder / "file";
  for (const std::size_t size : {0u, 1u, 4095u, 4096u, 4097u, 20'000u}) {
    const std::string text(size, 'x');
    ASSERT_TRUE(good(replace_file(path, text)));
    for (const std::size_t limit : {size, size + 1, size + 100'000}) {
      const auto found = pirx::read_file(path, limit);
      ASSERT_TRUE(good(found)) << size << " " << limit;
      EXPECT_EQ(*found, text);
    }
    if (size > 0) expect_error(pirx::read_file(path, size - 1, "list"), ErrorCode::kDataLoss, "list");
  }
  expect_error(pirx::read_file(folder / "none", 9, "list"), ErrorCode::kUnavailable, "list: cannot open");
  expect_error(pirx::read_file("/", 9), ErrorCode::kUnavailable, "directory");
  expect_error(pirx::read_file("/dev/zero", 9), ErrorCode::kDataLoss, "9 bytes");
}

TEST(SmallFile, ThatIsWrittenToMeanwhileIsRefused) {
  const TemporaryFolder folder;
  const auto path = folder / "file";
  ASSERT_TRUE(good(replace_file(path, std::string(std::size_t{8} << 20, 'x'))));
  std::atomic<bool> done = false;
  std::thread writer([&] {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    while (!done) file.seekp(0).put('y').flush();
  });
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  auto found = pirx::read_file(path, std::size_t{1} << 30);  // unless the writer had no turn
  while (found && std::chrono::steady_clock::now() < end) found = pirx::read_file(path, std::size_t{1} << 30);
  done = true;
  writer.join();
  expect_error(found, ErrorCode::kDataLoss, "changed while it was read");
}

TEST(SmallFile, IsReplacedOrUnchanged) {
  const TemporaryFolder folder;
  const auto path = folder / "file";
  ASSERT_TRUE(good(replace_file(path, "one", 0600)));
  ASSERT_TRUE(good(replace_file(path, "two", 0600)));
  EXPECT_EQ(read_file(path), to_bytes("two"));
  EXPECT_EQ(std::filesystem::status(path).permissions() & std::filesystem::perms::all,
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  expect_error(replace_file(folder / "no/file", "three"), ErrorCode::kUnavailable, "cannot create");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1) << "something is left";
}

TEST(SmallFile, KeepsItsGroupAndWhatThatMayDo) {
  const TemporaryFolder folder;
  const auto path = folder / "file";
  ASSERT_TRUE(good(replace_file(path, "one", 0640)));
  // A group that this user may give: root any, others one of their own.
  gid_t group = 12345;
  if (::geteuid() != 0 && ::getgroups(1, &group) < 1) GTEST_SKIP() << "no other group";
  if (::chown(path.c_str(), static_cast<uid_t>(-1), group) != 0) GTEST_SKIP() << "no other group";
  ASSERT_TRUE(good(replace_file(path, "two")));
  struct stat now {};
  ASSERT_EQ(::stat(path.c_str(), &now), 0);
  EXPECT_EQ(now.st_gid, group);
  EXPECT_EQ(now.st_mode & 0777, 0640u);
}

TEST(SmallFile, WhoseModeIsRightIsReplacedWhereNoneCanBeSet) {
  const TemporaryFolder folder;
  const auto path = folder / "file";
  ASSERT_TRUE(good(replace_file(path, "one", 0600)));
  modes_are_refused = true;
  EXPECT_TRUE(good(replace_file(path, "two")));
  modes_are_refused = false;
  EXPECT_EQ(read_file(path), to_bytes("two"));
}

TEST(SmallFile, KeepsItsOwner) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root may give files away";
  const TemporaryFolder folder;
  const auto path = folder / "file";
  ASSERT_TRUE(good(replace_file(path, "one", 0600)));
  ASSERT_EQ(::chown(path.c_str(), 4321, 1234), 0);
  ASSERT_TRUE(good(replace_file(path, "two")));
  struct stat now {};
  ASSERT_EQ(::stat(path.c_str(), &now), 0);
  EXPECT_EQ(now.st_uid, 4321u);
  EXPECT_EQ(now.st_gid, 1234u);
  EXPECT_EQ(now.st_mode & 0777, 0600u);
}

TEST(File, BehindLinksIsTheFileAndNeverTheLinkInItsPlace) {
  const TemporaryFolder folder;
  write_file(folder / "file", to_bytes("x"));
  std::filesystem::create_symlink("file", folder / "one");
  std::filesystem::create_symlink(folder / "one", folder / "two");
  std::filesystem::create_symlink("nothing", folder / "nowhere");
  std::filesystem::create_symlink("round", folder / "round");
  for (const char* name : {"file", "one", "two"}) EXPECT_EQ(behind_links(folder / name), folder / "file");
  for (const char* name : {"nowhere", "absent"}) EXPECT_EQ(behind_links(folder / name), folder / name);
  EXPECT_EQ(behind_links(folder / "file" / "x"), folder / "file" / "x");
  expect_error(behind_links(folder / "round"), ErrorCode::kUnavailable, "round");
  expect_error(behind_links(folder / std::string(300, 'x')), ErrorCode::kUnavailable, "too long");
}

TEST(File, WhatCannotBeToldIsNotTakenForNothing) {
  const TemporaryFolder folder;
  write_file(folder / "file", to_bytes("x"));
  std::filesystem::create_symlink("nothing", folder / "nowhere");
  EXPECT_EQ(is_there(folder / "file"), true);
  EXPECT_EQ(is_there(folder / "nowhere"), true);
  EXPECT_EQ(is_there(folder / "absent"), false);
  EXPECT_EQ(is_there(folder / "file" / "x"), false);
  expect_error(is_there(folder / std::string(300, 'x')), ErrorCode::kUnavailable, "too long");
}

TEST(File, ALinkLocksTheFolderOfItsFile) {
  const TemporaryFolder links;
  const TemporaryFolder files;
  write_file(files / "file", to_bytes("x"));
  std::filesystem::create_symlink(files / "file", links / "link");
  const auto lock = lock_folder(links / "link");
  ASSERT_TRUE(good(lock));
  const auto is_free = [](const std::filesystem::path& folder) {
    const Fd fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    return ::flock(fd.get(), LOCK_EX | LOCK_NB) == 0;
  };
  EXPECT_TRUE(is_free(links.path()));
  EXPECT_FALSE(is_free(files.path()));
}

}  // namespace
}  // namespace pirx
