// SPDX-License-Identifier: Apache-2.0
// Decides which queue computes next, and waits for work. mutex_ is never held while a queue is asked or
// computes, because queues call others_before() under their own locks.
#include "compute_thread.h"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "batcher.h"

namespace pirx::http {
namespace {

constexpr double kBusyTime = 5;  ///< seconds that count as of late

double seconds_of(ComputeThread::Clock::time_point time) {
  return std::chrono::duration<double>(time.time_since_epoch()).count();
}

/// Of two queues, the one with the smaller turn comes next. Those that stand back come first if they are owed
/// time.
using Turn = std::tuple<bool, double, double>;
Turn turn_of(bool stands_back, double owed, double least_ahead, double used, double waits_since) {
  if (stands_back) return {owed <= 0, least_ahead, waits_since};
  return {owed > 0, used, waits_since};
}

/// What those that stand back are owed for each second of a pass: where there are others, one, and three less
/// of their own.
double owes(bool both, bool stands_back) { return both ? (stands_back ? -3 : 1) : 0; }
/// After a pass. Where only queues of one kind wait, nothing is saved up, and what was had too much is
/// forgiven.
double owed_after(double owed, double owes, double seconds) {
  return owes != 0 ? owed + owes * seconds : std::min(0.0, owed + seconds);
}

constexpr double kMostAhead = 10;  ///< seconds; or who has had much for an hour would pay for it as long
/// Each client's share of the time is at least one of so many parts. Otherwise, where very many wait, those
/// that are gone would be remembered for long.
constexpr std::ptrdiff_t kMostShares = 20;
/// Who takes less than so much of an equal share goes before those who take all that they can get.
constexpr double kPartOfShare = 0.5;
constexpr std::chrono::milliseconds kLeastForgiven{1};  ///< at a time, as it takes time itself

constexpr auto is_forgotten = [](const auto& entry) {
  return entry.second.use_count() == 1 && entry.second->ahead() == 0;
};

}  // namespace

ComputeThread::ComputeThread() : thread_([this] { run(); }) {}

ComputeThread::~ComputeThread() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
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
    std::erase_if(clients_, is_forgotten);
    sweep_at_ = 64 + 2 * clients_.size();
  }
  const auto known = clients_.find(name);
  if (known != clients_.end()) return known->second;
  return clients_.emplace(name, std::make_shared<Client>()).first->second;
}

bool ComputeThread::is_ahead(const std::string& name) const {
  const std::lock_guard lock(mutex_);
  const auto known = clients_.find(name);
  return known != clients_.end() && known->second->ahead() > 0;
}

void ComputeThread::forgive() noexcept {
  const auto time = now();
  const std::chrono::duration<double> passed = time - forgiven_until_;
  if (passed < kLeastForgiven) return;
  forgiven_until_ = time;
  const auto wait = std::count_if(clients_.begin(), clients_.end(),
                                  [](const auto& entry) { return entry.second.use_count() > 1; });
  share_ = kPartOfShare / static_cast<double>(std::clamp<std::ptrdiff_t>(wait, 1, kMostShares));
  for (const auto& [name, client] : clients_)
    client->ahead_ = std::clamp(client->ahead_ - passed.count() * share_, 0.0, kMostAhead);
  std::erase_if(clients_, is_forgotten);
}

double ComputeThread::ahead_of(const Client& client) const {
  return client.ahead_ + client.in_pass_ * running_seconds_;
}

double ComputeThread::used_of(const Seat& seat) const {
  return seat.has_work_ ? seat.used_.load() : now_used_;
}

double ComputeThread::busy_of(const Seat& seat) const {
  if (seat.busy_ == 0) return 0;
  return seat.busy_ * std::exp((seconds_of(seat.last_pass_end_) - seconds_of(now())) / kBusyTime);
}

void ComputeThread::set_queued(Seat& seat, double seconds, double next, std::size_t clients,
                               const Clients& least) noexcept {
  const std::lock_guard lock(mutex_);
  seat.queued_seconds_ = seconds;
  seat.next_seconds_ = next;
  if (seat.waiting_ == 0 && clients > 0) seat.waits_since_ = now();
  seat.waiting_ = clients;
  seat.least_ = least;
}

/// What pick() and step() will do, as far as can be told: only two clients of each queue are known, and that
/// as much comes to it as of late.
class ComputeThread::Forecast {
 public:
  /// A pass counts for `shortest` seconds at least, so that there are not too many.
  Forecast(const ComputeThread& thread, const Seat& seat, const std::string& client, double shortest)
      : share_(thread.share_) {
    clients_.push_back({nullptr, 1});
    const auto known = thread.clients_.find(client);
    const auto* const caller = known == thread.clients_.end() ? nullptr : known->second.get();
    clients_.push_back({caller, caller ? thread.ahead_of(*caller) : 0});
    const auto index_of = [&](const Client* of) -> std::size_t {
      if (of == nullptr) return kNone;
      for (std::size_t i = kCaller; i < clients_.size(); ++i) {
        if (clients_[i].of == of) return i;
      }
      clients_.push_back({of, thread.ahead_of(*of)});
      return clients_.size() - 1;
    };
    for (const auto& one : thread.seats_) {
      const bool mine = one.get() == &seat;
      if (!mine && one->queued_seconds_ == 0) continue;
      if (mine) mine_ = queues_.size();
      const bool pays = one == thread.running_ && !thread.chosen_stands_back_;
      std::size_t least[] = {index_of(one->least_[0].get()), index_of(one->least_[1].get())};
      if (mine && (least[0] == kNone || clients_[kCaller].ahead < clients_[least[0]].ahead)) {
        least[1] = least[0];
        least[0] = kCaller;
      }
      queues_.push_back({one->queued_seconds_,
                         std::max(one->next_seconds_, shortest),
                         thread.used_of(*one) + (pays ? thread.running_seconds_ : 0),
                         seconds_of(one->waiting_ > 0 ? one->waits_since_ : thread.now()),
                         thread.busy_of(*one),
                         {least[0], least[1]},
                         is_ahead(least[1]) ? 0 : std::max<std::size_t>(one->waiting_, 2) - 2});
    }
    owed_ = thread.owed_ + (thread.running_ ? thread.running_owes_ * thread.running_seconds_ : 0);
  }

  /// Seconds of others until the caller's queue has had `own` and comes next. Stops at `enough`.
  double others_before(double own, double enough, double now) {
    double others = 0;
    while (others < enough) {
      Queue* next = nullptr;
      Turn turn;
      bool seen[2] = {}, next_back = false;
      for (auto& queue : queues_) {
        const bool mine = &queue == &queues_[mine_];
        if (!mine && queue.seconds <= 0) continue;
        const bool back = is_ahead(queue.least[0]) && is_ahead(queue.least[1]) && queue.more == 0;
        seen[back] = true;
        const auto its = turn_of(back, owed_, clients_[queue.least[0]].ahead, queue.used, queue.since);
        if (next && turn <= its) continue;
        next = &queue;
        turn = its;
        next_back = back;
      }
      const bool mine = next == &queues_[mine_];
      if (mine && own <= 0) break;
      const double seconds = std::min(next->pass, mine ? own : next->seconds);
      if (mine) {
        own -= seconds;
      } else {
        others += seconds;
      }
      if (is_ahead(next->least[0]) && next->more > 0) --next->more;
      now += seconds;
      next->seconds -= seconds;
      next->since = now;
      if (!next_back) next->used += seconds;
      for (auto& queue : queues_) {
        queue.comes += queue.busy * seconds;
        if (queue.comes < queue.pass) continue;
        queue.seconds += queue.pass;
        queue.comes -= queue.pass;
      }
      for (std::size_t i = kCaller; i < clients_.size(); ++i)
        clients_[i].ahead = std::max(0.0, clients_[i].ahead - seconds * share_);
      if (next->least[0] != kNone) clients_[next->least[0]].ahead += seconds;
      if (next->least[1] != kNone && !next_back) clients_[next->least[1]].ahead += seconds;
      owed_ = owed_after(owed_, owes(seen[0] && seen[1], next_back), seconds);
    }
    return others;
  }

 private:
  struct Known {
    const Client* of;
    double ahead;
  };
  struct Queue {
    double seconds, pass, used, since, busy;
    std::array<std::size_t, 2> least;  ///< in clients_
    std::size_t more;                  ///< that are probably not ahead, as `least` are not
    double comes = 0;                  ///< less than a pass; or passes would get shorter and shorter
  };
  static constexpr std::size_t kNone = 0, kCaller = 1;  ///< in clients_: no client, which is ahead
  bool is_ahead(std::size_t client) const { return clients_[client].ahead > 0; }

  double share_, owed_ = 0;
  std::vector<Known> clients_;
  std::vector<Queue> queues_;
  std::size_t mine_ = 0;
};

double ComputeThread::others_before(const Seat& seat, double before, const std::string& client,
                                    double enough) const {
  const std::lock_guard lock(mutex_);
  const auto time = now();
  // One that is overdue may take as long again as it is overdue.
  const double left = running_ ? std::abs(std::chrono::duration<double>(running_until_ - time).count()) : 0;
  const bool runs = running_.get() == &seat;  // then `before` has what is left of its pass
  Forecast forecast(*this, seat, client, enough / 64);
  return forecast.others_before(before - (runs ? left : 0), enough, seconds_of(time) + left) +
         (runs ? 0 : left);
}

ComputeThread::Others ComputeThread::others_that_compute(const Seat& seat) const {
  const std::lock_guard lock(mutex_);
  const auto since = now() - std::chrono::minutes(1);
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
  seat.last_pass_ = now();
  running_seconds_ = std::min(seconds, kLongest);
  running_until_ = seat.last_pass_ + std::chrono::duration_cast<Clock::duration>(
                                         std::chrono::duration<double>(running_seconds_));
}

std::shared_ptr<ComputeThread::Seat> ComputeThread::pick(std::optional<Clock::time_point>& next) {
  std::shared_ptr<Seat> chosen;
  Turn least;
  stands_back_seen_[0] = stands_back_seen_[1] = false;
  const auto time = now();
  for (const auto& seat : looked_at_) {
    const auto ready = seat->batcher_->ready_at();
    const bool had_work = seat->has_work_.exchange(ready.has_value());
    if (!ready) continue;
    if (!had_work) seat->used_ = now_used_;
    if (*ready > time) {
      next = next ? std::min(*next, *ready) : *ready;
      continue;
    }
    const std::lock_guard lock(mutex_);
    const bool back = stands_back(*seat);
    stands_back_seen_[back] = true;
    if (back) seat->used_ = std::max(seat->used_.load(), now_used_);
    const auto turn = turn_of(back, owed_, seat->least_[0] ? seat->least_[0]->ahead() : 0, seat->used_,
                              seconds_of(seat->waits_since_));
    if (chosen && least <= turn) continue;
    chosen = seat;
    least = turn;
    chosen_stands_back_ = back;
  }
  return chosen;
}

bool ComputeThread::step(std::optional<Clock::time_point>& next) noexcept {
  std::unique_lock lock(mutex_);
  forgive();
  picking_ = true;
  looked_at_.assign(seats_.begin(), seats_.end());
  lock.unlock();
  for (const auto& seat : looked_at_) seat->batcher_->refuse_hopeless();
  const auto chosen = pick(next);
  lock.lock();
  picking_ = false;
  looked_at_.clear();
  changed_.notify_all();
  if (!chosen) return false;
  if (std::find(seats_.begin(), seats_.end(), chosen) == seats_.end()) return true;
  now_used_ = std::max(now_used_, chosen->used_.load());
  running_owes_ = owes(stands_back_seen_[0] && stands_back_seen_[1], chosen_stands_back_);
  running_ = chosen;
  running_seconds_ = 0;
  const auto start = running_until_ = now();
  lock.unlock();
  chosen->batcher_->pass();
  const std::chrono::duration<double> took = now() - start;
  lock.lock();
  for (const auto& [name, client] : clients_)
    client->ahead_ = client->ahead_ + client->in_pass_.exchange(0) * took.count();
  owed_ = owed_after(owed_, running_owes_, took.count());
  if (!chosen_stands_back_) chosen->used_ = chosen->used_ + took.count();
  chosen->busy_ = busy_of(*chosen) + 1 - std::exp(-took.count() / kBusyTime);
  chosen->last_pass_end_ = chosen->waits_since_ = now();
  running_.reset();
  changed_.notify_all();
  return true;
}

void ComputeThread::run() noexcept {
  for (std::unique_lock lock(mutex_); !stopping_;) {
    woken_ = false;
    lock.unlock();
    std::optional<Clock::time_point> next;
    const bool passed = step(next);
    lock.lock();
    if (passed) continue;
    const auto wake = [this] { return woken_ || stopping_; };
    if (next) {
      changed_.wait_until(lock, *next, wake);
    } else {
      changed_.wait(lock, wake);
    }
  }
}

}  // namespace pirx::http
