// SPDX-License-Identifier: Apache-2.0
// The one thread that computes, for all databases of a server. A pass uses every core, so two passes at
// once would only delay each other.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

namespace pirx::http {

class Batcher;

/// Runs passes of the queues that are ready, one at a time, so that clients have equal shares of the time.
/// This is start-time fair queueing (Goyal, Vin, Cheng 1996), twice. A request is due when a virtual time
/// that follows the clock has come to its tag: when all that its client asked before would be done if the
/// client had half of an equal share. Who takes less than that is always due. Requests that are not due are
/// early, and have tags in another virtual time, which follows the passes that begin with early ones.
///
/// Due requests go before early ones, except that the early ones have a quarter of the time together. Of the
/// queues with due requests, the one comes next that has waited longest, less what its pass takes; of those
/// with early ones, the one with the least tag. Thread-safe.
class ComputeThread {
 public:
  using Clock = std::chrono::steady_clock;

  class Seat;
  struct Wasted {
    double seconds = 0;       ///< that are not paid for
    std::size_t queries = 0;  ///< of the last request that may have been in vain
  };
  /// A client with requests in some queue, or that has had more than its share.
  class Client {
    friend class ComputeThread;
    // Under mutex_. A price is the seconds that a request is said to take, which its client pays in advance.
    double finish_ = 0;                     ///< virtual time by which all that it asked is paid for
    double early_finish_ = 0;               ///< the same in the virtual time of early requests
    double waiting_ = 0;                    ///< prices of its requests that wait
    std::map<const Seat*, Wasted> wasted_;  ///< at each queue, if not all is paid for
    double wasted_at_ = 0;                  ///< by that virtual time
    double given_back_ = 0;                 ///< what it paid and got back, in all
    std::atomic<double> more_{0};

   public:
    /// By how many seconds its requests have taken longer than their prices, in all.
    double more() const noexcept { return more_; }
  };
  /// Of a request.
  struct Tags {
    double due;             ///< it is due when virtual_time() has come to that
    double early;           ///< of early requests, the one with the least is next
    double more = 0;        ///< Client::more() when it came: by what is added later, both tags are later
    double end = 0;         ///< virtual time by which it is paid for, unless its client gets something back
    double given_back = 0;  ///< what its client had got back when it came
  };

  static constexpr double kNever = std::numeric_limits<double>::infinity();
  /// What waits in a queue, in predicted seconds of passes.
  struct Queued {
    double seconds = 0;           ///< of all
    double due_seconds = 0;       ///< of those that are due
    double next_seconds = 0;      ///< of its next pass
    double early_pass = 0;        ///< of one that begins with an early request
    double least_early = kNever;  ///< the least tag of those that are not due
    std::size_t clients = 0;      ///< that have requests there
    double first_early = 0;       ///< Client's first_early() of that one
    bool due() const noexcept { return due_seconds > 0; }
    bool early() const noexcept { return least_early < kNever; }
  };

  /// The part of the time that something took, of late. Times are in seconds of now().
  class Busy {
   public:
    double at(double time) const noexcept;
    void add(double end, double took) noexcept;

   private:
    double part_ = 0, end_ = 0;  ///< when the last that was added ended
  };

  /// A queue's place. Made by add(), used by its queue only.
  class Seat {
   private:
    friend class ComputeThread;
    explicit Seat(Batcher& batcher) : batcher_(&batcher) {}
    Batcher* const batcher_;
    // Under mutex_.
    Queued queued_;
    Clock::time_point due_since_{};  ///< since its last pass, or since something is due
    Busy busy_;                      ///< with passes that begin due
  };

  /// Its passes have so many threads, which are there before the first one; 0: one a core.
  explicit ComputeThread(int threads = 0);
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
  double virtual_time() const;
  /// What enter() would give now.
  Tags next_tags(const std::string& client) const;
  /// The tags of the next request of that client, which alone takes so many seconds.
  Tags enter(Client& client, double seconds) noexcept;
  /// A request that had that price waits no more, and took so many seconds. What it did not take is given
  /// back as far as virtual time has not paid for it yet, and not what pays for others that wait.
  void settle(Client& client, const Tags& tags, double price, double seconds) noexcept;
  /// The early tag that the first of its waiting requests would have if it came now.
  double first_early(const Client& client) const;

  /// So many seconds for a request of so many queries will perhaps be wasted.
  void waste(Client& client, const Seat& seat, double seconds, std::size_t queries) noexcept;
  /// They were not.
  void give_back(Client& client, const Seat& seat, double seconds) noexcept;
  /// Whether half of an equal share, an equal part for each queue, has paid for what the client wasted there,
  /// or the last request that did so had at least twice as many queries.
  bool may_waste(const std::string& client, const Seat& seat, std::size_t queries);

  void set_queued(Seat& seat, const Queued& queued) noexcept;
  /// A request and what its own queue does before it.
  struct Wish {
    Tags tags;
    double before;       ///< seconds until its pass could begin, if there were no other queues
    std::size_t passes;  ///< of its queue, its own included
    double pass;         ///< seconds of one
    double due_seconds;  ///< of its queue, if it is early and is not answered with these
  };
  /// How long other queues will compute before the pass of that request begins, if as much comes to them as
  /// of late.
  double others_before(const Seat& seat, const Wish& wish) const;
  /// What the other queues want of this thread before a pass of this one. `due`: as if a due request waited
  /// here; otherwise by what does.
  struct Others {
    std::size_t wait;  ///< how many of them wait or compute; those with early requests only are one
    double seconds;    ///< of one pass of each of these, predicted
    double busy;       ///< the part of the time that they computed, of late
  };
  Others others_that_compute(const Seat& seat, bool due = false) const;
  /// How many clients wait or are in the pass that runs.
  std::size_t clients_that_wait() const;

  /// The pass that `seat` begins now is predicted to take so long. On this thread, from within the pass.
  void note_pass(Seat& seat, double seconds) noexcept;

  /// What a pass may take of memory, in bytes, with what its database takes.
  void set_pass_bytes(std::size_t bytes) noexcept { pass_bytes_ = bytes; }
  std::size_t pass_bytes() const noexcept { return pass_bytes_; }

  Clock::time_point now() const { return clock_ ? clock_() : Clock::now(); }
  /// Runs the pass whose turn it is. Without one: false, and `next` is when one will be ready, if known.
  bool step(std::optional<Clock::time_point>& next) noexcept;

 private:
  struct Turn {
    std::shared_ptr<Seat> seat;
    bool early;  ///< whether the pass begins with an early request
  };
  void run(int threads) noexcept;
  Turn pick(std::optional<Clock::time_point>& next);
  // Under mutex_.
  void advance_virtual_time() noexcept;
  double virtual_now() const;
  void pay_for_waste(Client& client) const noexcept;
  Tags tags_of(const Client& client) const;  ///< of a request that comes now
  /// Whether a due pass goes before those that begin with early requests.
  bool goes_before(Clock::time_point due_since, double pass, double early_pass) const;

  const std::function<Clock::time_point()> clock_;  ///< null: the machine's
  std::atomic<std::size_t> pass_bytes_{std::numeric_limits<std::size_t>::max()};
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  /// Those that wait, those that have had more than their share, and some that are gone.
  std::unordered_map<std::string, std::shared_ptr<Client>> clients_;
  /// When virtual time last advanced: clients that waited; those that waited or had had more than their
  /// share.
  std::size_t waiting_ = 1, active_ = 1;
  double virtual_ = 0, early_virtual_ = 0;
  Clock::time_point advanced_ = now();
  std::size_t sweep_at_ = 64;  ///< when it has so many clients, those are erased that are gone
  std::vector<std::shared_ptr<Seat>> seats_;
  std::vector<std::shared_ptr<Seat>>
      looked_at_;  ///< copy of seats_ that pick() walks through without the lock
  bool picking_ = false;
  Clock::time_point early_since_ = now();  ///< since the last pass that began with one, or since one waits
  bool early_waits_ = false;
  std::shared_ptr<Seat> running_;
  Clock::time_point running_until_{};  ///< predicted
  double running_seconds_ = 0;         ///< predicted, of the whole pass
  Busy busy_;                          ///< all queues
  bool woken_ = false, stopping_ = false;
  std::thread thread_;  ///< last: it starts when everything else exists
};

}  // namespace pirx::http
