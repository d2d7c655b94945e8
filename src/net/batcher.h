// Gathers independent requests into batches and answers each batch by one call, on one thread of its own.
// This is where the server engine gets its many rows from: one pass over the database serves every request of
// a batch.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

#include "byte_budget.h"
#include "pirx/net/http_server.h"

namespace pirx::net {

struct BatchLimits {
  std::chrono::microseconds window{2'000};  ///< how long the first request of a batch may wait for others
  std::size_t max_queries = 256;            ///< of a batch; a request that alone has more runs alone
  std::size_t max_queued = 4096;            ///< requests that wait for their batch
};

/// Thread-safe. Requests are answered in order of arrival.
class Batcher {
 public:
  using Ticket = std::uint64_t;
  /// Called on the batcher's thread. The lease covers the reply; it must not outlive its budget.
  using Done = std::function<void(Result<Bytes> reply, ByteLease lease)>;

  Batcher(const BatchLimits& limits, LogSink log);
  Batcher(const Batcher&) = delete;
  Batcher& operator=(const Batcher&) = delete;
  /// Lets the batch that computes finish; the requests still queued are refused (Unavailable).
  ~Batcher();

  /// Queues a request that `server` admitted with `queries`; `lease` covers its bytes. That server answers
  /// it, together with neighbours in the queue that it admitted too. `done` is called exactly once, unless
  /// cancel() is in time. ResourceExhausted, and `done` is never called, when the queue is full or the lease
  /// cannot grow by what answering takes (AnyServer::working_bytes).
  Result<Ticket> submit(std::shared_ptr<const AnyServer> server, Bytes request, std::size_t queries,
                        ByteLease lease, Done done);

  /// Takes a request out of the queue: true when its batch had not begun, and `done` will not be called.
  bool cancel(Ticket ticket);

 private:
  using Clock = std::chrono::steady_clock;
  struct Job {
    Ticket ticket;
    std::shared_ptr<const AnyServer> server;
    Bytes request;
    std::size_t queries;
    ByteLease lease;
    Done done;
    Clock::time_point arrival;
  };

  void run() noexcept;
  /// Waits for the next batch and moves it to `batch`. False when the batcher stops; then it is the whole
  /// queue.
  bool next_batch(std::vector<Job>& batch);
  void compute(std::vector<Job>& batch);
  static void finish(Job& job, Result<Bytes> reply) noexcept;

  const BatchLimits limits_;
  const LogSink log_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Job> queue_;
  std::size_t queued_queries_ = 0;
  Ticket next_ticket_ = 1;
  bool stopping_ = false;
  std::thread thread_;  ///< last: it starts when everything else exists
};

}  // namespace pirx::net
