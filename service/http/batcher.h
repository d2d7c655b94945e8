// SPDX-License-Identifier: Apache-2.0
// Gathers independent requests into batches. The thread that computes answers a batch with one call, so
// that one pass over the database serves all its requests.
#pragma once

#include <chrono>
#include <compare>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

#include "byte_budget.h"
#include "compute_thread.h"
#include "metrics.h"
#include "page_buffer.h"
#include "pass_cost.h"
#include "pirx/http/http_server.h"

namespace pirx::http {

/// Who asks, as far as taking turns goes, and until when an answer is of use.
struct Caller {
  std::string client;
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
};

/// Thread-safe. When more wait than a batch holds, clients take turns (mark_batch).
class Batcher {
 public:
  using Clock = std::chrono::steady_clock;
  using Ticket = std::uint64_t;
  /// Called on the thread that computes, or on a thread inside submit(). The lease covers the reply; it must
  /// not outlive its budget.
  using Done = std::function<void(Result<Bytes> reply, ByteLease lease)>;

  Batcher(const QueueOptions& limits, LogSink log, Metrics& metrics, ComputeThread& compute);
  Batcher(const Batcher&) = delete;
  Batcher& operator=(const Batcher&) = delete;
  /// Lets the batch that computes finish; the requests still queued are refused (Unavailable).
  ~Batcher();

  /// Makes a few passes, to learn what passes of this server take. Before the first request. Takes three or
  /// four times as long as a pass is planned for, at most.
  void measure(const AnyServer& server) noexcept;

  /// Queues a request that `server` admitted with `queries`; `lease` covers its bytes. That server answers
  /// it, together with neighbours in the queue that it admitted too. `done` is called exactly once, unless
  /// cancel() is in time; with Unavailable when the caller's deadline passes in the queue, and with
  /// ResourceExhausted when the queue is full and its place goes to a client that has fewer requests there,
  /// or when a pass of this request alone takes too long and is stopped. ResourceExhausted, and `done` is
  /// never called, when the queue is full, when the lease cannot grow by the reply
  /// (AnyServer::max_reply_bytes), when a pass of so many queries is predicted to take too long, or when its
  /// batch is predicted to begin after max_queue_time or to end later than four fifths of the way to the
  /// deadline.
  Result<Ticket> submit(std::shared_ptr<const AnyServer> server, PageBuffer request, std::size_t queries,
                        ByteLease lease, Done done, Caller caller = {});

  /// Takes a request out of the queue: true when its batch had not begun, and `done` will not be called.
  bool cancel(Ticket ticket);

  /// When all that is queued now will be answered, as far as can be told: what a refused client should wait.
  std::chrono::duration<double> backlog() const;
  std::size_t batch_max() const noexcept { return limits_.batch_max; }
  std::size_t queued() const;

  // For ComputeThread.
  /// When the next batch is to begin, perhaps in the past; nothing while none waits.
  std::optional<Clock::time_point> ready_at() const;
  /// Unavailable for those whose deadline has passed.
  void refuse_hopeless() noexcept;
  /// Answers the next batch, if there still is one. `early`: it begins with a request that is not due.
  void pass(bool early) noexcept;

 private:
  struct Job {
    Ticket ticket;
    std::shared_ptr<const AnyServer> server;
    PageBuffer request{};
    std::size_t queries;
    ByteLease lease;
    Done done{};
    Caller caller;
    std::shared_ptr<ComputeThread::Client> client{};
    Clock::time_point arrival{};
    double price = 0;   ///< the seconds that it takes alone, which its client pays for in advance
    double urgent = 0;  ///< when it was sent, and longer the more it takes; of due ones, the least is next
    ComputeThread::Tags tags{};
    bool leaves = false;  ///< the queue
    double tried = 0;     ///< seconds that it may waste, as it seems to take too long: see most_tried()
  };
  /// The least is next.
  struct Rank {
    bool early;    ///< not due
    double order;  ///< Job::urgent, or of early ones Tags::early
    auto operator<=>(const Rank&) const = default;
  };
  struct Share {
    std::size_t requests = 0, queries = 0;
  };

  void next_batch(std::vector<Job>& batch, bool early);
  void compute(std::vector<Job>& batch);
  void learn(const std::vector<Job>& batch, const std::vector<Result<Bytes>>& replies, double seconds);
  /// After a pass that was stopped: its requests wait again, for smaller ones. Those stay that nobody waits
  /// for any more, and one that was alone.
  void put_back(std::vector<Job>& batch);
  /// Each client pays for what its requests would have taken without those of others, each of them its part:
  /// if one paid for all, those that wait would come later than new ones.
  void charge(std::vector<Job>& batch, double seconds, bool stopped);
  /// Its client has had so much for it, and pays no more.
  void settle(Job& job, double seconds) noexcept;
  void finish(Job& job, Result<Bytes> reply) noexcept;

  // All under mutex_.
  void enqueue(Job job, double longest);
  /// As far as is known, a pass of one request of so many queries would be stopped. That may be from a time
  /// when the machine was slow, and only passes correct it. So such a request is tried all the same, unless
  /// its client still pays for another one that was tried here, with less than twice as many queries, and was
  /// stopped or waits. It is early, as it may be in vain.
  bool takes_too_long(std::size_t queries, double longest) const;
  /// The seconds after which its pass is stopped: those of other passes when it came, and somewhat more where
  /// many databases make these short. Or users who ask several at the same moment are kept out after a slow
  /// time.
  double most_tried(double longest) const;
  /// Tells compute_ what waits.
  void publish(double longest) noexcept;
  /// Of the batch that is computed.
  double seconds_left() const;
  double seconds_of(std::size_t queries, double longest) const;
  /// The seconds that a request adds to `before` queries of its client.
  double price_of(std::size_t before, std::size_t queries, double longest) const;
  static Rank rank_of(const Job& job, double virtual_time);
  double urgency(std::size_t queries) const;  ///< of a request that comes now
  /// Of one pass, which takes `longest` seconds at most; as many while nothing is known.
  double seconds_of_pass(std::size_t queries, double longest) const;
  /// The seconds that a pass is planned for at most; about as many as one of three queries takes are always
  /// allowed. Clients usually wait as long for an answer as max_queue_time. In half of that a request must
  /// get through the pass that runs, its own, and one of each other database that waits: an equal part for
  /// each of these, or half of what theirs leave, and less the more of the time others computed of late.
  /// `due`: as if a due request waited here, not by what does.
  double longest_pass(bool due = false) const;
  double time_of_passes() const;  ///< seconds, for all that a request meets
  /// The queries of a pass at most: batch_max, or fewer if a pass of these might be long or too large for
  /// memory; one request of more has a pass of its own.
  std::size_t most_queries(double longest) const;
  /// Whether a request that its own pass would make late is let in all the same. It can wait for `left`
  /// seconds.
  bool is_tried(std::size_t queries, double left);
  Result<void> admit(const Caller& caller, std::size_t queries, double longest);
  /// The newest request of the client with the most, if those are more than `client` has with one more; else
  /// the queue's size.
  std::size_t greediest_but(const std::string& client) const;
  void note_arrival(Clock::time_point now);
  Job take(std::size_t at);
  void leave(const Job& job) noexcept;
  /// The others of a client in this queue were cheaper for the one that leaves. If it was not computed, one
  /// of them takes over that part of its price.
  void hand_on(Job& job, double longest) noexcept;
  /// Moves the jobs marked `leaves` to the end of `to`, in order. Loses none when memory runs out.
  void move_marked(std::vector<Job>& to, double longest);
  void mark_batch(double longest, bool early);
  /// Whether a pass of so many queries has memory. One of the largest request always has.
  bool has_memory(const AnyServer& server, std::size_t queries) const;

  const QueueOptions limits_;
  const LogSink log_;
  Metrics& metrics_;

  mutable std::mutex mutex_;
  std::deque<Job> queue_;
  std::unordered_map<std::string, Share> shares_;  ///< of the queue, by client; none is empty
  std::size_t queued_queries_ = 0;
  std::size_t most_in_memory_ = limits_.batch_max;  ///< queries of a pass, by the server of the last request
  Ticket next_ticket_ = 1;
  PassCost cost_;
  Clock::time_point learned_, learned_few_;  ///< when a pass last did, and one of a few queries
  /// For how long predictions are trusted after a pass of few queries. Then the next pass that begins with
  /// few has no more. Each that finds them right doubles the time, up to kMostTrust; it begins anew when a
  /// pass takes quite another time than was predicted.
  Clock::duration few_trust_ = kDoubtOfFew;
  static constexpr double kPartOfWait = 0.8;     ///< of a client's time; the rest is for wrong predictions
  static constexpr double kPartOfPasses = 0.53;  ///< of max_queue_time, in time_of_passes()
  /// A pass of no more queries, as for one key, is never stopped: it is what this server is for.
  static constexpr std::size_t kFew = 3;
  static constexpr double kNoLimit = 1e8;  ///< seconds
  /// While nothing is known: the price of a request, and what each of its queries is taken for in urgency().
  static constexpr double kUnknown = 0.5;  ///< seconds
  /// Small requests go before larger ones that came before them by so many times what those take.
  static constexpr double kPatience = 2;
  static constexpr double kMostTried = 10;     ///< seconds of a try that its client loses if it is stopped
  static constexpr double kHardlyMore = 1.25;  ///< early requests may add to a pass
  static constexpr double kBehind = 2;         ///< seconds by which an early tag is later than another: far
  static constexpr double kCheap = 0.25;  ///< what a request adds to a pass, as a part of what it takes alone
  static constexpr double kOfOneClient = 0.15;  ///< what all of a client adds to another one's pass
  static constexpr double kOverrun = 1.5;       ///< a pass is stopped after so many times what is planned
  static constexpr std::size_t kProbe = 4;  ///< of what else an idle server would refuse, each such is tried
  static constexpr double kMeasured = 1;    ///< seconds; measure() stops after a pass that takes as long
  static constexpr std::chrono::seconds kMeasuring{5};    ///< for all passes of measure()
  static constexpr std::chrono::seconds kDoubt{30};       ///< what no pass showed for so long is doubted
  static constexpr std::chrono::seconds kDoubtOfFew{60};  ///< at first, in few_trust_
  std::size_t refused_idle_ = 0;                          ///< where nothing else waited
  static constexpr double kSurprise = 1.5;                ///< times what a pass is predicted to take
  static constexpr std::chrono::seconds kMostTrust{480};
  std::size_t computing_ = 0;  ///< queries of the batch that is computed
  std::vector<Ticket> gone_;   ///< cancelled while a batch is computed, which may be of it
  Clock::time_point computing_since_;
  double computing_limit_ = kNoLimit;  ///< seconds after which it is stopped
  Clock::time_point last_arrival_;
  std::chrono::duration<double> gap_{1e9};  ///< between arrivals, of late
  bool stopping_ = false;
  ComputeThread& compute_;
  const std::shared_ptr<ComputeThread::Seat> seat_;  ///< last: passes can begin when everything else exists
};

}  // namespace pirx::http
