// SPDX-License-Identifier: Apache-2.0
// Updates and compactions killed with SIGKILL at every write: the old epoch is whole, or the new one.
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <map>
#include <optional>

#include "keyed_fixture.h"
#include "pirx/database/keyed_update.h"
#include "pirx/database/update.h"
#include "support/forks.h"

namespace pirx::database {
namespace {

constexpr int kRecordCount = 3000;

Result<void> update(const std::filesystem::path& target, const Progress& progress) {
  PIRX_ASSIGN(auto change, DatabaseUpdate::begin(target));
  for (int i = 0; i < kRecordCount; i += 100) {
    PIRX_TRY(change.set(static_cast<std::uint64_t>(i), to_bytes("new" + std::string(1000, 'n'))));
  }
  PIRX_TRY(change.append("appended", to_bytes("new")));
  PIRX_TRY(change.commit(progress));
  return {};
}

/// True when the child did all its work, false when it was killed in it.
template <class Work>
bool survived(const Work& work) {
  const int status = testing::status_of_child(work);
  EXPECT_TRUE(status == 0 || (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)) << status;
  return status == 0;
}

Progress killer(int& calls, int stop) {
  return [&calls, stop](std::uint64_t, std::uint64_t) {
    if (++calls == stop) ::kill(::getpid(), SIGKILL);
  };
}

TEST(UpdateCrash, KilledAtEveryWrite) {
  const TemporaryFolder folder;
  const auto target = folder / "db";
  std::vector<Bytes> records(kRecordCount, to_bytes("old" + std::string(1000, 'o')));
  std::vector<std::string> keys;
  for (int i = 0; i < kRecordCount; ++i) keys.push_back(std::to_string(i));
  ASSERT_TRUE(good(build(target, records, keys)));
  std::uint64_t epoch = 1;
  int killed = 0;
  const auto expect_whole = [&](std::uint64_t next) {
    const auto database = pirx::testing::open_verified(target);
    ASSERT_TRUE(good(database));
    const std::uint64_t now = (*database)->version().epoch;
    EXPECT_TRUE(now == epoch || now == next) << now;
    EXPECT_EQ((*database)->geometry().records(), kRecordCount + now - 1);
    EXPECT_EQ(as_text(*(*database)->record(200)).substr(0, 3), now == 1 ? "old" : "new");
    epoch = now;
    EXPECT_LE(folder.files().size(), 3u);  // the file, its delta, what one killed process left
  };
  for (int stop = 1;; ++stop) {
    ASSERT_LT(stop, 1000);
    int calls = 0;
    const bool done = survived([&] { return update(target, killer(calls, stop)).has_value(); });
    killed += !done;
    ASSERT_NO_FATAL_FAILURE(expect_whole(epoch + 1));
    if (done) break;
  }
  EXPECT_EQ(epoch, 2u);
  EXPECT_GT(killed, 5);
  for (int stop = 1;; ++stop) {
    ASSERT_LT(stop, 1000);
    int calls = 0;
    const bool done = survived([&] { return compact_database(target, killer(calls, stop)).has_value(); });
    killed += !done;
    ASSERT_NO_FATAL_FAILURE(expect_whole(epoch));
    // Killed at its last call, a compaction has done its work.
    if (done || (*Database::open(target))->delta_bytes() == 0) break;
  }
  EXPECT_GT(killed, 8);
  // What is left over goes with the next update.
  ASSERT_TRUE(good(update(target, {})));
  ASSERT_TRUE(good(compact_database(target)));
  EXPECT_EQ(folder.files(), std::vector<std::string>{"db"});
  ASSERT_NO_FATAL_FAILURE(expect_whole(epoch + 1));
}

/// What a child that wrote a new epoch says of it before it ends.
struct Acknowledged {
  pid_t child;
  int pipe;
};

template <class Work>
Acknowledged start(const Work& work) {
  int ends[2];
  EXPECT_EQ(::pipe(ends), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const Result<Version> version = work();
    const bool told = version && ::write(ends[1], &*version, sizeof *version) == sizeof *version;
    ::_exit(told ? 0 : 1);
  }
  ::close(ends[1]);
  return {child, ends[0]};
}

std::optional<Version> wait_for(const Acknowledged& started) {
  int status = 0;
  EXPECT_EQ(::waitpid(started.child, &status, 0), started.child);
  Version version;
  const bool told = ::read(started.pipe, &version, sizeof version) == sizeof version;
  ::close(started.pipe);
  return told ? std::optional(version) : std::nullopt;
}

// Builds, updates and compactions side by side, one of them killed at some moment: the file always opens, no
// two of them were told the same epoch, and the last epoch that somebody was told is the one that is there,
// unless a killed one made another after it.
TEST(UpdateCrash, WritersSideBySide) {
  const TemporaryFolder folder{TemporaryFolder::kMemory};
  const auto db = folder / "db";
  ASSERT_TRUE(good(build(db, {to_bytes("built"), to_bytes("other")})));
  auto engine = testing::seeded_engine(31);
  const auto rebuild = [&]() -> Result<Version> {
    PIRX_ASSIGN(const auto old, Database::open(db));
    const Version seen = old->version();
    PIRX_ASSIGN(const auto report, build(db, {to_bytes("built"), to_bytes("other")}, {},
                                         {.epoch = seen.epoch + 1, .replaces = seen}));
    return report.version;
  };
  const auto update = [&]() -> Result<Version> {
    PIRX_ASSIGN(auto change, DatabaseUpdate::begin(db));
    PIRX_TRY(change.set(1, to_bytes("new" + std::to_string(::getpid() % 10))));
    PIRX_ASSIGN(const auto report, change.commit());
    return report.after;
  };
  const auto compact = [&]() -> Result<Version> {
    PIRX_TRY(compact_database(db));
    return fail(ErrorCode::kInternal, "no new epoch");
  };
  Version last = (*Database::open(db))->version();
  int written = 0;
  for (int round = 0; round < 300; ++round) {
    SCOPED_TRACE(round);
    const std::vector<Acknowledged> children = {start(update), start(rebuild), start(update), start(compact)};
    const auto victim = engine() % 8;
    if (victim < children.size()) {
      ::usleep(static_cast<useconds_t>(engine() % 3000));
      ::kill(children[victim].child, SIGKILL);
    }
    std::map<std::uint64_t, Version> told;
    for (const auto& child : children) {
      const auto version = wait_for(child);
      if (!version) continue;
      ++written;
      EXPECT_GT(version->epoch, last.epoch);
      EXPECT_TRUE(told.emplace(version->epoch, *version).second) << "epoch " << version->epoch << " twice";
    }
    const auto database = pirx::testing::open_verified(db);
    ASSERT_TRUE(good(database));
    const Version now = (*database)->version();
    if (!told.empty()) last = told.rbegin()->second;
    EXPECT_TRUE(now == last || now.epoch == last.epoch + 1) << now.epoch << " after " << last.epoch;
    last = now;
  }
  EXPECT_GT(written, 100);
}

// A keyed database: one epoch or the other, whole. The parent starts no threads, which its children would
// miss.
TEST(UpdateCrash, KeyedKilledAtEveryStep) {
  constexpr std::uint64_t kKeys = 2000;
  const TemporaryFolder folder;
  const auto target = folder / "db";
  std::vector<std::string> keys;
  for (std::uint64_t i = 0; i < kKeys; ++i) keys.push_back(key_of(i));
  for (const bool added : {false, true}) {
    std::filesystem::remove(target);
    ASSERT_TRUE(survived([&] { return good(build_keyed(target, upto(kKeys))); }));
    const std::string key = added ? "new" : key_of(9);
    int killed = 0;
    for (int stop = 1, epoch = 1; epoch == 1; ++stop) {
      ASSERT_LT(stop, 200);
      const bool done = survived([&] {
        int calls = 0;
        return good(update_keyed(target, keys, {{key, to_bytes("x")}}, {.progress = killer(calls, stop)}));
      });
      killed += !done;
      const auto database = pirx::testing::open_verified(target);
      ASSERT_TRUE(good(database));
      epoch = static_cast<int>((*database)->version().epoch);
      ASSERT_TRUE(!done || epoch == 2);
      for (std::uint64_t i = 0; i < kKeys; i += 9) {
        const bool changed = epoch == 2 && key_of(i) == key;
        EXPECT_EQ(*(*database)->lookup(key_of(i)), to_bytes(changed ? "x" : value_of(i))) << i;
      }
      EXPECT_EQ((*database)->lookup("new")->has_value(), added && epoch == 2);
    }
    EXPECT_GT(killed, 0) << added;
  }
}

}  // namespace
}  // namespace pirx::database
