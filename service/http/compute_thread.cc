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

std::shared_ptr<ComputeThread::Client> ComputeThread::client(const std::string& name) {
  const std::lock_guard lock(mutex_);
  if (clients_.size() >= sweep_at_) {
    std::erase_if(clients_, [](const auto& entry) { return entry.second.use_count() == 1; });
    sweep_at_ = 64 + 2 * clients_.size();
  }
  auto& client = clients_[name];
  if (!client) client = std::make_shared<Client>();
  return client;
}

void ComputeThread::share_out(double seconds) noexcept {
  std::erase_if(clients_, [](const auto& entry) { return entry.second.use_count() == 1; });
  const double part = seconds / static_cast<double>(std::max<std::size_t>(clients_.size(), 1));
  for (const auto& [name, client] : clients_) client->ahead_ = std::max(0.0, client->ahead_ - part);
}

void ComputeThread::set_queued(Seat& seat, double seconds, double next,
                               std::shared_ptr<const Client> least) noexcept {
  const std::lock_guard lock(mutex_);
  seat.queued_seconds_ = seconds;
  seat.next_seconds_ = next;
  seat.least_ = std::move(least);
}

double ComputeThread::others_before(const Seat& seat, double before, const std::string& client) const {
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
  const auto mine = clients_.find(client);
  const Client* const me = mine == clients_.end() ? nullptr : mine->second.get();
  const bool due = me == nullptr || me->ahead() == 0;
  double others = running_ && !runs ? left : 0;
  std::unordered_map<const Client*, double> once;
  for (const auto& other : seats_) {
    const double ahead = own - used(*other);
    if (other.get() == &seat || ahead < 0 || !other->least_) continue;
    const double time = std::min(other->queued_seconds_, std::max(ahead, other->next_seconds_));
    const Client* const least = other->least_.get();
    if (due && least != me) {
      const bool stands_back = least->ahead() > 0;
      auto& most = once[stands_back ? nullptr : least];
      most = std::max(most, stands_back ? std::min(time, std::max(other->next_seconds_, before / 3)) : time);
    } else {
      others += time;
    }
  }
  for (const auto& [least, time] : once) others += time;
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
    all.seconds += std::max(other->next_seconds_, other == running_ ? running_seconds_ : 0.0);
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
  std::pair<bool, double> least;  // whether the chosen one stands back, and what it has had
  // So that a database for which one client asks, and always, is not put off by a crowd at another one.
  const bool all_alike = (passes_ + 1) % 4 == 0;
  const auto now = Clock::now();
  for (const auto& seat : looked_at_) {
    const auto ready = seat->batcher_->ready_at();
    if (!seat->has_work_.exchange(ready.has_value())) seat->used_ = std::max(seat->used_.load(), now_used_);
    if (!ready) continue;
    if (*ready > now) {
      next = next ? std::min(*next, *ready) : *ready;
    } else {
      const std::lock_guard lock(mutex_);
      const bool stands_back = !all_alike && seat->least_ && seat->least_->ahead() > 0;
      const std::pair turn(stands_back, seat->used_.load());
      if (chosen && least <= turn) continue;
      chosen = seat;
      least = turn;
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
      ++passes_;
      now_used_ = std::max(now_used_, chosen->used_.load());
      running_ = chosen;
      running_seconds_ = 0;
      running_until_ = Clock::now();
      lock.unlock();
      const auto start = Clock::now();
      chosen->batcher_->pass();
      const std::chrono::duration<double> took = Clock::now() - start;
      lock.lock();
      share_out(took.count());
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
