// SPDX-License-Identifier: Apache-2.0
// The one thread that computes, for all databases of a server. A pass uses every core, so two passes at
// once would only delay each other.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

namespace pirx::http {

class Batcher;

/// Runs passes of the queues that are ready, one at a time. Queues where only clients wait that have had more
/// than an equal share of the time stand back: together they have a quarter of it, while others wait. Among
/// those that do not, it takes the one that has had the least time since it was empty, or has waited longest;
/// a queue that was empty or stood back does not save up time, and what it has while it stands back does not
/// count. Among those that do, it takes the one of the client that has had least. Thread-safe.
class ComputeThread {
 public:
  using Clock = std::chrono::steady_clock;

  /// A client with requests in some queue, or in the pass that runs.
  class Client {
   public:
    /// Seconds that passes of its requests alone would have taken, beyond an equal share of the time. Who
    /// waits does not save up, and who comes back pays.
    double ahead() const noexcept { return ahead_; }
    /// It has a request in the pass that runs, which alone would take this part of it. On this thread, from
    /// within the pass.
    void note_pass(double part) noexcept { in_pass_ = std::min(1.0, in_pass_ + part); }
    /// That pass was in vain, and not because of what this client asked.
    void forgive_pass() noexcept { in_pass_ = 0; }

   private:
    friend class ComputeThread;
    std::atomic<double> ahead_{0};
    std::atomic<double> in_pass_{0};
  };
  using Clients = std::array<std::shared_ptr<const Client>, 2>;

  /// A queue's place. Made by add(), used by its queue only.
  class Seat {
   private:
    friend class ComputeThread;
    explicit Seat(Batcher& batcher) : batcher_(&batcher) {}
    Batcher* const batcher_;
    // Under mutex_.
    double queued_seconds_ = 0, next_seconds_ = 0;
    std::size_t waiting_ = 0;  ///< clients
    Clients least_;            ///< of those that wait, the two that are least ahead
    Clock::time_point last_pass_ = Clock::time_point::min();  ///< when it began
    Clock::time_point last_pass_end_{};
    Clock::time_point waits_since_{};  ///< since its last pass, or since it was empty
    double busy_ = 0;  ///< the part of the time that it computed, of late, when that pass ended
    // Written by the thread.
    std::atomic<double> used_{0};  ///< seconds of passes since it was empty, and what others had had then
    std::atomic<bool> has_work_{false};
  };

  ComputeThread();
  /// Without a thread of its own, for simulations: time is what `now` says, and step() runs the passes.
  explicit ComputeThread(std::function<Clock::time_point()> now) : clock_(std::move(now)) {}
  ComputeThread(const ComputeThread&) = delete;
  ComputeThread& operator=(const ComputeThread&) = delete;
  /// All seats were given back.
  ~ComputeThread();

  std::shared_ptr<Seat> add(Batcher& batcher);
  /// No pass of this queue begins any more; returns when none is under way.
  void remove(const std::shared_ptr<Seat>& seat) noexcept;
  /// A queue has changed: it may be ready now, or sooner than it was.
  void notify() noexcept;

  /// The client of that name; whoever has a request of it in a queue keeps this.
  std::shared_ptr<Client> client(const std::string& name);
  bool is_ahead(const std::string& name) const;

  /// What waits in this queue: predictions of how long its passes will take, and the next of them; how many
  /// clients, and the two that are least ahead (or one, or none).
  void set_queued(Seat& seat, double seconds, double next, std::size_t clients,
                  const Clients& least) noexcept;
  /// How long other queues will compute before the pass of this one that begins after it has computed for
  /// `before` seconds, and is for `client`, if as much comes to them as of late. If that is `enough` or more,
  /// some number that is.
  double others_before(const Seat& seat, double before, const std::string& client, double enough) const;
  /// What the other queues want of this thread.
  struct Others {
    std::size_t wait;  ///< how many of them wait or compute; those that stand back are one
    bool lately;       ///< whether one of them computed within a minute
    double seconds;    ///< of one pass of each of these, predicted
  };
  Others others_that_compute(const Seat& seat) const;

  /// The pass that `seat` begins now is predicted to take so long. On this thread, from within the pass.
  void note_pass(Seat& seat, double seconds) noexcept;

  Clock::time_point now() const { return clock_ ? clock_() : Clock::now(); }
  /// Runs the pass whose turn it is. Without one: false, and `next` is when one will be ready, if known.
  bool step(std::optional<Clock::time_point>& next) noexcept;

 private:
  void run() noexcept;
  /// Time has passed, of which each client that waits could have had an equal part.
  void forgive() noexcept;
  // Under mutex_.
  class Forecast;
  double ahead_of(const Client& client) const;  ///< with the pass that runs
  bool stands_back(const Seat& seat) const {
    return std::all_of(seat.least_.begin(), seat.least_.end(),
                       [this](const auto& client) { return !client || ahead_of(*client) > 0; });
  }
  double used_of(const Seat& seat) const;
  double busy_of(const Seat& seat) const;
  /// The ready seat whose turn it is, null when none is ready; `next` is when one will be.
  std::shared_ptr<Seat> pick(std::optional<Clock::time_point>& next);

  const std::function<Clock::time_point()> clock_;  ///< null: the machine's
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  /// Those that wait, those that are ahead, and some that are gone.
  std::unordered_map<std::string, std::shared_ptr<Client>> clients_;
  double share_ = 1;  ///< of each that waits
  Clock::time_point forgiven_until_ = now();
  std::size_t sweep_at_ = 64;  ///< when it has so many, those are erased
  std::vector<std::shared_ptr<Seat>> seats_;
  std::vector<std::shared_ptr<Seat>>
      looked_at_;  ///< copy of seats_ that pick() walks through without the lock
  bool picking_ = false;
  std::shared_ptr<Seat> running_;
  Clock::time_point running_until_{};  ///< predicted
  double running_seconds_ = 0;         ///< predicted, of the whole pass
  double now_used_ = 0;  ///< used_ of the queue that the last pass was of; written by the thread
  /// Seconds that those queues are owed that stand back: one for each that others have while they wait, and
  /// three less for each that they have.
  double owed_ = 0;
  double running_owes_ = 0;        ///< what the pass that runs adds to that, for each second
  bool stands_back_seen_[2] = {};  ///< whether some ready queue does not, and does, as pick() has seen
  bool chosen_stands_back_ = false;
  bool woken_ = false, stopping_ = false;
  std::thread thread_;  ///< last: it starts when everything else exists
};

}  // namespace pirx::http
