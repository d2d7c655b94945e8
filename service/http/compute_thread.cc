// SPDX-License-Identifier: Apache-2.0
// Decides which queue computes next, and waits for work. mutex_ is never held while a queue is asked or
// computes, because queues call others_before() under their own locks.
#include "compute_thread.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "batcher.h"

namespace pirx::http {

ComputeThread::ComputeThread() : thread_([this] { run(); }) {}

ComputeThread::~ComputeThread() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

std::shared_ptr<ComputeThread::Seat> ComputeThread::add(Batcher& batcher) {
  const std::shared_ptr<Seat> seat(new Seat(batcher));
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return !picking_; });
  looked_at_.reserve(seats_.size() + 1);  // so that the thread never allocates
  seats_.push_back(seat);
  return seat;
}

void ComputeThread::remove(const std::shared_ptr<Seat>& seat) noexcept {
  std::unique_lock lock(mutex_);
  seats_.erase(std::remove(seats_.begin(), seats_.end(), seat), seats_.end());
  changed_.wait(lock, [&] { return !picking_ && running_ != seat; });
}

void ComputeThread::notify() noexcept {
  {
    const std::lock_guard lock(mutex_);
    woken_ = true;
  }
  changed_.notify_all();
}

double ComputeThread::others_before(const Seat& seat, double before) const {
  const std::lock_guard lock(mutex_);
  // One that is overdue may take as long again as it is overdue.
  const double left = std::abs(std::chrono::duration<double>(running_until_ - Clock::now()).count());
  // As pick() chooses: a seat computes while it has had no more time than this one.
  const auto used = [&](const Seat& of) {
    const double had = of.has_work_ ? of.used_.load() : std::max(of.used_.load(), now_used_);
    return running_.get() == &of ? had + running_seconds_ : had;
  };
  const bool runs = running_.get() == &seat;  // then `before` has what is left of its pass
  const double own = used(seat) + before - (runs ? left : 0);
  double others = running_ && !runs ? left : 0;
  for (const auto& other : seats_) {
    const double ahead = own - used(*other);
    if (other.get() == &seat || ahead < 0) continue;
    others += std::min(other->queued_seconds_.load(), std::max(ahead, other->next_seconds_.load()));
  }
  return others;
}

ComputeThread::Others ComputeThread::others_that_compute(const Seat& seat) const {
  const std::lock_guard lock(mutex_);
  const auto since = Clock::now() - std::chrono::minutes(1);
  Others all{};
  for (const auto& other : seats_) {
    if (other.get() == &seat) continue;
    all.wait += other->queued_seconds_ > 0 || other == running_;
    all.lately |= other->last_pass_ > since;
    all.seconds += std::max(other->next_seconds_.load(), other == running_ ? running_seconds_ : 0.0);
  }
  return all;
}

void ComputeThread::note_pass(Seat& seat, double seconds) noexcept {
  const std::lock_guard lock(mutex_);
  if (running_.get() != &seat) return;
  constexpr double kLongest = 1e6;
  seat.last_pass_ = Clock::now();
  running_seconds_ = std::min(seconds, kLongest);
  running_until_ = seat.last_pass_ + std::chrono::duration_cast<Clock::duration>(
                                         std::chrono::duration<double>(running_seconds_));
}

std::shared_ptr<ComputeThread::Seat> ComputeThread::pick(std::optional<Clock::time_point>& next) {
  std::shared_ptr<Seat> chosen;
  const auto now = Clock::now();
  for (const auto& seat : looked_at_) {
    const auto ready = seat->batcher_->ready_at();
    if (!seat->has_work_.exchange(ready.has_value())) seat->used_ = std::max(seat->used_.load(), now_used_);
    if (!ready) continue;
    if (*ready > now) {
      next = next ? std::min(*next, *ready) : *ready;
    } else if (!chosen || seat->used_ < chosen->used_) {
      chosen = seat;
    }
  }
  return chosen;
}

void ComputeThread::run() noexcept {
  for (std::unique_lock lock(mutex_); !stopping_;) {
    woken_ = false;
    picking_ = true;
    looked_at_.assign(seats_.begin(), seats_.end());
    lock.unlock();
    std::optional<Clock::time_point> next;
    for (const auto& seat : looked_at_) seat->batcher_->refuse_hopeless();
    auto chosen = pick(next);
    lock.lock();
    picking_ = false;
    looked_at_.clear();
    changed_.notify_all();
    if (chosen && std::find(seats_.begin(), seats_.end(), chosen) != seats_.end()) {
      now_used_ = std::max(now_used_, chosen->used_.load());
      running_ = chosen;
      running_seconds_ = 0;
      running_until_ = Clock::now();
      lock.unlock();
      const auto start = Clock::now();
      chosen->batcher_->pass();
      const std::chrono::duration<double> took = Clock::now() - start;
      lock.lock();
      chosen->used_ = chosen->used_ + took.count();
      running_.reset();
      changed_.notify_all();
    } else if (!chosen) {
      const auto wake = [this] { return woken_ || stopping_; };
      if (next) {
        changed_.wait_until(lock, *next, wake);
      } else {
        changed_.wait(lock, wake);
      }
    }
  }
}

}  // namespace pirx::http
