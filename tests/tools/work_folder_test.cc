// SPDX-License-Identifier: Apache-2.0
// The folder of one run: whatever ends the process, nothing is left; unless it is kept.
#include "tools/pirx/work_folder.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "support/files.h"

namespace pirx::cli {
namespace {

using testing::expect_error;
namespace fs = std::filesystem;

/// Makes the names of temporary folders begin in a folder of the test.
class WorkFolderTest : public ::testing::Test {
 protected:
  WorkFolderTest() { ::setenv("TMPDIR", scratch_.path().c_str(), 1); }
  ~WorkFolderTest() override { ::unsetenv("TMPDIR"); }
  std::size_t left() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(scratch_.path()), {}));
  }
  /// What becomes of a child with a folder that gets this signal, which it ignores if `ignored`, and then
  /// SIGTERM.
  int end_of_child(int signal, bool ignored) {
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    const pid_t child = fork();
    if (child == 0) {
      std::signal(signal, ignored ? SIG_IGN : SIG_DFL);
      const auto folder = WorkFolder::create({});
      if (!folder) _exit(1);
      std::ofstream((*folder)->path() / "a file") << "of the run";
      if (write(ends[1], "x", 1) != 1) _exit(2);
      for (;;) pause();
    }
    char made = 0;
    EXPECT_EQ(read(ends[0], &made, 1), 1);
    EXPECT_EQ(left(), 1u);
    kill(child, signal);
    if (ignored) kill(child, SIGTERM);
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    close(ends[0]);
    close(ends[1]);
    return status;
  }

  testing::TemporaryFolder scratch_;
};

TEST_F(WorkFolderTest, GoesWithItsObject) {
  {
    const auto folder = WorkFolder::create({});
    ASSERT_TRUE(folder);
    struct stat now {};
    ASSERT_EQ(::stat((*folder)->path().c_str(), &now), 0);
    EXPECT_EQ(now.st_mode & 0777, 0700u);  // nobody else looks in
    fs::create_directories((*folder)->path() / "a" / "b");
    EXPECT_EQ(left(), 1u);
  }
  EXPECT_EQ(left(), 0u);
  sigset_t blocked;
  pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
  EXPECT_EQ(sigismember(&blocked, SIGTERM), 0);
}

TEST_F(WorkFolderTest, GoesWithASignal) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) {
    const int status = end_of_child(signal, false);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == signal) << signal;  // as without the folder
    EXPECT_EQ(left(), 0u) << signal;
  }
  const int status = end_of_child(SIGHUP, true);  // under nohup
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
  EXPECT_EQ(left(), 0u);
}

TEST_F(WorkFolderTest, EndsByTheSignalThoughTheObjectGoesMeanwhile) {
  const pid_t child = fork();
  if (child == 0) {
    auto folder = WorkFolder::create({});
    if (!folder) _exit(1);
    const auto path = (*folder)->path();
    for (int i = 0; i < 1000; ++i) std::ofstream(path / std::to_string(i)) << i;  // removed in milliseconds
    const auto all = fs::last_write_time(path);
    kill(getpid(), SIGINT);
    std::error_code error;
    while (fs::last_write_time(path, error) == all && !error) continue;
    folder->reset();  // as after an error, which a build has whose files go
    _exit(2);
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGINT) << status;
  EXPECT_EQ(left(), 0u);
}

TEST_F(WorkFolderTest, IsKeptUnderItsName) {
  const auto kept = scratch_.path() / "kept";
  {
    const auto folder = WorkFolder::create(kept / "");
    ASSERT_TRUE(folder);
    EXPECT_EQ((*folder)->path().parent_path(), scratch_.path());
    EXPECT_FALSE(fs::exists(kept));
    std::ofstream((*folder)->path() / "database") << "made";
    ASSERT_TRUE((*folder)->keep());
    EXPECT_EQ((*folder)->path(), kept);
  }
  EXPECT_TRUE(fs::exists(kept / "database"));
  EXPECT_EQ(left(), 1u);
  const auto again = WorkFolder::create(kept);
  expect_error(again, ErrorCode::kInvalidArgument, "exists already");
  EXPECT_EQ(left(), 1u);
}

TEST_F(WorkFolderTest, SaysWhatItCannotDo) {
  const auto nowhere = WorkFolder::create(scratch_.path() / "none" / "kept");
  expect_error(nowhere, ErrorCode::kUnavailable);
  // A file takes the name while the work goes on.
  const auto kept = scratch_.path() / "kept";
  {
    const auto folder = WorkFolder::create(kept);
    ASSERT_TRUE(folder);
    std::ofstream(kept) << "another's";
    const auto refused = (*folder)->keep();
    expect_error(refused, ErrorCode::kUnavailable);
  }
  EXPECT_EQ(left(), 1u);  // and is left alone
}

}  // namespace
}  // namespace pirx::cli
