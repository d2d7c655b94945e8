// SPDX-License-Identifier: Apache-2.0
// Decides which queue computes next, and waits for work. mutex_ is never held while a queue is asked or
// computes, because queues call others_before() under their own locks.
#include "compute_thread.h"

#include <algorithm>
#include <cmath>
#include <new>
#include <utility>

#include "batcher.h"
#include "src/protocol/team.h"

namespace pirx::http {
namespace {

constexpr double kRounding = 1e-6;  ///< seconds
constexpr double kBusyTime = 5;     ///< seconds that count as of late
/// Who takes less than so much of an equal share is always due. With whole shares, four that take all they
/// can get in turn would be due, too.
constexpr double kPartOfShare = 0.5;
/// Each client's share of the time is at least one of so many parts. Otherwise, where very many wait, who has
/// had a little would be early for long.
constexpr std::size_t kMostShares = 20;
/// Seconds of virtual time: what a client has had before is forgotten after 20 s of the clock if nobody else
/// waits, and after 400 s among 20 or more.
constexpr double kMostEarly = 10;
constexpr double kLongPass =
    2.3;  ///< seconds; those of few queries at slow databases, as no others may be so long
constexpr double kDuePerEarly = 3;                     ///< seconds of due requests for each of early ones
constexpr std::chrono::milliseconds kLeastAdvance{1};  ///< at a time, as it takes time itself

double seconds_of(ComputeThread::Clock::time_point time) {
  return std::chrono::duration<double>(time.time_since_epoch()).count();
}

/// A pass is due so many seconds after its queue's last one: then queues that always wait have equal times,
/// and short passes do not wait for long. The longest wait longer, for others have little time after them.
double patience(double pass) { return pass * std::clamp(std::pow(pass / kLongPass, 3), 1.0, 4.0); }

}  // namespace

ComputeThread::ComputeThread(int threads) : thread_([this, threads] { run(threads); }) {}

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
  for (const auto& [name, client] : clients_) client->wasted_.erase(seat.get());
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
    std::erase_if(clients_, [this](const auto& entry) {
      pay_for_waste(*entry.second);
      return entry.second.use_count() == 1 && entry.second->finish_ <= virtual_ &&
             entry.second->wasted_.empty();
    });
    sweep_at_ = 64 + 2 * clients_.size();
  }
  const auto known = clients_.find(name);
  if (known != clients_.end()) return known->second;
  return clients_.emplace(name, std::make_shared<Client>()).first->second;
}

double ComputeThread::virtual_time() const {
  const std::lock_guard lock(mutex_);
  return virtual_now();
}

double ComputeThread::virtual_now() const {
  return virtual_ +
         std::chrono::duration<double>(now() - advanced_).count() * kPartOfShare /
             static_cast<double>(std::clamp<std::size_t>(waiting_ == 0 ? 1 : active_, 1, kMostShares));
}

ComputeThread::Tags ComputeThread::tags_of(const Client& client) const {
  const double time = virtual_now(), finish = std::min(client.finish_, time + kMostEarly + client.waiting_);
  const double early = std::min(client.early_finish_, early_virtual_ + kMostEarly + client.waiting_);
  return {.due = std::max(time, finish),
          .early = std::max(early_virtual_, early),
          .more = client.more_,
          .end = 0,
          .given_back = client.given_back_};
}

ComputeThread::Tags ComputeThread::next_tags(const std::string& client) const {
  const std::lock_guard lock(mutex_);
  const auto known = clients_.find(client);
  static const Client unknown;
  return tags_of(known == clients_.end() ? unknown : *known->second);
}

ComputeThread::Tags ComputeThread::enter(Client& client, double seconds) noexcept {
  const std::lock_guard lock(mutex_);
  auto tags = tags_of(client);
  tags.end = client.finish_ = tags.due + seconds;
  client.early_finish_ = tags.early + seconds;
  client.waiting_ += seconds;
  return tags;
}

void ComputeThread::settle(Client& client, const Tags& tags, double price, double seconds) noexcept {
  const std::lock_guard lock(mutex_);
  client.waiting_ -= price;
  client.early_finish_ += seconds - price;
  if (seconds >= price) {
    client.finish_ += seconds - price;
    client.more_ = client.more_ + seconds - price;
  } else {
    // By what was given back since, its own time is sooner.
    const double time = virtual_now(), end = tags.end - (client.given_back_ - tags.given_back);
    const double back = std::min({price - seconds, end - time, client.finish_ - time - client.waiting_});
    if (back > 0) {
      client.finish_ -= back;
      client.given_back_ += back;
    }
  }
}

void ComputeThread::pay_for_waste(Client& client) const noexcept {
  const double now = virtual_now(), paid = now - std::exchange(client.wasted_at_, now);
  const double part = paid / static_cast<double>(std::max<std::size_t>(client.wasted_.size(), 1));
  for (auto& [seat, wasted] : client.wasted_) wasted.seconds -= part;
  std::erase_if(client.wasted_, [](const auto& one) { return one.second.seconds < kRounding; });
}

void ComputeThread::waste(Client& client, const Seat& seat, double seconds, std::size_t queries) noexcept {
  const std::lock_guard lock(mutex_);
  pay_for_waste(client);
  try {
    auto& wasted = client.wasted_[&seat];
    wasted.seconds += seconds;
    wasted.queries = queries;
  } catch (const std::bad_alloc&) {  // then it need not pay
  }
}

void ComputeThread::give_back(Client& client, const Seat& seat, double seconds) noexcept {
  const std::lock_guard lock(mutex_);
  const auto wasted = client.wasted_.find(&seat);
  if (wasted != client.wasted_.end()) wasted->second.seconds -= seconds;
}

bool ComputeThread::may_waste(const std::string& client, const Seat& seat, std::size_t queries) {
  const std::lock_guard lock(mutex_);
  const auto known = clients_.find(client);
  if (known == clients_.end()) return true;
  pay_for_waste(*known->second);
  const auto wasted = known->second->wasted_.find(&seat);
  return wasted == known->second->wasted_.end() || wasted->second.queries >= 2 * queries;
}

double ComputeThread::first_early(const Client& client) const {
  const std::lock_guard lock(mutex_);
  return client.early_finish_ - client.waiting_;
}

std::size_t ComputeThread::clients_that_wait() const {
  const std::lock_guard lock(mutex_);
  return waiting_;
}

void ComputeThread::advance_virtual_time() noexcept {
  const auto time = now();
  if (time - advanced_ < kLeastAdvance) return;
  virtual_ = virtual_now();
  advanced_ = time;
  waiting_ = active_ = 0;
  for (const auto& [name, client] : clients_) {
    const bool waits = client.use_count() > 1;
    waiting_ += waits;
    active_ += waits || client->finish_ > virtual_;
  }
}

double ComputeThread::Busy::at(double time) const noexcept {
  return part_ == 0 ? 0 : part_ * std::exp((end_ - time) / kBusyTime);
}

void ComputeThread::Busy::add(double end, double took) noexcept {
  part_ = at(end) + 1 - std::exp(-took / kBusyTime);
  end_ = end;
}

bool ComputeThread::goes_before(Clock::time_point due_since, double pass, double early_pass) const {
  const double part = kDuePerEarly * early_pass;
  return seconds_of(due_since) + std::min(pass, part) <= seconds_of(early_since_) + part;
}

void ComputeThread::set_queued(Seat& seat, const Queued& queued) noexcept {
  const std::lock_guard lock(mutex_);
  if (!seat.queued_.due()) seat.due_since_ = now();
  seat.queued_ = queued;
}

double ComputeThread::others_before(const Seat& seat, const Wish& wish) const {
  const std::lock_guard lock(mutex_);
  const auto time = now();
  // One that is overdue may take as long again as it is overdue. That of this queue is in `before`.
  const double left = running_ && running_.get() != &seat
                          ? std::abs(std::chrono::duration<double>(running_until_ - time).count())
                          : 0;
  const bool due = wish.tags.due <= virtual_now();
  const auto turn_of = [&](Clock::time_point since, double pass) {
    return seconds_of(since) + patience(pass);
  };
  const auto since = seat.queued_.due() ? seat.due_since_ : time;
  const double own_turn = turn_of(since, wish.pass);
  double others = left;
  for (int i = 0; i < 2; ++i) {  // what comes meanwhile follows from how long it is
    const double meanwhile = wish.before + others;
    double before = 0, early = 0, early_pass = 0, others_due = wish.due_seconds;
    if (others_due > 0) others_due += seat.busy_.at(seconds_of(time)) * meanwhile;
    for (const auto& other : seats_) {
      if (other.get() == &seat) continue;
      const Queued& queued = other->queued_;
      const double come = other->busy_.at(seconds_of(time)) * meanwhile;
      if (due) {
        const bool first = turn_of(other->due_since_, queued.next_seconds) <= own_turn;
        const double turns =
            static_cast<double>(wish.passes - !first) * std::max(patience(wish.pass), queued.next_seconds);
        if (queued.due()) before += std::min(queued.due_seconds + come, turns);
        if (queued.early()) {
          early += queued.seconds - queued.due_seconds;
          early_pass = std::max(early_pass, queued.early_pass);
        }
      } else if (queued.seconds > 0) {
        // Each client there can have had so much before its tags are behind this one.
        const double ahead = wish.tags.early - queued.least_early;
        if (ahead > 0) {
          before += std::min(queued.seconds - queued.due_seconds,
                             static_cast<double>(queued.clients) * ahead + queued.early_pass);
        }
        others_due += queued.due_seconds + come;
      }
    }
    // Those with early requests have their turn next, or when others have had their part.
    if (early > 0) {
      const bool first = early_waits_ && !goes_before(since, wish.pass, early_pass);
      const double turns = std::floor((wish.before + left + before) / (kDuePerEarly * early_pass));
      early = std::min(early, std::max<double>(first, turns) * early_pass);
    }
    if (!due) before += std::min(others_due, kDuePerEarly * (wish.before + before + wish.pass));
    others = left + before + early;
  }
  return others;
}

ComputeThread::Others ComputeThread::others_that_compute(const Seat& seat, bool due) const {
  const std::lock_guard lock(mutex_);
  const double time = seconds_of(now());
  Others all{.wait = 0, .seconds = 0, .busy = std::max(0.0, busy_.at(time) - seat.busy_.at(time))};
  const bool alike = !due && seat.queued_.early() && !seat.queued_.due();
  double longest_early = 0;
  for (const auto& other : seats_) {
    if (other.get() == &seat) continue;
    const Queued& queued = other->queued_;
    if (queued.seconds == 0 && other != running_) continue;
    const double pass = std::max(queued.next_seconds, other == running_ ? running_seconds_ : 0.0);
    // Of those with early requests only, a due one waits for one. An early one waits for each that is before
    // it, and for one of the others.
    const bool before = alike && queued.least_early <= seat.queued_.least_early;
    const bool early = queued.early() && !queued.due() && !before;
    all.wait += !early || longest_early == 0;
    all.seconds += early ? std::max(0.0, pass - longest_early) : pass;
    if (early) longest_early = std::max(longest_early, pass);
  }
  return all;
}

void ComputeThread::note_pass(Seat& seat, double seconds) noexcept {
  const std::lock_guard lock(mutex_);
  if (running_.get() != &seat) return;
  constexpr double kLongest = 1e6;
  running_seconds_ = std::min(seconds, kLongest);
  running_until_ =
      now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(running_seconds_));
}

ComputeThread::Turn ComputeThread::pick(std::optional<Clock::time_point>& next) {
  std::shared_ptr<Seat> due, early;
  double due_at = kNever, early_tag = kNever, early_pass = 0, first_early = 0;
  const auto time = now();
  for (const auto& seat : looked_at_) {
    const auto ready = seat->batcher_->ready_at();
    if (!ready) continue;
    if (*ready > time) {
      next = next ? std::min(*next, *ready) : *ready;
      continue;
    }
    const std::lock_guard lock(mutex_);
    const Queued& queued = seat->queued_;
    const double at = seconds_of(seat->due_since_) + patience(queued.next_seconds);
    if (queued.due() && (!due || at < due_at)) {
      due = seat;
      due_at = at;
    }
    if (queued.early() && (!early || queued.least_early < early_tag)) {
      early = seat;
      early_tag = queued.least_early;
      first_early = queued.first_early;
      early_pass = queued.early_pass;
    }
  }
  const std::lock_guard lock(mutex_);
  if (early && !early_waits_) early_since_ = std::max(early_since_, time);
  early_waits_ = early != nullptr;
  if (!early || (due && goes_before(due->due_since_, due->queued_.next_seconds, early_pass)))
    return {due, false};
  early_virtual_ = std::max(early_virtual_, std::min(early_tag, first_early));
  return {early, true};
}

bool ComputeThread::step(std::optional<Clock::time_point>& next) noexcept {
  std::unique_lock lock(mutex_);
  advance_virtual_time();
  picking_ = true;
  looked_at_.assign(seats_.begin(), seats_.end());
  lock.unlock();
  for (const auto& seat : looked_at_) seat->batcher_->refuse_hopeless();
  const auto [chosen, early] = pick(next);
  lock.lock();
  picking_ = false;
  looked_at_.clear();
  changed_.notify_all();
  if (!chosen) return false;
  if (std::find(seats_.begin(), seats_.end(), chosen) == seats_.end()) return true;
  running_ = chosen;
  running_seconds_ = 0;
  const auto start = running_until_ = now();
  lock.unlock();
  chosen->batcher_->pass(early);
  const std::chrono::duration<double> took = now() - start;
  lock.lock();
  if (!early) {
    for (auto* busy : {&chosen->busy_, &busy_}) busy->add(seconds_of(now()), took.count());
  }
  (early ? early_since_ : chosen->due_since_) = now();
  running_.reset();
  changed_.notify_all();
  return true;
}

void ComputeThread::run(int threads) noexcept {
  start_team(threads);
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
