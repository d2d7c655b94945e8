// SPDX-License-Identifier: Apache-2.0
// What takes the place of an epoch, and a file that is written to while the reloader checks it.
#include "tools/pirx/reloader.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <array>

#include "database/database_fixture.h"

namespace pirx::cli {
namespace {

using database::BuildOptions;
using testing::expect_error;
using testing::good;

/// The events of a log, which a test waits for.
class Events {
 public:
  void add(const http::LogEvent& event) {
    const std::lock_guard lock(mutex_);
    events_.push_back(event);
    changed_.notify_all();
  }
  http::LogEvent next() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return taken_ < events_.size(); });
    return events_[taken_++];
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<http::LogEvent> events_;
  std::size_t taken_ = 0;
};

TEST(Reloader, WhatIsWrittenToWhileItIsCheckedIsNotServed) {
  const testing::TemporaryFolder folder;
  const auto file = folder / "db";
  ASSERT_TRUE(good(database::build(file, {testing::to_bytes("record")})));
  const auto write = [&file, start = std::filesystem::last_write_time(file)](int seconds) {
    std::filesystem::last_write_time(file, start + std::chrono::seconds(seconds));
  };
  const DatabaseSettings settings{.name = {}, .file = file, .protocol = "download"};
  OpenContext context;
  context.spec.loopback = true;
  // Called once the reloader has opened the file, and before it checks it.
  context.damaged = [&write](const Error&) { write(2); };
  auto served = open_served(settings, context);
  ASSERT_TRUE(good(served));
  std::shared_ptr<const AnyServer> answers = served->server;
  const auto replace = [&answers](std::shared_ptr<const AnyServer> next, const Bytes&) {
    return Result<std::shared_ptr<const AnyServer>>(std::exchange(answers, std::move(next)));
  };
  const auto damaged = served->server;
  Events events;
  Reloader reloader(
      settings, context, std::move(*served), replace, [](const Bytes&) { return Result<void>(); },
      std::chrono::microseconds(0), [&events](const http::LogEvent& event) { events.add(event); });
  write(1);
  reloader.request();
  ASSERT_EQ(events.next().event, "epoch_refused");
  EXPECT_EQ(answers, damaged);
  EXPECT_FALSE(damaged->still_sound());
  reloader.request();
  EXPECT_EQ(events.next().event, "epoch");
  EXPECT_NE(answers, damaged);
}

TEST(Reloader, WhatIsOverwrittenIsSeenThoughTheTimeOfTheFileIsTheSame) {
  const testing::TemporaryFolder folder;
  const auto file = folder / "db", next = folder / "next";
  ASSERT_TRUE(good(database::build(file, {testing::to_bytes("record")})));
  ASSERT_TRUE(good(database::build(next, {testing::to_bytes("RECORD")}, {}, {.epoch = 2})));
  const DatabaseSettings settings{.name = {}, .file = file, .protocol = "download"};
  OpenContext context;
  context.spec.loopback = true;
  auto served = open_served(settings, context);
  ASSERT_TRUE(good(served));
  const auto server = served->server;
  std::shared_ptr<const AnyServer> answers = server;
  const auto replace = [&answers](std::shared_ptr<const AnyServer> other, const Bytes&) {
    return Result<std::shared_ptr<const AnyServer>>(std::exchange(answers, std::move(other)));
  };
  Events events;
  Reloader reloader(
      settings, context, std::move(*served), replace, [](const Bytes&) { return Result<void>(); },
      std::chrono::milliseconds(1), [&events](const http::LogEvent& event) { events.add(event); });
  // Other permissions are looked at, and nothing comes of it.
  std::filesystem::permissions(file, std::filesystem::perms::owner_all);
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  reloader.request();
  EXPECT_EQ(events.next().event, "epoch_unchanged");
  EXPECT_TRUE(server->still_sound());
  database::overwrite(file, next);
  auto event = events.next();
  while (event.event == "epoch_refused") event = events.next();  // half of it was there
  EXPECT_EQ(event.event, "epoch");
  EXPECT_FALSE(server->still_sound());
}

TEST(Reloader, WhatIsWrittenTwiceInASecondIsSeenThoughTheFileSystemKnowsNoPartsOfSeconds) {
  const testing::TemporaryFolder folder;
  const std::array files{(folder / "db").native()};
  testing::write_file(files[0], testing::to_bytes("record"));
  struct stat status {};
  ASSERT_EQ(::stat(files[0].c_str(), &status), 0);
  const auto at = [&](std::int64_t seconds) { return stamp_of(files, status.st_ctim.tv_sec + seconds); };
  EXPECT_EQ(at(0), at(1));
  EXPECT_NE(at(1), at(2));  // then what has become of it is seen
  EXPECT_EQ(at(2), at(1000));
}

TEST(Reloader, OnlyALaterEpochOfTheSameKindFollows) {
  const testing::TemporaryFolder folder;
  const auto make = [&folder](const char* name, std::uint64_t epoch, bool keyed) {
    const BuildOptions options{.epoch = epoch, .keyed = keyed};
    EXPECT_TRUE(good(database::build(folder / name, {testing::to_bytes(name)}, {"key"}, options)));
    return *database::Database::open(folder / name);
  };
  const auto now = make("now", 5, false), keyed = make("keyed", 6, true);
  EXPECT_TRUE(good(check_next(*now, *make("next", 6, false))));
  expect_error(check_next(*now, *make("another", 5, false)), ErrorCode::kInvalidArgument,
               "epoch 5 does not follow epoch 5");
  expect_error(check_next(*now, *keyed), ErrorCode::kInvalidArgument, "other records");
  expect_error(check_next(*keyed, *make("not keyed", 7, false)), ErrorCode::kInvalidArgument,
               "other records");
}

}  // namespace
}  // namespace pirx::cli
