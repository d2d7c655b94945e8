// SPDX-License-Identifier: Apache-2.0
// Builds killed with SIGKILL, at random moments and at every progress call: the old file stays whole, and the
// next build removes what they left.
#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <thread>

#include "database_fixture.h"

namespace pirx::database {
namespace {

constexpr int kRecords = 6000;

Bytes record_of(int i, std::uint64_t epoch) {
  return to_bytes(std::string(1000, static_cast<char>('a' + i % 26)) + std::to_string(epoch));
}

Result<BuildReport> build_epoch(const std::filesystem::path& target, std::uint64_t epoch,
                                Progress progress = {}) {
  BuildOptions options;
  options.epoch = epoch;
  options.sort_memory_bytes = 0;
  options.progress = std::move(progress);
  PIRX_ASSIGN(auto builder, DatabaseBuilder::create(target, options));
  for (int i = 0; i < kRecords; ++i) PIRX_TRY(builder.add(std::to_string(i), record_of(i, epoch)));
  return builder.finish();
}

/// Runs a build in a child. `progress` is the child's.
pid_t start_build(const std::filesystem::path& target, std::uint64_t epoch, const Progress& progress = {}) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(build_epoch(target, epoch, progress) ? 0 : 1);
  return child;
}

/// True when the child finished its build, false when it was killed before.
bool finished(pid_t child) {
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(status == 0 || (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)) << status;
  return status == 0;
}

/// Whether there is a temporary file of that process's build.
bool left_temporary(const TemporaryFolder& folder, pid_t builder) {
  const auto files = folder.files();
  const std::string name = "db.tmp-" + std::to_string(builder) + "-";
  return std::any_of(files.begin(), files.end(), [&](const auto& file) { return file.starts_with(name); });
}

/// The target is a whole database of one of two epochs. Zero epochs: there may be no file.
void expect_whole(const std::filesystem::path& target, std::uint64_t old_epoch, std::uint64_t new_epoch) {
  if (old_epoch == 0 && !std::filesystem::exists(target)) return;
  const auto database = pirx::testing::open_verified(target);
  ASSERT_TRUE(good(database));
  const std::uint64_t epoch = (*database)->version().epoch;
  EXPECT_TRUE(epoch == old_epoch || epoch == new_epoch) << epoch;
  for (const int i : {0, kRecords / 2, kRecords - 1}) {
    EXPECT_TRUE(std::ranges::equal(*(*database)->record(i), record_of(i, epoch)));
  }
}

TEST(BuilderCrash, KilledAtTwentyRandomMoments) {
  const TemporaryFolder folder;
  const auto target = folder / "db";
  auto engine = testing::seeded_engine(8);
  const auto begin = std::chrono::steady_clock::now();
  ASSERT_TRUE(finished(start_build(folder / "timing", 1)));
  auto whole = std::chrono::steady_clock::now() - begin;
  std::filesystem::remove(folder / "timing");

  // A kill counts when it came in the middle: the child's own temporary file is there. The time of a build
  // follows the machine, which may be busier now than it was then.
  std::uint64_t epoch = 0;
  int killed = 0;
  for (int attempt = 0; killed < 20; ++attempt) {
    ASSERT_LT(attempt, 400) << "only " << killed << " of the builds were killed in the middle";
    const pid_t child = start_build(target, epoch + 1);
    std::this_thread::sleep_for(whole * (engine() % 1000) / 1000);
    ::kill(child, SIGKILL);
    if (finished(child)) {
      whole = whole * 3 / 4;
    } else if (left_temporary(folder, child)) {
      ++killed;
    } else {
      whole = whole * 5 / 4;
    }
    expect_whole(target, epoch, epoch + 1);
    if (std::filesystem::exists(target)) epoch = (*Database::open(target))->version().epoch;
    if (killed == 5 && epoch == 0) {
      ASSERT_TRUE(finished(start_build(target, ++epoch)));
    }
  }
  ASSERT_TRUE(finished(start_build(target, 100)));
  EXPECT_EQ(folder.files(), std::vector<std::string>{"db"});
  expect_whole(target, 100, 100);
}

TEST(BuilderCrash, KilledAtEveryProgressCall) {
  const TemporaryFolder folder;
  const auto target = folder / "db";
  ASSERT_TRUE(finished(start_build(target, 1)));
  int leftovers = 0;
  for (int stop = 1;; ++stop) {
    ASSERT_LT(stop, 1000);
    int calls = 0;
    const pid_t child = start_build(target, 2, [&](std::uint64_t, std::uint64_t) {
      if (++calls == stop) ::kill(::getpid(), SIGKILL);
    });
    const bool done = finished(child);
    leftovers += folder.files().size() > 1;
    expect_whole(target, 1, 2);
    // Never more than what the last one left.
    EXPECT_LE(folder.files().size(), 2u);
    if (done) break;
  }
  EXPECT_GT(leftovers, 5);
  EXPECT_EQ(folder.files(), std::vector<std::string>{"db"});
}

}  // namespace
}  // namespace pirx::database
