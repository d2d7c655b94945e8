// SPDX-License-Identifier: Apache-2.0
// A thread that reads, and a look after every pass.
#include "sound_server.h"

#include <sys/resource.h>

#include <atomic>
#include <chrono>
#include <new>
#include <random>

#include "pirx/database/serving.h"

namespace pirx::cli {

SoundServer::SoundServer(std::shared_ptr<const database::Database> database,
                         std::unique_ptr<const AnyServer> server, std::function<void(const Error&)> damaged)
    : ForwardingServer(std::move(server)),
      database_(std::move(database)),
      damaged_(std::move(damaged)),
      thread_([this] { run(); }) {}

SoundServer::~SoundServer() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void SoundServer::verify() {
  const std::lock_guard lock(mutex_);
  requested_ = true;
  changed_.notify_all();
}

std::optional<bool> SoundServer::sound() const noexcept {
  const State state = state_;
  return state == State::kUnknown ? std::nullopt : std::optional(state == State::kSound);
}

std::vector<Result<Bytes>> SoundServer::answer_from(std::span<const ByteSpan> requests,
                                                    std::span<const std::string_view> senders) const {
  std::vector<Result<Bytes>> replies;
  if (state_ != State::kDamaged) replies = ForwardingServer::answer_from(requests, senders);
  // Whatever the pass computed before it was known.
  if (!still_sound()) {
    replies.clear();
    while (replies.size() < requests.size()) {  // no copies of one, which must not throw
      replies.emplace_back(
          fail(ErrorCode::kUnavailable, "this server's database is damaged: use another server"));
    }
  }
  return replies;
}

bool SoundServer::still_sound() const {
  if (database::pages_lost(*database_)) {
    found_damaged(
        Error(ErrorCode::kDataLoss, "the file was truncated, or its disk failed, while it was served"));
  } else if (database::written_to(*database_)) {
    found_damaged(
        Error(ErrorCode::kDataLoss,
              "the file was written to while it was served: put another one in its place by renaming"));
  }
  return state_ != State::kDamaged;
}

void SoundServer::run() {
  // Queries go first. A thread has a priority of its own on Linux.
  static_cast<void>(setpriority(PRIO_PROCESS, 0, 19));
  for (std::unique_lock lock(mutex_);;) {
    changed_.wait(lock, [this] { return requested_ || stopping_; });
    if (stopping_) return;
    requested_ = false;
    // Threads of the lowest priority are in the way of queries, too, where there are hundreds.
    static std::atomic_flag one_checks;
    while (one_checks.test_and_set()) {
      if (changed_.wait_for(lock, std::chrono::milliseconds(250), [this] { return stopping_.load(); }))
        return;
    }
    lock.unlock();
    bool again = false;
    try {
      if (const auto checked = check_all(); !checked) found_damaged(checked.error());
    } catch (const std::bad_alloc&) {
      again = true;
    }
    one_checks.clear();
    lock.lock();
    if (!again) continue;
    requested_ = true;
    changed_.wait_for(lock, std::chrono::seconds(1), [this] { return stopping_.load(); });
  }
}

Result<void> SoundServer::check_all() const {
  for (std::uint64_t chunk = 0; chunk < database::chunks(*database_); ++chunk) {
    if (stopping_) return {};
    PIRX_TRY(database::check_chunk(*database_, chunk));
  }
  auto unknown = State::kUnknown;
  state_.compare_exchange_strong(unknown, State::kSound);
  return {};
}

void SoundServer::found_damaged(const Error& error) const {
  if (state_.exchange(State::kDamaged) != State::kDamaged && damaged_) damaged_(error);
}

Result<void> check_sample(const database::Database& database) {
  constexpr int kChunks = 16;
  // Nobody gains from foreseeing which.
  std::minstd_rand engine(std::random_device{}());
  std::uniform_int_distribution<std::uint64_t> chunk(0, database::chunks(database) - 1);
  for (int i = 0; i < kChunks; ++i) PIRX_TRY(database::check_chunk(database, chunk(engine)));
  return {};
}

}  // namespace pirx::cli
