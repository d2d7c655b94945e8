// The queue, the window, and the one thread that computes.
#include "batcher.h"

#include <algorithm>
#include <new>

#include "log.h"
#include "pirx/base/buffer.h"

namespace pirx::net {
namespace {

double to_ms(std::chrono::steady_clock::duration duration) {
  return std::chrono::duration<double, std::milli>(duration).count();
}

/// AnyServer::answer, with the promise of one result per request kept whatever happens inside.
std::vector<Result<Bytes>> answer_all(const AnyServer& server, std::span<const ByteSpan> requests) {
  const auto all_fail = [&](ErrorCode code, const char* message) {
    return std::vector<Result<Bytes>>(requests.size(), fail(code, message));
  };
  try {
    auto replies = server.answer(requests);
    if (replies.size() == requests.size()) return replies;
    return all_fail(ErrorCode::kInternal, "the protocol lost a reply: please report this");
  } catch (const std::bad_alloc&) {
    return all_fail(ErrorCode::kResourceExhausted, "the server is out of memory: try again later");
  } catch (...) {
    return all_fail(ErrorCode::kInternal, "the protocol failed on this batch: please report this");
  }
}

}  // namespace

Batcher::Batcher(const BatchLimits& limits, LogSink log)
    : limits_(limits), log_(std::move(log)), thread_([this] { run(); }) {}

Batcher::~Batcher() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

Result<Batcher::Ticket> Batcher::submit(std::shared_ptr<const AnyServer> server, Bytes request,
                                        std::size_t queries, ByteLease lease, Done done) {
  queries = std::max<std::size_t>(queries, 1);
  std::unique_lock lock(mutex_);
  if (stopping_) return fail(ErrorCode::kUnavailable, "the server is stopping: use another one");
  if (queue_.size() >= limits_.max_queued) {
    return fail(ErrorCode::kResourceExhausted, "the server's queue is full: try again later");
  }
  const auto bytes = checked_add(server->working_bytes(queries), lease.held());
  if (!bytes || !lease.resize(*bytes)) {
    return fail(ErrorCode::kResourceExhausted,
                "the server holds too many bytes of other requests: try again later");
  }
  const auto ticket = next_ticket_++;
  queue_.push_back({ticket, std::move(server), std::move(request), queries, std::move(lease), std::move(done),
                    Clock::now()});
  queued_queries_ += queries;
  // The thread waits for a first request, or for enough of them.
  const bool wake = queue_.size() == 1 || queued_queries_ >= limits_.max_queries;
  lock.unlock();
  if (wake) changed_.notify_one();
  return ticket;
}

bool Batcher::cancel(Ticket ticket) {
  std::optional<Job> removed;  // destroyed after the lock is let go: its callback may own a connection
  const std::lock_guard lock(mutex_);
  const auto at =
      std::find_if(queue_.begin(), queue_.end(), [&](const Job& job) { return job.ticket == ticket; });
  if (at == queue_.end()) return false;
  queued_queries_ -= at->queries;
  removed.emplace(std::move(*at));
  queue_.erase(at);
  return true;
}

bool Batcher::next_batch(std::vector<Job>& batch) {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    if (queue_.empty()) {
      changed_.wait(lock);
      continue;
    }
    // Looked at anew after each wake: the first request may have been cancelled.
    const auto deadline = queue_.front().arrival + limits_.window;
    if (queued_queries_ >= limits_.max_queries || Clock::now() >= deadline) break;
    changed_.wait_until(lock, deadline);
  }
  batch.reserve(queue_.size());
  std::size_t queries = 0;
  while (!queue_.empty()) {
    auto& job = queue_.front();
    const bool fits = job.queries <= limits_.max_queries - std::min(queries, limits_.max_queries);
    if (!stopping_ && !batch.empty() && (!fits || job.server != batch.front().server)) break;
    queries += job.queries;
    queued_queries_ -= job.queries;
    batch.push_back(std::move(job));
    queue_.pop_front();
  }
  return !stopping_;
}

void Batcher::compute(std::vector<Job>& batch) {
  const auto start = Clock::now();
  std::vector<ByteSpan> requests;
  requests.reserve(batch.size());
  std::size_t queries = 0;
  for (const auto& job : batch) {
    requests.emplace_back(job.request);
    queries += job.queries;
  }
  auto replies = answer_all(*batch.front().server, requests);
  const auto end = Clock::now();

  // Logged before the replies leave: who has a reply can find its batch in the log.
  write_log(log_, [&] {
    return LogEvent{"batch",
                    {},
                    {{"requests", static_cast<double>(batch.size())},
                     {"queries", static_cast<double>(queries)},
                     {"queue_ms", to_ms(start - batch.front().arrival)},
                     {"compute_ms", to_ms(end - start)}}};
  });
  for (std::size_t i = 0; i < batch.size(); ++i) {
    auto& job = batch[i];
    job.request = {};
    // What computing took is given back; the reply stays charged until it is written.
    if (!job.lease.resize(replies[i] ? replies[i]->size() : 0)) {
      replies[i] =
          fail(ErrorCode::kResourceExhausted, "the server holds too many bytes of replies: try again later");
    }
    finish(job, std::move(replies[i]));
  }
}

void Batcher::finish(Job& job, Result<Bytes> reply) noexcept {
  try {
    const auto done = std::exchange(job.done, nullptr);
    done(std::move(reply), std::move(job.lease));
  } catch (...) {  // out of memory in the callback: its connection ends by its own limits
  }
}

void Batcher::run() noexcept {
  for (bool running = true; running;) {
    std::vector<Job> batch;
    // Only memory can run out here; whoever has no reply by then is told so, without allocating for it.
    auto reason = ErrorCode::kResourceExhausted;
    try {
      running = next_batch(batch);
      if (running) {
        compute(batch);
      } else {
        reason = ErrorCode::kUnavailable;
      }
    } catch (...) {
    }
    for (auto& job : batch) {
      if (job.done) finish(job, fail(reason, {}));
    }
  }
}

}  // namespace pirx::net
