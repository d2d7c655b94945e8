// SPDX-License-Identifier: Apache-2.0
// Decides which queue computes next, and waits for work. mutex_ is never held while a queue is asked or
// computes, because queues call others_before() under their own locks.
#include "compute_thread.h"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
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
  const auto known = clients_.find(name);
  if (known != clients_.end()) return known->second;
  return clients_.emplace(name, std::make_shared<Client>()).first->second;
}

void ComputeThread::share_out(double seconds) noexcept {
  constexpr double kMost = 10;  // so that who has had much for an hour does not pay for it as long
  std::erase_if(clients_, [](const auto& entry) { return entry.second.use_count() == 1; });
  const double part = seconds / static_cast<double>(std::max<std::size_t>(clients_.size(), 1));
  for (const auto& [name, client] : clients_) {
    const double had = client->in_pass_.exchange(false) ? seconds : 0;
    client->ahead_ = std::clamp(client->ahead_ + had - part, 0.0, kMost);
  }
}

bool ComputeThread::is_ahead(const std::shared_ptr<const Client>& client) const {
  return !client || client->ahead_ + (client->in_pass_ ? running_seconds_ : 0) > 0;
}

void ComputeThread::set_queued(Seat& seat, double seconds, double next, const Clients& least) noexcept {
  const std::lock_guard lock(mutex_);
  seat.queued_seconds_ = seconds;
  seat.next_seconds_ = next;
  seat.least_ = least;
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
  const auto known = clients_.find(client);
  const bool back = known != clients_.end() && is_ahead(known->second) && stands_back(seat);
  struct Some {
    double sum = 0, longest = 0;
    void add(const Seat& of, double time) {
      sum += time;
      longest = std::max(longest, of.next_seconds_);
    }
    double part(double time) const { return std::min(sum, std::max(time, longest)); }
  };
  // `alike`: of queues of this one's kind, which stand back or do not. `unlike`: of the other kind.
  Some alike, unlike;
  // Where this queue stands back: the others that do, by client, as each of these gets as much.
  std::unordered_map<const Client*, Some> clients;
  std::unordered_set<const Client*> once;  // clients that alone keep a queue from standing back
  for (const auto& other : seats_) {
    if (other.get() == &seat || other->queued_seconds_ == 0) continue;
    const auto& [first, second] = other->least_;
    const bool own_client = known != clients_.end() && first == known->second;
    bool theirs = stands_back(*other);
    if (theirs && back && !own_client) {
      clients[first.get()].add(*other, other->queued_seconds_);
      continue;
    }
    double time = other->queued_seconds_;
    if (theirs == back) {
      const double ahead = own - used(*other);
      if (ahead < 0) continue;
      time = std::min(time, std::max(ahead, other->next_seconds_));
    }
    // Where one client alone keeps several from standing back, they do after a pass of one.
    if (!theirs && !back && is_ahead(second) && !own_client) theirs = !once.insert(first.get()).second;
    (theirs == back ? alike : unlike).add(*other, time);
  }
  double others = alike.sum;
  for (const auto& [of, some] : clients) others += some.part(before);
  // Those that stand back have the pass after next at the earliest, if they are owed nothing.
  const double running = running_ ? running_owes_ * running_seconds_ : 0;
  const double owed = back ? 3 * (before + others) : (owed_ + running + before + others) / 3;
  if (back || owed > 0) others += unlike.part(owed);
  return others + (running_ && !runs ? left : 0);
}

ComputeThread::Others ComputeThread::others_that_compute(const Seat& seat) const {
  const std::lock_guard lock(mutex_);
  const auto since = Clock::now() - std::chrono::minutes(1);
  Others all{};
  const bool alike = seat.least_[0] && stands_back(seat);
  double longest_of_back = 0;
  for (const auto& other : seats_) {
    if (other.get() == &seat) continue;
    all.lately |= other->last_pass_ > since;
    if (other->queued_seconds_ == 0 && other != running_) continue;
    const double pass = std::max(other->next_seconds_, other == running_ ? running_seconds_ : 0.0);
    // Of those that stand back, a request waits for one, unless its own queue does.
    const bool back = !alike && other->least_[0] && stands_back(*other);
    all.wait += !back || longest_of_back == 0;
    all.seconds += back ? std::max(0.0, pass - longest_of_back) : pass;
    if (back) longest_of_back = std::max(longest_of_back, pass);
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
  std::tuple<bool, double, double> least;
  stands_back_seen_[0] = stands_back_seen_[1] = false;
  const auto now = Clock::now();
  for (const auto& seat : looked_at_) {
    const auto ready = seat->batcher_->ready_at();
    if (!seat->has_work_.exchange(ready.has_value())) seat->used_ = std::max(seat->used_.load(), now_used_);
    if (!ready) continue;
    if (*ready > now) {
      next = next ? std::min(*next, *ready) : *ready;
      continue;
    }
    const std::lock_guard lock(mutex_);
    const bool back = stands_back(*seat);
    stands_back_seen_[back] = true;
    if (back) seat->used_ = now_used_;
    const double last = std::chrono::duration<double>(seat->last_pass_.time_since_epoch()).count();
    const std::tuple turn(back != (owed_ > 0), back && seat->least_[0] ? seat->least_[0]->ahead() : 0,
                          back ? last : seat->used_.load());
    if (chosen && least <= turn) continue;
    chosen = seat;
    least = turn;
    chosen_stands_back_ = back;
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
      const bool both = stands_back_seen_[0] && stands_back_seen_[1];
      running_owes_ = both ? (chosen_stands_back_ ? -3 : 1) : 0;
      running_ = chosen;
      running_seconds_ = 0;
      running_until_ = Clock::now();
      lock.unlock();
      const auto start = Clock::now();
      chosen->batcher_->pass();
      const std::chrono::duration<double> took = Clock::now() - start;
      lock.lock();
      share_out(took.count());
      owed_ = running_owes_ != 0 ? owed_ + running_owes_ * took.count() : std::min(0.0, owed_ + took.count());
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
