// SPDX-License-Identifier: Apache-2.0
// Implements the queue of a database, the batch window, and a batch from its beginning to its end.
#include "batcher.h"

#include <algorithm>
#include <cmath>
#include <new>

#include "log.h"
#include "pirx/base/buffer.h"
#include "src/base/time_limit.h"
#include "src/protocol/message.h"

namespace pirx::http {
namespace {

double to_ms(std::chrono::steady_clock::duration duration) {
  return std::chrono::duration<double, std::milli>(duration).count();
}

std::chrono::steady_clock::duration duration(double seconds) {
  return std::chrono::duration_cast<std::chrono::steady_clock::duration>(
      std::chrono::duration<double>(seconds));
}

/// AnyServer::answer_from, with the promise of one result per request kept whatever happens inside.
std::vector<Result<Bytes>> answer_all(const AnyServer& server, std::span<const ByteSpan> requests,
                                      std::span<const std::string_view> senders) {
  const auto all_fail = [&](ErrorCode code, const char* message) {
    std::vector<Result<Bytes>> all;
    all.reserve(requests.size());
    while (all.size() < requests.size()) all.emplace_back(fail(code, message));  // a copy must not throw
    return all;
  };
  try {
    auto replies = server.answer_from(requests, senders);
    if (replies.size() == requests.size()) return replies;
    return all_fail(ErrorCode::kInternal, "the protocol lost a reply: please report this");
  } catch (const std::bad_alloc&) {
    return all_fail(ErrorCode::kResourceExhausted, "the server is out of memory: try again later");
  } catch (...) {
    return all_fail(ErrorCode::kInternal, "the protocol failed on this batch: please report this");
  }
}

constexpr const char* kTooMany =
    "so many queries take this server longer than it lets others wait: ask for fewer records at a time";

/// Whether a pass over the database made this reply: not masks, nor what a server says of a client's keys.
bool is_answer(ByteSpan reply) {
  const auto type = message_type(reply);
  return !type || *type == MessageType::kReply;
}

}  // namespace

Batcher::Batcher(const QueueOptions& limits, LogSink log, Metrics& metrics, ComputeThread& compute)
    : limits_(limits),
      log_(std::move(log)),
      metrics_(metrics),
      learned_(compute.now()),
      learned_few_(learned_),
      last_arrival_(compute.now() - std::chrono::minutes(1)),
      compute_(compute),
      seat_(compute_.add(*this)) {}

Batcher::~Batcher() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  compute_.remove(seat_);
  for (auto& job : queue_) finish(job, fail(ErrorCode::kUnavailable, {}));
}

void Batcher::measure(const AnyServer& server) noexcept try {
  const std::lock_guard lock(mutex_);
  const auto end = compute_.now() + kMeasuring;
  bool first = true;  // which may read from a disk
  for (const std::size_t queries : {std::size_t{1}, std::size_t{1}, kFew, 4 * kFew, 16 * kFew}) {
    const std::chrono::duration<double> left = end - compute_.now();
    const double longest = queries <= kFew ? left.count() : std::min(longest_pass(), left.count());
    if (queries > std::min(server.max_queries(), limits_.batch_max) || cost_.predict(queries) > longest) {
      return;
    }
    const Bytes sample = server.sample_request(queries);
    if (sample.empty()) return;
    const ByteSpan request = sample;
    const std::string_view nobody;
    const auto start = compute_.now();
    TimeLimit limit(start + duration(longest));
    const auto replies = answer_all(server, {&request, 1}, {&nobody, 1});
    const double seconds = std::chrono::duration<double>(compute_.now() - start).count();
    const bool stopped = limit.reached();
    if (!stopped && !replies.front()) return;
    // Of a pass that was stopped, too: it takes as long at least. The first, if there may be no other.
    if (!first || (!stopped && seconds > kMeasured)) cost_.learn(queries, seconds);
    if (stopped || (queries > kFew && seconds > kMeasured)) return;
    first = false;
  }
} catch (const std::bad_alloc&) {  // then requests show it
}

Result<Batcher::Ticket> Batcher::submit(std::shared_ptr<const AnyServer> server, PageBuffer request,
                                        std::size_t queries, ByteLease lease, Done done, Caller caller) {
  queries = std::max<std::size_t>(queries, 1);
  std::unique_lock lock(mutex_);
  if (stopping_) return fail(ErrorCode::kUnavailable, "the server is stopping: use another one");
  for (most_in_memory_ = limits_.batch_max; most_in_memory_ > 1 && !has_memory(*server, most_in_memory_);) {
    most_in_memory_ -= (most_in_memory_ + 7) / 8;
  }
  const bool full = queue_.size() >= limits_.max_queued_requests;
  const auto loser = full ? greediest_but(caller.client) : queue_.size();
  if (full && loser == queue_.size()) {
    return fail(ErrorCode::kResourceExhausted, "the server's queue is full: try again later");
  }
  const auto bytes = checked_add(server->max_reply_bytes(queries), lease.held());
  if (!bytes || !lease.resize(*bytes)) {
    return fail(ErrorCode::kResourceExhausted,
                "the server has too little memory left for another request of yours: try again later");
  }
  const double longest = longest_pass(compute_.next_tags(caller.client).due <= compute_.virtual_time());
  // The thread waits for a first request, or for enough of them.
  const auto is_awaited = [&] { return queue_.size() == 1 || queued_queries_ >= most_queries(longest); };
  if (const auto admitted = admit(caller, queries, longest); !admitted) {
    return tl::unexpected(admitted.error());
  }
  const auto ticket = next_ticket_++;
  note_arrival(compute_.now());
  enqueue({.ticket = ticket,
           .server = std::move(server),
           .request = std::move(request),
           .queries = queries,
           .lease = std::move(lease),
           .done = std::move(done),
           .caller = std::move(caller),
           .tried = takes_too_long(queries, longest) ? most_tried(longest) : 0},
          longest);
  std::optional<Job> evicted;
  if (full) evicted = take(loser);
  const bool wake = is_awaited();
  lock.unlock();
  if (wake) compute_.notify();
  if (evicted) {
    finish(*evicted, fail(ErrorCode::kResourceExhausted,
                          "the server's queue is full, and most of it is yours: try again later"));
  }
  return ticket;
}

bool Batcher::cancel(Ticket ticket) {
  std::optional<Job> removed;  // destroyed after the lock is let go: its callback may own a connection
  const std::lock_guard lock(mutex_);
  const auto at =
      std::find_if(queue_.begin(), queue_.end(), [&](const Job& job) { return job.ticket == ticket; });
  if (at == queue_.end()) {
    if (computing_ > 0) gone_.push_back(ticket);
    return false;
  }
  removed = take(static_cast<std::size_t>(at - queue_.begin()));
  settle(*removed, 0);
  return true;
}

std::chrono::duration<double> Batcher::backlog() const {
  const std::lock_guard lock(mutex_);
  const double longest = longest_pass(), own = seconds_left() + seconds_of(queued_queries_, longest);
  const auto most = most_queries(longest);
  return std::chrono::duration<double>(
      own + compute_.others_before(*seat_, {{.due = ComputeThread::kNever, .early = ComputeThread::kNever},
                                            own,
                                            queued_queries_ / most + 1,
                                            seconds_of_pass(most, longest),
                                            0}));
}

std::size_t Batcher::queued() const {
  const std::lock_guard lock(mutex_);
  return queue_.size();
}

std::optional<Batcher::Clock::time_point> Batcher::ready_at() const {
  const std::lock_guard lock(mutex_);
  if (queue_.empty()) return std::nullopt;
  const bool wait = !limits_.batch_window_adaptive || gap_ <= limits_.batch_window;
  const auto at = queue_.front().arrival + (wait ? limits_.batch_window : std::chrono::microseconds(0));
  // Every queue is asked this before every pass, and longest_pass() looks at all of them.
  if (at <= compute_.now()) return at;
  return queued_queries_ >= most_queries(longest_pass()) ? Clock::time_point::min() : at;
}

// --- all below under mutex_, up to next_batch()

void Batcher::enqueue(Job job, double longest) {
  // May fail for lack of memory, before anything has changed but an empty share.
  job.client = compute_.client(job.caller.client);
  auto& share = shares_[job.caller.client];
  job.arrival = compute_.now();
  job.price = price_of(share.queries, job.queries, longest);
  job.urgent = urgency(job.queries);
  queue_.push_back(std::move(job));
  auto& last = queue_.back();
  last.tags = compute_.enter(*last.client, last.price);
  if (last.tried > 0) {
    compute_.waste(*last.client, *seat_, last.tried, last.queries);
    last.tags.due = ComputeThread::kNever;
  }
  ++share.requests;
  share.queries += last.queries;
  queued_queries_ += last.queries;
  publish(longest);
}

void Batcher::publish(double longest) noexcept {
  const double time = compute_.virtual_time();
  const auto most = most_queries(longest);
  std::size_t due = 0, largest = 0, largest_due = 0;
  ComputeThread::Queued queued;
  const ComputeThread::Client* first_early = nullptr;
  for (const auto& job : queue_) {
    const auto rank = rank_of(job, time);
    if (!rank.early) {
      due += job.queries;
      largest_due = std::max(largest_due, job.queries);
    } else if (rank.order < queued.least_early) {
      first_early = job.client.get();
      queued.least_early = rank.order;
    }
    largest = std::max(largest, job.queries);
  }
  if (first_early) queued.first_early = compute_.first_early(*first_early);
  const double full = seconds_of_pass(std::max(largest, std::min(queued_queries_, most)), longest);
  const double with_early =
      kHardlyMore * seconds_of_pass(std::max(largest_due, std::min(due, most)), longest);
  queued.next_seconds = due == 0 ? full : std::min(full, with_early);
  queued.early_pass = full;
  queued.clients = shares_.size();
  queued.seconds = std::max(seconds_of(queued_queries_, longest), full);
  queued.due_seconds = due == 0 ? 0 : std::max(seconds_of(due, longest), 1e-9);
  compute_.set_queued(*seat_, queued);
}

double Batcher::seconds_of_pass(std::size_t queries, double longest) const {
  if (queries == 0) return 0;
  const double known = cost_.predict(queries);
  if (queries <= kFew) return known;
  return known > 0 ? std::min(known, longest) : longest;
}

double Batcher::seconds_left() const {
  if (computing_ == 0) return 0;
  const double passed = std::chrono::duration<double>(compute_.now() - computing_since_).count();
  // One that is overdue takes perhaps as long again.
  const double left = std::abs(seconds_of_pass(computing_, computing_limit_) - passed);
  return std::min(left, std::max(0.0, computing_limit_ - passed));
}

double Batcher::urgency(std::size_t queries) const {
  const double alone = cost_.predict(queries);
  return std::chrono::duration<double>(compute_.now().time_since_epoch()).count() +
         kPatience * (alone == 0 ? kUnknown * static_cast<double>(queries) : alone);
}

double Batcher::price_of(std::size_t before, std::size_t queries, double longest) const {
  if (cost_.predict(queries) == 0) return kUnknown;
  return std::max(0.0, seconds_of(before + queries, longest) - seconds_of(before, longest));
}

Batcher::Rank Batcher::rank_of(const Job& job, double virtual_time) {
  const double more = job.client->more() - job.tags.more;
  const bool early = job.tags.due + more > virtual_time;
  return {early, early ? job.tags.early + more : job.urgent};
}

double Batcher::seconds_of(std::size_t queries, double longest) const {
  // A request of more has a pass of its own.
  const auto each = queue_.empty() ? 0 : queued_queries_ / queue_.size();
  const auto most = std::max(most_queries(longest), each), full = queries / most, rest = queries % most;
  return static_cast<double>(full) * seconds_of_pass(most, longest) + seconds_of_pass(rest, longest);
}

double Batcher::time_of_passes() const {
  return kPartOfPasses * std::chrono::duration<double>(limits_.max_queue_time).count();
}

double Batcher::most_tried(double longest) const {
  return std::min(kMostTried, std::max(longest, std::min(kOverrun * longest, time_of_passes() / 3)));
}

double Batcher::longest_pass(bool due) const {
  const double time = time_of_passes();
  const auto [waiting, seconds, busy] = compute_.others_that_compute(*seat_, due);
  const double even = time / static_cast<double>(2 + waiting);
  const double left = (time - seconds) / (2 + std::min(1.0, busy));
  return std::max({even, left, kHardlyMore * cost_.predict(kFew)});
}

std::size_t Batcher::most_queries(double longest) const {
  std::size_t most = 1, more = std::min(limits_.batch_max, most_in_memory_);
  while (most < more) {
    const auto middle = most + (more - most + 1) / 2;
    if (cost_.predict_hopefully(middle) > longest || middle > cost_.room()) {
      more = middle - 1;
    } else {
      most = middle;
    }
  }
  return most;
}

bool Batcher::takes_too_long(std::size_t queries, double longest) const {
  return queries > kFew && (cost_.predict(queries) > longest || queries > cost_.room_of_one());
}

bool Batcher::is_tried(std::size_t queries, double left) {
  const bool idle = queue_.empty() && computing_ == 0 && compute_.others_that_compute(*seat_).wait == 0;
  if (idle && ++refused_idle_ % kProbe == 0) return true;
  // Where others compute, if what is known of its pass is from long ago only.
  return computing_ == 0 && compute_.now() >= learned_ + kDoubt && cost_.predict(queries) > left / 2;
}

Result<void> Batcher::admit(const Caller& caller, std::size_t queries, double longest) {
  const auto now = compute_.now();
  // If it is due, others that are go before it and share its pass, and early ones if that hardly makes it
  // longer. If it is early, so do others that are, and passes of due ones come in between.
  const auto most = most_queries(longest);
  auto tags = compute_.next_tags(caller.client);
  const double time = compute_.virtual_time();
  const bool tried = takes_too_long(queries, longest);
  if (tried) tags.due = ComputeThread::kNever;
  const bool due = tags.due <= time;
  const Rank rank{!due, due ? urgency(queries) : tags.early};
  std::vector<std::pair<Rank, std::size_t>> ahead;
  std::size_t alike = queries;  // with those that come after it
  for (const auto& job : queue_) {
    const auto its = rank_of(job, time);
    if (its.early != rank.early) continue;
    alike += job.queries;
    if (its <= rank) ahead.emplace_back(its, job.queries);
  }
  const auto all = queued_queries_ + queries, others = all - alike;
  std::size_t passes = 1, own = 0;
  double before = seconds_left();
  if ((due ? alike : all) > most) {
    std::sort(ahead.begin(), ahead.end());
    ahead.emplace_back(rank, queries);
    for (const auto& [its, more] : ahead) {
      if (own > 0 && own + more > most) {
        before += seconds_of_pass(own, longest);
        alike -= own;
        own = 0;
        ++passes;
      }
      own += more;
    }
    // Behind earlier passes, as many as wait now come meanwhile.
    if (passes > 1) alike *= 2;
  }
  own = std::max(queries, std::min(due ? alike : all, most));
  const double limit = own > kFew ? longest : kNoLimit,
               full = cost_.predict(std::max(own, std::min(all, most)));
  const double pass = std::min({(due ? kHardlyMore : 1) * cost_.predict(own), due ? full : kNoLimit, limit});
  const double wait = std::chrono::duration<double>(limits_.max_queue_time).count();
  before += compute_.others_before(
      *seat_, {tags, before, passes, pass, due || all <= most ? 0 : seconds_of(others, longest)});
  const auto end = before + pass;
  // An overloaded server admits requests until the last one is just in time. Without a margin, one pass that
  // is slower than predicted would make all of them late.
  const bool idle = queue_.empty() && computing_ == 0;
  const std::chrono::duration<double> left =
      caller.deadline == Clock::time_point::max() ? Clock::duration::max() : caller.deadline - now;
  // Before a due request of the next pass come no more than are known.
  const auto useful = idle || (due && passes == 1) ? left : kPartOfWait * left;
  if (tried && !compute_.may_waste(caller.client, *seat_, queries)) {
    return fail(ErrorCode::kResourceExhausted, kTooMany);
  }
  if (before <= wait && end <= useful.count()) return {};
  if (left.count() > 0 && is_tried(queries, left.count())) return {};
  return fail(ErrorCode::kResourceExhausted,
              "the server has more to do than it can before " +
                  std::string(end > useful.count() ? "your deadline" : "its limit") +
                  ": try again later, or use another server");
}

std::size_t Batcher::greediest_but(const std::string& client) const {
  const auto greediest = std::max_element(shares_.begin(), shares_.end(), [](const auto& a, const auto& b) {
    return a.second.requests < b.second.requests;
  });
  const auto own = shares_.find(client);
  const auto mine = own == shares_.end() ? 0 : own->second.requests;
  if (greediest == shares_.end() || greediest->second.requests <= mine + 1) return queue_.size();
  for (auto at = queue_.size(); at-- > 0;) {
    if (queue_[at].caller.client == greediest->first) return at;
  }
  return queue_.size();
}

void Batcher::note_arrival(Clock::time_point now) {
  // A pause counts as a few windows, so that the first request after it is answered at once.
  const auto longest = 4.0 * std::chrono::duration<double>(limits_.batch_window);
  const std::chrono::duration<double> gap = now - last_arrival_;
  gap_ = (std::min(gap_, longest) + std::min(gap, longest)) / 2;
  last_arrival_ = now;
}

Batcher::Job Batcher::take(std::size_t at) {
  const auto where = queue_.begin() + static_cast<std::ptrdiff_t>(at);
  Job job = std::move(*where);
  queue_.erase(where);
  leave(job);
  const double longest = longest_pass();
  hand_on(job, longest);
  publish(longest);
  return job;
}

void Batcher::leave(const Job& job) noexcept {
  queued_queries_ -= job.queries;
  const auto share = shares_.find(job.caller.client);
  share->second.queries -= job.queries;
  if (--share->second.requests == 0) shares_.erase(share);
}

void Batcher::hand_on(Job& job, double longest) noexcept {
  const auto other =
      std::find_if(queue_.begin(), queue_.end(), [&](const Job& one) { return one.client == job.client; });
  if (other == queue_.end()) return;
  const auto rest = shares_.find(job.caller.client)->second.queries;
  const double part = std::max(0.0, job.price - price_of(rest, job.queries, longest));
  job.price -= part;
  other->price += part;
}

void Batcher::move_marked(std::vector<Job>& to, double longest) {
  // Not std::stable_partition: clang 19 refuses what gcc 12's library makes of it.
  to.reserve(to.size() + queue_.size());
  auto kept = queue_.begin();
  for (auto& job : queue_) {
    if (job.leaves) {
      leave(job);
      to.push_back(std::move(job));
    } else {
      if (&*kept != &job) *kept = std::move(job);
      ++kept;
    }
  }
  queue_.erase(kept, queue_.end());
  publish(longest);
}

bool Batcher::has_memory(const AnyServer& server, std::size_t queries) const {
  const auto bytes = saturated_add(server.pass_bytes(), server.working_bytes(queries));
  return queries <= server.max_queries() || bytes <= compute_.pass_bytes();
}

void Batcher::mark_batch(double longest, bool early) {
  // Whose turn it is: first those that the pass is for, due or early. Of these and of the others, who will be
  // late comes last; then by rank.
  const double time = compute_.virtual_time();
  const auto clients = compute_.clients_that_wait();
  const bool alone = clients <= 1;
  auto most = most_queries(longest);
  const auto now = compute_.now();
  const auto end = now + duration(seconds_of_pass(std::min(queued_queries_, most), longest));
  std::vector<std::tuple<bool, bool, Rank, std::size_t>> turns;
  turns.reserve(queue_.size());
  for (std::size_t i = 0; i < queue_.size(); ++i) {
    const auto rank = rank_of(queue_[i], time);
    turns.emplace_back(rank.early != early, queue_[i].caller.deadline <= end, rank, i);
  }
  std::sort(turns.begin(), turns.end());

  const AnyServer* server = nullptr;
  std::size_t queries = 0;
  std::unordered_map<const ComputeThread::Client*, std::size_t> of_client;  // of the queries
  // Where the pass begins with due requests of several clients: how many seconds it may take with early ones.
  // Where it begins early and other databases wait: with those that are far behind the first, unless the pass
  // makes them cheap.
  bool begins_early = alone;
  std::shared_ptr<ComputeThread::Client> beginner;
  double with_early = 0, not_behind = ComputeThread::kNever;
  const bool others_wait = !alone && compute_.others_that_compute(*seat_).wait > 0;
  for (const auto& [after, late, rank, i] : turns) {
    auto& job = queue_[i];
    const bool first = server == nullptr;
    if (first) begins_early |= rank.early;
    if (first) beginner = job.client;
    if (first && job.queries <= kFew && now >= learned_few_ + few_trust_) most = std::min(most, kFew);
    if (first && rank.early && others_wait) not_behind = rank.order + kBehind;
    if (!first && job.server.get() != server) continue;
    if (rank.early && (!begins_early || rank.order > not_behind)) {
      if (with_early == 0) with_early = kHardlyMore * cost_.predict(queries);
      const double with = cost_.predict(queries + job.queries);
      // Each of many small requests is cheap where one large one is not: in another one's turn all count
      // together.
      const auto own = of_client[job.client.get()];
      const double without = cost_.predict(queries - own);
      const bool all_cheap =
          own == 0 || clients <= 2 || job.client == beginner || with - without <= kOfOneClient * without;
      const bool cheap =
          begins_early && with - cost_.predict(queries) <= kCheap * cost_.predict(job.queries) && all_cheap;
      if (with >= with_early && !cheap) continue;
    }
    if (!first && job.queries > most - std::min(queries, most)) break;
    if (!first && !has_memory(*job.server, queries + job.queries)) break;
    server = job.server.get();
    queries += job.queries;
    of_client[job.client.get()] += job.queries;
    job.leaves = true;
  }
}

void Batcher::refuse_hopeless() noexcept {
  std::vector<Job> hopeless;
  try {
    std::unique_lock lock(mutex_);
    if (stopping_ || queue_.empty()) return;
    hopeless.reserve(queue_.size());  // or what is marked would stay, and leave with the next batch
    const auto now = compute_.now();
    const double longest = longest_pass();
    for (auto& job : queue_) job.leaves = job.caller.deadline <= now;
    move_marked(hopeless, longest);  // publishes anew whose turn it is after the last pass
    for (auto& job : hopeless) hand_on(job, longest);
    lock.unlock();
  } catch (...) {  // out of memory: they wait until there is some, or are told without words
  }
  for (auto& job : hopeless) {
    finish(job, fail(ErrorCode::kUnavailable, {}));
  }
}

void Batcher::next_batch(std::vector<Job>& batch, bool early) {
  std::unique_lock lock(mutex_);
  if (queue_.empty() || stopping_) return;
  const double longest = longest_pass();  // as long as its clients wait
  batch.reserve(queue_.size());           // or what is marked would stay, and leave with another batch
  mark_batch(longest, early);
  move_marked(batch, longest);
  for (const auto& job : batch) computing_ += job.queries;
  gone_.clear();
  computing_since_ = compute_.now();
  double tried = 0;
  for (const auto& job : batch) tried = std::max(tried, job.tried);
  const double limit = tried > 0 ? std::max(longest, tried) : kOverrun * longest;
  computing_limit_ = computing_ > kFew ? limit : kNoLimit;
  const double predicted = seconds_of_pass(computing_, computing_limit_);
  lock.unlock();
  compute_.note_pass(*seat_, predicted);
}

void Batcher::put_back(std::vector<Job>& batch) {
  const std::lock_guard lock(mutex_);
  cost_.note_stopped(computing_, computing_limit_);
  if (batch.size() == 1) return;
  // May fail for lack of memory, before anything has changed but empty shares.
  for (const auto& job : batch) shares_[job.caller.client];
  batch.reserve(batch.size() + queue_.size());
  queue_.insert(queue_.begin(), std::move_iterator(batch.begin()), std::move_iterator(batch.end()));
  for (std::size_t i = 0; i < batch.size(); ++i) {
    auto& job = queue_[i];
    job.leaves = std::find(gone_.begin(), gone_.end(), job.ticket) != gone_.end();
    auto& share = shares_.find(job.caller.client)->second;
    ++share.requests;
    share.queries += job.queries;
    queued_queries_ += job.queries;
  }
  batch.clear();
  move_marked(batch, longest_pass());
}

void Batcher::learn(const std::vector<Job>& batch, const std::vector<Result<Bytes>>& replies,
                    double seconds) {
  std::size_t computed = 0, refused = 0;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    if (!replies[i]) {
      refused += batch[i].queries;
    } else if (is_answer(*replies[i])) {
      computed += batch[i].queries;
    }
  }
  const std::lock_guard lock(mutex_);
  // Queries that the protocol refused took no time and say nothing about the cost of others, unless the
  // pass took longer than with all of them or, while nothing is known, than any pass should. What part of
  // it they took is not known then.
  const double with_all = cost_.predict(computed + refused);
  const bool first = with_all == 0, slow = seconds > (first ? longest_pass() : with_all);
  if (slow) computed = first ? std::max<std::size_t>(computed, refused > 0) : computed + refused;
  if (computed == 0) return;
  const double expected = cost_.predict(computed);
  learned_ = compute_.now();
  cost_.learn(computed, seconds);
  if (std::max(seconds, expected) > kSurprise * std::min(seconds, expected)) {
    few_trust_ = kDoubtOfFew;
  } else if (computed <= kFew && learned_ >= learned_few_ + few_trust_) {
    few_trust_ = std::min<Clock::duration>(2 * few_trust_, kMostTrust);
  }
  if (computed <= kFew) learned_few_ = learned_;
}

void Batcher::compute(std::vector<Job>& batch) {
  std::vector<ByteSpan> requests;
  std::vector<std::string_view> senders;
  requests.reserve(batch.size());
  senders.reserve(batch.size());
  std::size_t queries = 0;
  for (auto& job : batch) {
    requests.emplace_back(job.request);
    senders.emplace_back(job.caller.client);
    queries += job.queries;
  }
  const auto start = compute_.now();
  std::optional<TimeLimit> limit(std::in_place, start + duration(computing_limit_));
  auto replies = answer_all(*batch.front().server, requests, senders);
  const bool stopped = limit->reached();
  limit.reset();  // callbacks have none
  const auto end = compute_.now();
  const double seconds = std::chrono::duration<double>(end - start).count();
  try {
    charge(batch, seconds, stopped);
  } catch (const std::bad_alloc&) {  // then some do not pay
  }
  if (stopped) {
    for (auto& reply : replies) reply = fail(ErrorCode::kResourceExhausted, kTooMany);
    ++metrics_.stopped_passes;
  } else {
    learn(batch, replies, seconds);
  }
  metrics_.pass_queries.add(static_cast<double>(queries));
  metrics_.pass_seconds.add(seconds);
  // Logged before the replies leave: who has a reply can find its batch in the log.
  write_log(log_, [&] {
    return LogEvent{"batch",
                    {},
                    {{"requests", static_cast<double>(batch.size())},
                     {"queries", static_cast<double>(queries)},
                     {"queue_ms", to_ms(start - batch.front().arrival)},
                     {"compute_ms", to_ms(end - start)},
                     {"stopped", stopped ? 1.0 : 0.0}}};
  });
  if (stopped) put_back(batch);
  for (std::size_t i = 0; i < batch.size(); ++i) {
    auto& job = batch[i];
    metrics_.queue_seconds.add(std::chrono::duration<double>(start - job.arrival).count());
    job.request = {};
    // The reply stays charged until it is written.
    if (!job.lease.resize(replies[i] ? replies[i]->size() : 0)) {
      replies[i] =
          fail(ErrorCode::kResourceExhausted, "the server holds too many bytes of replies: try again later");
    }
    finish(job, std::move(replies[i]));
  }
}

void Batcher::charge(std::vector<Job>& batch, double seconds, bool stopped) {
  std::unordered_map<const ComputeThread::Client*, std::size_t> queries;  // of each client
  const std::lock_guard lock(mutex_);
  for (const auto& job : batch) queries[job.client.get()] += job.queries;
  const double all = cost_.predict(computing_);
  for (auto& job : batch) {
    const std::size_t asked = queries.find(job.client.get())->second;
    // Nobody pays for a stopped pass who asked for few.
    if (stopped && asked <= kFew) continue;
    const double alone = cost_.predict(asked);
    const double of_pass = asked < computing_ && alone < all ? alone / all : 1;
    const double part = seconds * of_pass * static_cast<double>(job.queries) / static_cast<double>(asked);
    if (stopped) {
      compute_.settle(*job.client, job.tags, 0, part);
      job.tried = 0;  // wasted
    } else {
      settle(job, part);
    }
  }
}

void Batcher::settle(Job& job, double seconds) noexcept {
  compute_.settle(*job.client, job.tags, std::exchange(job.price, 0), seconds);
  if (job.tried > 0) compute_.give_back(*job.client, *seat_, std::exchange(job.tried, 0));
}

void Batcher::finish(Job& job, Result<Bytes> reply) noexcept {
  settle(job, 0);
  try {
    const auto done = std::exchange(job.done, nullptr);
    if (done) done(std::move(reply), std::move(job.lease));
  } catch (...) {  // out of memory in the callback: its connection ends by its own limits
  }
}

void Batcher::pass(bool early) noexcept {
  std::vector<Job> batch;
  // Only memory can run out here; whoever has no reply by then is told so, without allocating for it.
  try {
    next_batch(batch, early);
    if (!batch.empty()) compute(batch);
  } catch (...) {
  }
  for (auto& job : batch) finish(job, fail(ErrorCode::kResourceExhausted, {}));
  const std::lock_guard lock(mutex_);
  computing_ = 0;
}

}  // namespace pirx::http
