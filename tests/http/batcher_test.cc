// SPDX-License-Identifier: Apache-2.0
// Batching without sockets: who is answered with whom, when, and what happens at each limit.
#include "service/http/batcher.h"

#include <gtest/gtest.h>

#include <random>

#include "http/http_support.h"
#include "support/seed.h"

namespace pirx::http {
namespace {

using namespace testing;

/// Collects what a batcher answers.
class Answers {
 public:
  Batcher::Done keep(const std::string& name) {
    return [this, name](Result<Bytes> reply, ByteLease lease) {
      const std::lock_guard lock(mutex_);
      texts_[name] = reply ? text_of(*reply) : std::string(error_code_name(reply.error().code()));
      leases_.push_back(std::move(lease));
      ++count_;
    };
  }
  bool wait_for(std::size_t count) {
    return eventually([&] {
      const std::lock_guard lock(mutex_);
      return count_ >= count;
    });
  }
  std::string of(const std::string& name) {
    const std::lock_guard lock(mutex_);
    return texts_.count(name) ? texts_[name] : "none";
  }
  std::size_t count() {
    const std::lock_guard lock(mutex_);
    return count_;
  }
  void drop_leases() {
    const std::lock_guard lock(mutex_);
    leases_.clear();
  }

 private:
  std::mutex mutex_;
  std::map<std::string, std::string> texts_;
  std::vector<ByteLease> leases_;
  std::size_t count_ = 0;
};

/// Limits of a batcher that always waits for its window.
QueueOptions patient(std::chrono::microseconds window, std::size_t max_queries, std::size_t max_queued) {
  QueueOptions limits;
  limits.batch_window = window;
  limits.batch_max = max_queries;
  limits.max_queued_requests = max_queued;
  limits.batch_window_adaptive = false;
  return limits;
}

struct Rig {
  explicit Rig(const QueueOptions& limits = {}, std::size_t budget_bytes = 1 << 20)
      : budget(budget_bytes), batcher(limits, log.sink(), metrics, compute) {}
  ~Rig() { fake->release(); }
  Result<Batcher::Ticket> submit(const std::string& text, std::size_t queries = 1, Caller caller = {}) {
    ByteLease lease(budget);
    EXPECT_TRUE(lease.resize(text.size()));
    return batcher.submit(fake, pages_of(text), queries, std::move(lease), answers.keep(text),
                          std::move(caller));
  }
  /// One more request is inside answer(), which waits.
  void hold_with_one() {
    const auto before = fake->batches().size();
    fake->hold();
    ASSERT_TRUE(submit("first"));
    ASSERT_TRUE(eventually([&] { return fake->batches().size() == before + 1; }));
  }
  /// Lets a pass show how long passes take. Before that nothing is known, so nothing is refused.
  void teach(std::chrono::milliseconds delay) {
    fake->delay = delay;
    ASSERT_TRUE(submit("teach"));
    ASSERT_TRUE(answers.wait_for(1));
  }
  /// So many answers have come, and nothing is under way.
  void settle(std::size_t count) {
    ASSERT_TRUE(answers.wait_for(count));
    ASSERT_TRUE(eventually([&] { return batcher.backlog().count() == 0.0; }));
  }
  /// Once nothing is under way. What is known of passes says that one of so many takes longer.
  void expect_a_hundred_to_take(std::chrono::milliseconds time) {
    ASSERT_TRUE(eventually([&] { return batcher.backlog().count() == 0.0; }));
    expect_error(submit("many", 100, {"", Clock::now() + time}), ErrorCode::kResourceExhausted);
  }
  std::shared_ptr<FakeServer> fake = std::make_shared<FakeServer>();
  LogKeeper log;
  ByteBudget budget;
  Answers answers;
  Metrics metrics;
  ComputeThread compute;
  Batcher batcher;
};

TEST(Batcher, ALoneRequestWaitsForTheWindowOnly) {
  Rig rig(patient(20ms, 256, 10));
  const auto start = Clock::now();
  ASSERT_TRUE(rig.submit("abc"));
  ASSERT_TRUE(rig.answers.wait_for(1));
  EXPECT_GE(ms_since(start), 20);
  EXPECT_EQ(rig.answers.of("abc"), "cba");
}

TEST(Batcher, AFullBatchDoesNotWaitForTheWindow) {
  Rig rig(patient(1h, 3, 10));
  for (const char* text : {"ab", "cd", "ef"}) ASSERT_TRUE(rig.submit(text));
  ASSERT_TRUE(rig.answers.wait_for(3));
  EXPECT_EQ(rig.fake->batches(), std::vector<std::size_t>{3});
  EXPECT_EQ(rig.answers.of("ef"), "fe");
  const auto logged = rig.log.of("batch");
  ASSERT_EQ(logged.size(), 1u);
  EXPECT_EQ(logged[0].numbers[0], (std::pair<std::string, double>("requests", 3)));
  EXPECT_EQ(logged[0].numbers[1], (std::pair<std::string, double>("queries", 3)));
}

TEST(Batcher, ArrivalsDuringABatchFormTheNext) {
  Rig rig(patient(1ms, 256, 10));
  rig.hold_with_one();
  for (const char* text : {"ab", "cd", "ef"}) ASSERT_TRUE(rig.submit(text));
  std::this_thread::sleep_for(20ms);
  EXPECT_EQ(rig.fake->batches().size(), 1u);
  rig.fake->release();
  ASSERT_TRUE(rig.answers.wait_for(4));
  EXPECT_EQ(rig.fake->batches(), (std::vector<std::size_t>{1, 3}));
}

TEST(Batcher, CountsQueriesNotRequestsAndKeepsTheOrder) {
  Rig rig(patient(1ms, 4, 10));
  rig.teach(0ms);
  rig.hold_with_one();
  ASSERT_TRUE(rig.submit("b2", 2));
  ASSERT_TRUE(rig.submit("c2", 2));
  ASSERT_TRUE(rig.submit("d9", 9));  // alone it exceeds a batch, and runs alone
  ASSERT_TRUE(rig.submit("e3", 3));
  ASSERT_TRUE(rig.submit("f2", 2));  // does not fit beside e3
  ASSERT_TRUE(rig.submit("g1", 1));
  rig.fake->release();
  ASSERT_TRUE(rig.answers.wait_for(8));
  EXPECT_EQ(rig.fake->batches(), (std::vector<std::size_t>{1, 1, 2, 1, 1, 2}));
  EXPECT_EQ(rig.fake->seen(),
            (std::vector<std::string>{"teach", "first", "b2", "c2", "d9", "e3", "f2", "g1"}));
}

TEST(Batcher, AFullQueueRefusesAtArrival) {
  Rig rig(patient(1ms, 256, 2));
  rig.hold_with_one();
  ASSERT_TRUE(rig.submit("ab"));
  ASSERT_TRUE(rig.submit("cd"));
  const auto refused = rig.submit("ef");
  expect_error(refused, ErrorCode::kResourceExhausted);
  rig.fake->release();
  ASSERT_TRUE(rig.answers.wait_for(3));
  EXPECT_EQ(rig.answers.of("ef"), "none");
  EXPECT_TRUE(rig.submit("gh"));
  EXPECT_TRUE(rig.answers.wait_for(4));
}

TEST(Batcher, CancelledBeforeItsBatchIsNeverComputed) {
  Rig rig(patient(1ms, 256, 10));
  rig.hold_with_one();
  const auto ab = rig.submit("ab");
  ASSERT_TRUE(ab);
  ASSERT_TRUE(rig.submit("cd"));
  EXPECT_TRUE(rig.batcher.cancel(*ab));
  EXPECT_FALSE(rig.batcher.cancel(*ab));
  EXPECT_FALSE(rig.batcher.cancel(12345));
  rig.fake->release();
  ASSERT_TRUE(rig.answers.wait_for(2));
  EXPECT_EQ(rig.fake->seen(), (std::vector<std::string>{"first", "cd"}));
  EXPECT_EQ(rig.answers.of("ab"), "none");
}

TEST(Batcher, CancelledWhileItsWindowRunsLeavesAnIdleBatcher) {
  Rig rig(patient(500ms, 256, 10));
  const auto ab = rig.submit("ab");
  ASSERT_TRUE(ab);
  EXPECT_TRUE(rig.batcher.cancel(*ab));
  std::this_thread::sleep_for(600ms);
  EXPECT_TRUE(rig.fake->batches().empty());
  ASSERT_TRUE(rig.submit("cd"));
  EXPECT_TRUE(rig.answers.wait_for(1));
}

// Or it would be answered, and those at other databases, for next to nothing.
TEST(Batcher, ARequestThatWasCancelledIsPaidForByThoseBehindIt) {
  Rig rig(patient(1ms, 256, 10));
  rig.teach(200ms);
  rig.hold_with_one();
  const auto first = rig.submit("a1", 1, {"a"});
  ASSERT_TRUE(first);
  const auto second = rig.submit("a2", 1, {"a"});
  ASSERT_TRUE(second);
  const auto owed = [&] { return rig.compute.next_tags("a").due - rig.compute.virtual_time(); };
  EXPECT_TRUE(rig.batcher.cancel(*first));
  EXPECT_GT(owed(), 0.1);
  EXPECT_TRUE(rig.batcher.cancel(*second));
  EXPECT_LT(owed(), 0.1);
  rig.fake->release();
}

TEST(Batcher, CancelIsTooLateOnceComputing) {
  Rig rig(patient(1ms, 256, 10));
  rig.fake->hold();
  const auto ticket = rig.submit("ab");
  ASSERT_TRUE(eventually([&] { return rig.fake->batches().size() == 1; }));
  EXPECT_FALSE(rig.batcher.cancel(*ticket));
  rig.fake->release();
  EXPECT_TRUE(rig.answers.wait_for(1));
}

TEST(Batcher, BytesAreChargedUntilTheReplyIsGone) {
  Rig rig(patient(1ms, 256, 10), 100);
  ASSERT_TRUE(rig.submit("abcd"));
  ASSERT_TRUE(rig.answers.wait_for(1));
  EXPECT_EQ(rig.budget.used(), 4u);  // the reply's
  rig.answers.drop_leases();
  EXPECT_EQ(rig.budget.used(), 0u);
}

TEST(Batcher, RepliesAreChargedAtArrival) {
  Rig rig(patient(1ms, 256, 10), 100);
  rig.fake->reply_per_query = 30;
  rig.hold_with_one();
  EXPECT_EQ(rig.budget.used(), 5u + 30u);
  ASSERT_TRUE(rig.submit("ab", 2));
  EXPECT_EQ(rig.budget.used(), 35u + 62u);
  const auto refused = rig.submit("c");
  expect_error(refused, ErrorCode::kResourceExhausted);
  EXPECT_EQ(rig.budget.used(), 35u + 62u);
  rig.fake->release();
  ASSERT_TRUE(rig.answers.wait_for(2));
  EXPECT_EQ(rig.budget.used(), 5u + 2u);  // the replies'
  EXPECT_EQ(rig.fake->seen(), (std::vector<std::string>{"first", "ab"}));
}

/// Or a few clients whose requests wait have the memory that computing one takes, and others none.
TEST(Batcher, APassHasAsManyQueriesAsThereIsMemoryFor) {
  Rig rig(patient(1ms, 256, 10), 100);
  rig.fake->most_queries = 1;  // for which there is always memory
  rig.fake->working_per_query = 30;
  rig.compute.set_pass_bytes(89);
  rig.hold_with_one();
  for (const char* text : {"a", "b", "c", "d", "e"}) ASSERT_TRUE(rig.submit(text));
  EXPECT_EQ(rig.budget.used(), 5u + 5u);
  rig.fake->release();
  ASSERT_TRUE(rig.answers.wait_for(6));
  EXPECT_EQ(rig.fake->batches(), (std::vector<std::size_t>{1, 2, 2, 1}));
  ASSERT_TRUE(eventually([&] { return rig.budget.used() == 5u + 5u; }));  // the replies'
}

TEST(Batcher, AReplyLongerThanTheProtocolSaidIsRefused) {
  Rig rig(patient(1ms, 256, 10), 100);
  rig.fake->reply_bytes = 101;
  ASSERT_TRUE(rig.submit("ab"));
  ASSERT_TRUE(rig.answers.wait_for(1));
  EXPECT_EQ(rig.answers.of("ab"), "ResourceExhausted");
  rig.answers.drop_leases();
  EXPECT_EQ(rig.budget.used(), 0u);
}

TEST(Batcher, AHugeQueryCountDoesNotOverflow) {
  Rig rig(patient(1ms, 256, 10));
  const auto refused = rig.submit("cd", SIZE_MAX);
  expect_error(refused, ErrorCode::kResourceExhausted);
}

TEST(Batcher, ABadRequestFailsAlone) {
  Rig rig(patient(1ms, 256, 10));
  rig.hold_with_one();
  ASSERT_TRUE(rig.submit("ab"));
  ASSERT_TRUE(rig.submit("a7"));
  rig.fake->release();
  ASSERT_TRUE(rig.answers.wait_for(3));
  EXPECT_EQ(rig.answers.of("ab"), "ba");
  EXPECT_EQ(rig.answers.of("a7"), "StaleEpoch");
}

TEST(Batcher, AFailingProtocolIsAnErrorForItsBatchOnly) {
  Rig rig(patient(1ms, 256, 10));
  const auto answer_of = [&](const std::string& text) {
    const auto before = rig.answers.count();
    EXPECT_TRUE(rig.submit(text));
    EXPECT_TRUE(rig.answers.wait_for(before + 1));
    return rig.answers.of(text);
  };
  rig.fake->throw_bad_alloc = true;
  EXPECT_EQ(answer_of("1"), "ResourceExhausted");
  rig.fake->throw_bad_alloc = false;
  rig.fake->throw_other = true;
  EXPECT_EQ(answer_of("2"), "Internal");
  rig.fake->throw_other = false;
  rig.fake->lose_a_reply = true;
  EXPECT_EQ(answer_of("3"), "Internal");
  rig.fake->lose_a_reply = false;
  EXPECT_EQ(answer_of("45"), "54");
}

TEST(Batcher, ALostReplyIsAnErrorForAllOfItsBatch) {
  Rig rig(patient(1h, 2, 10));
  rig.fake->lose_a_reply = true;
  for (const char* text : {"ab", "cd"}) ASSERT_TRUE(rig.submit(text));
  ASSERT_TRUE(rig.answers.wait_for(2));
  EXPECT_EQ(rig.answers.of("ab"), "Internal");
  EXPECT_EQ(rig.answers.of("cd"), "Internal");
}

TEST(Batcher, ACallbackThatThrowsHurtsNobodyElse) {
  Rig rig(patient(1ms, 256, 10));
  ASSERT_TRUE(rig.batcher.submit(rig.fake, pages_of("x"), 1, {},
                                 [](Result<Bytes>, ByteLease) { throw std::bad_alloc(); }));
  ASSERT_TRUE(rig.submit("ab"));
  EXPECT_TRUE(rig.answers.wait_for(1));
}

TEST(Batcher, RequestsAreAnsweredByWhoAdmittedThem) {
  Rig rig(patient(1ms, 256, 10));
  auto next = std::make_shared<FakeServer>();
  const std::weak_ptr<FakeServer> watched = next;
  rig.hold_with_one();
  ASSERT_TRUE(rig.submit("old"));
  for (const char* text : {"new", "newer"}) {
    ASSERT_TRUE(rig.batcher.submit(next, pages_of(text), 1, {}, rig.answers.keep(text)));
  }
  ASSERT_TRUE(rig.submit("late"));
  rig.fake->release();
  ASSERT_TRUE(rig.answers.wait_for(5));
  EXPECT_EQ(rig.fake->seen(), (std::vector<std::string>{"first", "old", "late"}));
  EXPECT_EQ(next->seen(), (std::vector<std::string>{"new", "newer"}));
  EXPECT_EQ(next->batches(), std::vector<std::size_t>{2});
  // Nothing keeps a server whose requests are answered.
  next.reset();
  EXPECT_TRUE(eventually([&] { return watched.expired(); }));
}

TEST(Batcher, AnIdleBatcherDoesNotWaitForItsWindow) {
  QueueOptions limits;
  limits.batch_window = 60s;
  Rig rig(limits);
  ASSERT_TRUE(rig.submit("abc"));
  EXPECT_TRUE(rig.answers.wait_for(1));  // gives up long before the window
}

TEST(Batcher, ABusyBatcherWaitsForItsWindow) {
  QueueOptions limits;
  limits.batch_window = 60s;
  limits.batch_max = 8;
  Rig rig(limits);
  rig.hold_with_one();
  for (int i = 0; i < 6; ++i) ASSERT_TRUE(rig.submit("b" + std::to_string(i)));
  rig.fake->release();
  std::this_thread::sleep_for(20ms);
  EXPECT_EQ(rig.fake->batches().size(), 1u);
  ASSERT_TRUE(rig.submit("c"));
  ASSERT_TRUE(rig.submit("d"));
  ASSERT_TRUE(rig.answers.wait_for(9));
  EXPECT_EQ(rig.fake->batches(), (std::vector<std::size_t>{1, 8}));
}

TEST(Batcher, ClientsTakeTurnsWhenMoreWaitThanABatchHolds) {
  Rig rig(patient(1ms, 4, 100));
  rig.hold_with_one();
  for (const char* text : {"a1", "a2", "a3", "a4", "a5", "a6", "a7"}) ASSERT_TRUE(rig.submit(text, 1, {"a"}));
  ASSERT_TRUE(rig.submit("b1", 1, {"b"}));
  ASSERT_TRUE(rig.submit("b2", 1, {"b"}));
  ASSERT_TRUE(rig.submit("c1", 2, {"c"}));
  rig.fake->release();
  ASSERT_TRUE(rig.answers.wait_for(11));
  EXPECT_EQ(rig.fake->batches(), (std::vector<std::size_t>{1, 3, 4, 3}));  // one of each client first
  EXPECT_EQ(rig.fake->seen(),
            (std::vector<std::string>{"first", "a1", "b1", "c1", "a2", "a3", "a4", "b2", "a5", "a6", "a7"}));
}

TEST(Batcher, EverNewClientsDoNotKeepOutWhoWaits) {
  Rig rig(patient(1ms, 1, 100));
  rig.teach(20ms);
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(rig.submit("a" + std::to_string(i), 1, {"a"}));
  for (int i = 0; i < 40; ++i) ASSERT_TRUE(rig.submit("n" + std::to_string(i), 1, {std::to_string(i)}));
  ASSERT_TRUE(rig.answers.wait_for(51));
  const auto seen = rig.fake->seen();
  EXPECT_LT(std::find(seen.begin(), seen.end(), "a4") - seen.begin(), 25);  // they have a quarter
}

TEST(Batcher, WhoWantsMuchDoesNotHoldUpWhoWantsLittle) {
  Rig rig(patient(1ms, 4, 100));
  rig.teach(100ms);
  rig.hold_with_one();
  for (const char* text : {"a", "b", "c"}) ASSERT_TRUE(rig.submit(text, 4, {text}));
  for (const char* text : {"v1", "w1"}) ASSERT_TRUE(rig.submit(text, 1, {{text[0]}}));
  rig.fake->release();
  ASSERT_TRUE(rig.answers.wait_for(7));
  const auto seen = rig.fake->seen();
  EXPECT_EQ((std::vector<std::string>{seen.begin() + 2, seen.end()}),
            (std::vector<std::string>{"v1", "w1", "a", "b", "c"}));
  EXPECT_EQ(rig.fake->batches(), (std::vector<std::size_t>{1, 1, 2, 1, 1, 1}));
}

TEST(Batcher, WhoWantsLittleDoesNotHoldUpWhoWantsMuchForEver) {
  Rig rig(patient(1ms, 4, 100));
  rig.fake->delay = 20ms;  // the held pass takes hardly longer
  rig.hold_with_one();
  for (int i = 0; i < 6; ++i) {
    for (const char* client : {"a", "b"}) ASSERT_TRUE(rig.submit(client + std::to_string(i), 1, {client}));
  }
  ASSERT_TRUE(rig.submit("large", 3, {"large"}));
  rig.fake->release();
  ASSERT_TRUE(rig.answers.wait_for(14));
  EXPECT_EQ(rig.fake->seen(), (std::vector<std::string>{"first", "a0", "b0", "a1", "large", "b1", "a2", "b2",
                                                        "a3", "b3", "a4", "b4", "a5", "b5"}));
  EXPECT_EQ(rig.fake->batches(), (std::vector<std::size_t>{1, 2, 2, 4, 4, 1}));
}

TEST(Batcher, ACrowdOfSmallRequestsDoesNotHoldUpALargeOne) {
  Rig rig(patient(1ms, 4, 100));
  rig.teach(0ms);
  rig.hold_with_one();
  ASSERT_TRUE(rig.submit("large", 4, {"large"}));
  for (int i = 0; i < 40; ++i) ASSERT_TRUE(rig.submit("s" + std::to_string(i), 1, {std::to_string(i)}));
  rig.fake->release();
  ASSERT_TRUE(rig.answers.wait_for(43));
  const auto seen = rig.fake->seen();
  EXPECT_LE(std::find(seen.begin(), seen.end(), "large") - seen.begin(), 6);
}

TEST(Batcher, AFullQueueMakesRoomAtTheCostOfWhoHasMost) {
  Rig rig(patient(1ms, 256, 3));
  rig.hold_with_one();
  for (const char* text : {"a1", "a2", "a3"}) ASSERT_TRUE(rig.submit(text, 1, {"a"}));
  EXPECT_FALSE(rig.submit("a4", 1, {"a"}));
  ASSERT_TRUE(rig.submit("b1", 1, {"b"}));
  EXPECT_EQ(rig.answers.of("a3"), "ResourceExhausted");  // told at once
  EXPECT_FALSE(rig.submit("b2", 1, {"b"}));              // a has no more than b would have
  EXPECT_EQ(rig.batcher.queued(), 3u);
  rig.fake->release();
  ASSERT_TRUE(rig.answers.wait_for(5));
  EXPECT_EQ(rig.fake->seen(), (std::vector<std::string>{"first", "a1", "a2", "b1"}));
}

TEST(Batcher, WhoseDeadlineHasPassedIsNotComputed) {
  Rig rig(patient(1ms, 256, 10));
  rig.hold_with_one();
  ASSERT_TRUE(rig.submit("late", 1, {"a", Clock::now() + 300ms}));
  ASSERT_TRUE(rig.submit("ab", 1, {"a", Clock::now() + 1h}));
  std::this_thread::sleep_for(320ms);
  rig.fake->release();
  ASSERT_TRUE(rig.answers.wait_for(3));
  EXPECT_EQ(rig.answers.of("late"), "Unavailable");
  EXPECT_EQ(rig.answers.of("ab"), "ba");
  EXPECT_EQ(rig.fake->seen(), (std::vector<std::string>{"first", "ab"}));
}

TEST(Batcher, WhatCannotBeDoneInTimeIsRefusedAtArrival) {
  auto limits = patient(1ms, 1, 10);
  limits.max_queue_time = 100ms;
  Rig rig(limits);
  rig.teach(200ms);
  const auto refused = [&](const char* text, std::chrono::milliseconds deadline) {
    const auto ticket = rig.submit(text, 1, {"a", Clock::now() + deadline});
    return !ticket && ticket.error().code() == ErrorCode::kResourceExhausted;
  };
  EXPECT_TRUE(refused("too soon", 50ms));
  rig.hold_with_one();
  // Behind it one waits too long; unless its 200 ms are over already on a very slow machine, and then this
  // one's count.
  const auto behind = rig.submit("behind");
  if (behind) {
    EXPECT_GT(rig.batcher.backlog().count(), 0.0);
  } else {
    EXPECT_EQ(behind.error().code(), ErrorCode::kResourceExhausted);
  }
  rig.fake->release();
}

/// What one request asks for may take longer than anybody may wait.
TEST(Batcher, APassThatTakesTooLongIsStopped) {
  auto limits = patient(1ms, 256, 100);
  limits.max_queue_time = 300ms;
  Rig rig(limits);
  rig.fake->delay_of_slow = 60s;
  const double before = rig.compute.virtual_time();
  ASSERT_TRUE(rig.submit("slow", 100, {"a"}));
  ASSERT_TRUE(rig.answers.wait_for(1));
  EXPECT_EQ(rig.answers.of("slow"), "ResourceExhausted");
  EXPECT_EQ(rig.metrics.stopped_passes, 1u);
  // It pays for the 0.1 s that it took, besides the half of these to which virtual time has come.
  EXPECT_GT(rig.compute.next_tags("a").due, before + 0.12);
  ASSERT_TRUE(rig.submit("slow again", 100, {"b"})) << "it is tried";
  ASSERT_TRUE(rig.answers.wait_for(2));
  EXPECT_EQ(rig.answers.of("slow again"), "ResourceExhausted");
  expect_error(rig.submit("more", 100, {"b"}), ErrorCode::kResourceExhausted, "fewer records");
  EXPECT_TRUE(rig.submit("fewer", 20, {"b"})) << "it may be soon enough";
  ASSERT_TRUE(rig.answers.wait_for(3));
  EXPECT_EQ(rig.answers.of("fewer"), "rewef");
}

TEST(Batcher, WhatComesDuringAPassThatIsStoppedComesAfterItsRequests) {
  auto limits = patient(300ms, 256, 100);
  limits.max_queue_time = 900ms;
  Rig rig(limits);
  rig.fake->delay_of_each = 100ms;
  for (const char* text : {"x0", "x1", "x2", "x3", "x4", "x5"}) ASSERT_TRUE(rig.submit(text));
  ASSERT_TRUE(eventually([&] { return rig.fake->batches().size() == 1; }));
  for (const char* text : {"y0", "y1"}) ASSERT_TRUE(rig.submit(text));
  rig.settle(8);
  auto seen = rig.fake->seen();
  seen.erase(seen.begin(), seen.begin() + 6);  // of the pass that was stopped
  ASSERT_EQ(seen.size(), 8u);
  EXPECT_EQ((std::vector<std::string>{seen.begin() + 6, seen.end()}), (std::vector<std::string>{"y0", "y1"}));
}

TEST(Batcher, RequestsOfAStoppedPassThatNobodyWaitsForAreNotComputedAgain) {
  auto limits = patient(300ms, 256, 100);
  limits.max_queue_time = 900ms;
  Rig rig(limits);
  rig.fake->delay_of_each = 100ms;
  std::vector<Batcher::Ticket> tickets;
  for (int i = 0; i < 8; ++i) tickets.push_back(rig.submit("x" + std::to_string(i)).value());
  ASSERT_TRUE(eventually([&] { return rig.fake->batches().size() == 1; }));
  for (int i = 0; i < 6; ++i) EXPECT_FALSE(rig.batcher.cancel(tickets[static_cast<std::size_t>(i)]));
  rig.settle(8);
  EXPECT_EQ(rig.answers.of("x0"), "ResourceExhausted");
  EXPECT_EQ(rig.answers.of("x7"), "7x");
  EXPECT_EQ(rig.fake->seen().size(), 10u);
}

// Or who comes meanwhile would be answered after all of them.
TEST(Batcher, RequestsOfAStoppedPassHaveNotHadTheirTurn) {
  auto limits = patient(300ms, 256, 100);
  limits.max_queue_time = 900ms;
  Rig rig(limits);
  rig.fake->delay_of_each = 20ms;
  for (int i = 0; i < 60; ++i) ASSERT_TRUE(rig.submit("x" + std::to_string(i), 1, {"a"}));
  ASSERT_TRUE(eventually([&] { return rig.fake->batches().size() == 1; }));
  ASSERT_TRUE(rig.submit("ab", 1, {"b"}));
  ASSERT_TRUE(eventually([&] { return rig.answers.of("ab") != "none"; }));
  EXPECT_LT(rig.answers.count(), 40u);
  EXPECT_GE(rig.metrics.stopped_passes, 1u);
  rig.settle(61);
}

// Or each pass of many queries would allow one of three times as many.
TEST(Batcher, HowLongManyQueriesTakeDoesNotSayHowLongPassesMayBe) {
  auto limits = patient(1ms, 256, 100);
  limits.max_queue_time = 1800ms;
  Rig rig(limits);
  rig.fake->delay = 300ms;
  for (const char* text : {"ab", "cd"}) ASSERT_TRUE(rig.submit(text, 40));
  rig.settle(2);
  rig.fake->delay = 1500ms;
  ASSERT_TRUE(rig.submit("gh", 40));
  rig.settle(3);
  EXPECT_EQ(rig.answers.of("gh"), "ResourceExhausted");
}

// Or a bad request would show that passes take no time.
TEST(Batcher, BeforeAFirstAnswerNothingIsKnown) {
  Rig rig(patient(1ms, 256, 100));
  ASSERT_TRUE(rig.submit("a7"));  // the protocol refuses it
  rig.settle(1);
  rig.fake->hold();
  ASSERT_TRUE(rig.submit("many", 100));
  ASSERT_TRUE(eventually([&] { return rig.fake->batches().size() == 2; }));
  const auto limit = rig.fake->allowed();
  EXPECT_GT(limit, 0.0);
  EXPECT_GT(rig.batcher.backlog().count(), limit / 2) << "as long as it may take";
  rig.fake->release();
}

TEST(Batcher, APassOfAFewQueriesIsNeverStopped) {
  auto limits = patient(1ms, 256, 100);
  limits.max_queue_time = 30ms;
  Rig rig(limits);
  rig.fake->delay = 300ms;
  ASSERT_TRUE(rig.submit("a key", 3));
  ASSERT_TRUE(rig.answers.wait_for(1));
  EXPECT_EQ(rig.answers.of("a key"), "yek a");
  EXPECT_EQ(rig.metrics.stopped_passes, 0u);
}

TEST(Batcher, RequestsOfAStoppedPassWaitForSmallerOnes) {
  auto limits = patient(500ms, 256, 100);
  limits.max_queue_time = 300ms;
  Rig rig(limits);
  rig.fake->delay_of_each = 100ms;
  for (int i = 0; i < 8; ++i) {
    ASSERT_TRUE(rig.submit("x" + std::to_string(i), 1, {"a"}));
  }
  ASSERT_TRUE(rig.answers.wait_for(8));
  for (int i = 0; i < 8; ++i) EXPECT_EQ(rig.answers.of("x" + std::to_string(i)), std::to_string(i) + "x");
  const auto sizes = rig.fake->batches();
  EXPECT_EQ(sizes.front(), 8u);
  EXPECT_LE(sizes[1], 4u);
  EXPECT_GE(rig.metrics.stopped_passes, 1u);
  EXPECT_EQ(rig.batcher.queued(), 0u);
  rig.answers.drop_leases();
  EXPECT_EQ(rig.budget.used(), 0u);
}

TEST(Batcher, PassesBeforeTheFirstRequestShowWhatQueriesAdd) {
  Rig rig(patient(1ms, 256, 100));
  rig.fake->delay = 20ms;
  rig.batcher.measure(*rig.fake);  // it has no sample
  EXPECT_TRUE(rig.fake->seen().empty());
  rig.fake->sample = "sample ";
  rig.fake->most_queries = 100;
  rig.batcher.measure(*rig.fake);
  EXPECT_EQ(rig.fake->seen(),
            (std::vector<std::string>{"sample 1", "sample 1", "sample 3", "sample 12", "sample 48"}));
  EXPECT_TRUE(rig.submit("many", 200, {"a", Clock::now() + 200ms})) << "200 take no longer than one";

  Rig small(patient(1ms, 11, 100));
  small.fake->sample = "sample ";
  small.fake->most_queries = 2;
  small.batcher.measure(*small.fake);
  EXPECT_EQ(small.fake->seen().size(), 2u) << "nobody can ask for more";
  small.fake->most_queries = 100;
  small.batcher.measure(*small.fake);
  EXPECT_EQ(small.fake->seen().size(), 5u) << "batch_max";
}

TEST(Batcher, RefusedQueriesOfAFirstPassAreNotTakenForSoMany) {
  Rig rig(patient(1ms, 256, 100));
  rig.fake->delay = 400ms;
  ASSERT_TRUE(rig.submit("a7", 256));  // refused by the protocol, which looked at it for a moment
  rig.settle(1);
  ASSERT_TRUE(rig.submit("one", 1, {"b"}));
  rig.settle(2);
  rig.expect_a_hundred_to_take(1s);
}

/// A server with a clock of its own. A request is the number of its queries. A pass takes a time, and more
/// for each of them.
class ClockServer : public FakeServer {
 public:
  explicit ClockServer(std::chrono::milliseconds each, std::chrono::milliseconds base)
      : each_(each), base_(base) {
    most_queries = 1000;
    sample = "0";
  }
  std::vector<Result<Bytes>> answer(std::span<const ByteSpan> requests) const override {
    TimeLimit* const limit = TimeLimit::current();
    if (first) std::exchange(first, nullptr)();
    auto end = time + slower * base_;
    for (const auto& request : requests) end += slower * each_ * std::stoi(std::string(as_text(request)));
    if (end > limit->end()) limit->over();
    time = std::max(time, std::min(end, limit->end()));
    return std::vector<Result<Bytes>>(requests.size(), Bytes(1));
  }
  mutable Clock::time_point time{};
  mutable std::function<void()> first;  ///< what the next pass does first
  int slower = 1;

 private:
  const std::chrono::milliseconds each_, base_;
};

/// A batcher whose time is that server's.
struct ClockRig {
  explicit ClockRig(std::chrono::milliseconds each, const QueueOptions& with = patient(1ms, 256, 100),
                    std::chrono::milliseconds base = 0ms)
      : server(std::make_shared<ClockServer>(each, base)), limits(with) {}
  bool submit(Batcher& by, std::size_t queries, Caller caller = {"a"}) {
    return by
        .submit(server, pages_of(std::to_string(queries)), queries, ByteLease(budget), answers.keep("one"),
                std::move(caller))
        .has_value();
  }
  /// Whether there was one.
  bool pass() {
    server->time += 1ms;
    began = server->time;
    std::optional<Clock::time_point> next;
    return compute.step(next);
  }
  auto took() const { return server->time - began; }  ///< the last pass
  const std::shared_ptr<ClockServer> server;
  const QueueOptions limits;
  ByteBudget budget{1000};
  Answers answers;
  Metrics metrics;
  ComputeThread compute{[this] { return server->time; }};
  Batcher batcher{limits, {}, metrics, compute};
  Clock::time_point began{};
};

TEST(Batcher, MeasuringEndsInFiveSeconds) {
  auto limits = patient(1ms, 256, 100);
  limits.max_queue_time = 600s;
  ClockRig rig(700ms, limits);  // 0.7, 0.7, 2.1 and, if it were tried, 8.4 s
  rig.batcher.measure(*rig.server);
  EXPECT_GT(rig.server->time, Clock::time_point(3s));
  EXPECT_LE(rig.server->time, Clock::time_point(5s));
}

/// Or, where nobody asks for fewer, look-ups of four keys are refused for good.
TEST(Batcher, AFirstPassIsMeasuredThoughItTakesLong) {
  ClockRig rig(10ms, patient(1ms, 256, 100), 2700ms);
  rig.batcher.measure(*rig.server);
  EXPECT_TRUE(rig.submit(rig.batcher, 4));
}

/// A queue that knows what passes take: a request of 200 queries seems to take too long.
struct TryRig : ClockRig {
  explicit TryRig(int slower = 1) : ClockRig(100ms) {
    server->slower = slower;
    batcher.measure(*server);
  }
  /// How long the pass of a request takes; 0 if it is refused at once.
  Clock::duration ask(std::size_t queries, const Caller& caller = {"a"}) {
    return submit(batcher, queries, caller) && pass() ? took() : 0s;
  }
  const Clock::duration longest =
      std::chrono::duration_cast<Clock::duration>(0.53 * limits.max_queue_time / 2);
};

TEST(Batcher, WhatSeemsToTakeTooLongIsTried) {
  TryRig rig(7);
  EXPECT_EQ(rig.ask(6), rig.longest);
  rig.server->slower = 1;
  EXPECT_EQ(rig.ask(6), 0s);
  EXPECT_EQ(rig.ask(6, {"b"}), 600ms);
  EXPECT_EQ(rig.ask(6), 600ms) << "this is known now";
}

TEST(Batcher, WhoWastedMuchIsNotTried) {
  TryRig rig;
  std::vector<std::shared_ptr<ComputeThread::Client>> wait;
  for (int i = 0; i < 5; ++i) wait.push_back(rig.compute.client(std::to_string(i)));
  EXPECT_EQ(rig.ask(200), rig.longest);
  EXPECT_EQ(rig.ask(190), 0s);
  EXPECT_EQ(rig.ask(190, {"b"}), rig.longest);
  rig.server->time += 50s;
  EXPECT_EQ(rig.ask(180), rig.longest) << "half of a share paid for it";
}

/// Or who asks for too much now and then could not ask for little after a slow time.
TEST(Batcher, WhatHasHalfAsManyQueriesIsTriedThoughMoreWereInVain) {
  TryRig rig(7);
  rig.server->slower = 1;
  EXPECT_EQ(rig.ask(200), rig.longest);
  EXPECT_EQ(rig.ask(101), 0s);
  EXPECT_EQ(rig.ask(100), rig.longest);
  EXPECT_EQ(rig.ask(51), 0s);
  EXPECT_EQ(rig.ask(8), 800ms);
}

/// Or who asks one database after another could not ask the second one again after a slow time.
TEST(Batcher, WhatIsTriedAndAnsweredIsNotWasted) {
  TryRig rig(7);
  std::deque<Batcher> others;
  for (int i = 0; i < 10; ++i) {
    others.emplace_back(rig.limits, LogSink(), rig.metrics, rig.compute).measure(*rig.server);
  }
  rig.server->slower = 1;
  for (auto& other : others) {
    EXPECT_TRUE(rig.submit(other, 4));
    EXPECT_TRUE(rig.pass());
  }
}

/// As it may be in vain: all that is tried has a quarter of the time while due requests wait.
TEST(Batcher, WhatIsTriedIsEarly) {
  TryRig rig;
  Batcher other(rig.limits, {}, rig.metrics, rig.compute), third(rig.limits, {}, rig.metrics, rig.compute);
  other.measure(*rig.server);
  EXPECT_TRUE(rig.submit(rig.batcher, 200, {"a"}));
  EXPECT_TRUE(rig.submit(other, 200, {"b"}));
  const auto seat = rig.compute.add(third);
  EXPECT_EQ(rig.compute.others_that_compute(*seat, true).wait, 1u) << "early ones are one";
  rig.compute.remove(seat);
}

/// Or who has had much is served in the turns of others, and they wait.
TEST(Batcher, WhoIsFarBehindHardlyMakesAnEarlyPassLongerWhileOtherDatabasesWait) {
  for (const bool others_wait : {true, false}) {
    TryRig rig;
    Batcher other(rig.limits, {}, rig.metrics, rig.compute);
    other.measure(*rig.server);
    for (const std::size_t queries : {22, 6, 8}) EXPECT_TRUE(rig.submit(rig.batcher, queries, {"much"}));
    for (const std::size_t queries : {7, 6}) EXPECT_TRUE(rig.submit(rig.batcher, queries, {"little"}));
    EXPECT_TRUE(rig.submit(other, 10, {"third"}));
    if (others_wait) {
      EXPECT_TRUE(rig.submit(other, 5, {"third"}));
    }
    for (int due = 0; due < 3; ++due) EXPECT_TRUE(rig.pass());
    EXPECT_TRUE(rig.pass());
    EXPECT_EQ(rig.took(), others_wait ? 1200ms : 2000ms);
  }
}

/// Or in place of one large request, which is not cheap, come many small ones, which are.
TEST(Batcher, AllThatAClientHasInAPassIsCheapOrNot) {
  ClockRig rig(100ms, patient(1ms, 256, 100), 500ms);
  rig.batcher.measure(*rig.server);
  Batcher other(rig.limits, {}, rig.metrics, rig.compute);
  other.measure(*rig.server);
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(rig.submit(rig.batcher, 4, {"little"}));
  EXPECT_TRUE(rig.submit(rig.batcher, 22, {"much"}));
  for (int i = 0; i < 14; ++i) EXPECT_TRUE(rig.submit(rig.batcher, 1, {"much"}));
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(rig.submit(other, 10, {"third"}));
  for (int due = 0; due < 3; ++due) EXPECT_TRUE(rig.pass());
  EXPECT_TRUE(rig.pass());
  EXPECT_EQ(rig.took(), 1100ms) << "of little's, and of two that hardly make it longer";
}

/// Or users who ask several databases at the same moment were kept out of one after a slow time.
TEST(Batcher, WhatIsTriedHasTheTimeThatPassesHadWhenItCame) {
  TryRig rig(7);
  std::deque<Batcher> others;
  for (int i = 0; i < 2; ++i) {
    others.emplace_back(rig.limits, LogSink(), rig.metrics, rig.compute).measure(*rig.server);
  }
  EXPECT_TRUE(rig.submit(rig.batcher, 5));
  for (auto& other : others) EXPECT_TRUE(rig.submit(other, 5, {"b"}));
  EXPECT_TRUE(rig.pass());
  EXPECT_EQ(rig.took(), rig.longest) << "and not the 2.625 s that are planned now";
}

/// Or who asks one of them for too much now and then could not ask the others again after a slow time.
TEST(Batcher, WhatIsWastedAtOneDatabaseIsNotWastedAtAnother) {
  TryRig rig;
  std::deque<Batcher> others;
  for (int i = 0; i < 3; ++i) {
    others.emplace_back(rig.limits, LogSink(), rig.metrics, rig.compute).measure(*rig.server);
  }
  EXPECT_EQ(rig.ask(200), rig.longest);
  EXPECT_EQ(rig.ask(200), 0s);
  for (auto& other : others) EXPECT_TRUE(rig.submit(other, 200)) << "at the same time";
}

TEST(Batcher, WhatIsCancelledBeforeItIsTriedIsNotWasted) {
  TryRig rig;
  for (int i = 0; i < 5; ++i) {
    const auto ticket = rig.batcher.submit(rig.server, pages_of("200"), 200, ByteLease(rig.budget),
                                           rig.answers.keep("one"), {"a"});
    ASSERT_TRUE(ticket);
    EXPECT_TRUE(rig.batcher.cancel(*ticket));
  }
  EXPECT_EQ(rig.ask(200), rig.longest);
}

/// Or one address that asks every database for too much takes the time of all others.
TEST(Batcher, TriesOfOneClientTakeHalfOfAShare) {
  TryRig rig;
  std::deque<Batcher> others;
  for (int i = 0; i < 20; ++i) {
    others.emplace_back(rig.limits, LogSink(), rig.metrics, rig.compute).measure(*rig.server);
  }
  std::vector<std::shared_ptr<ComputeThread::Client>> wait;
  for (int i = 0; i < 5; ++i) {
    wait.push_back(rig.compute.client(std::to_string(i)));
  }
  const auto begin = rig.server->time;
  Clock::duration tries{};
  while (rig.server->time < begin + 600s) {
    rig.server->time += 1s;
    for (auto& other : others) rig.submit(other, 200);
    while (rig.pass()) tries += rig.took();
  }
  EXPECT_GT(tries, 45s);
  EXPECT_LT(tries, 105s);  // a twelfth, and those at the beginning
}

TEST(Batcher, ATryMakesRoomAgainAfterStoppedPasses) {
  TryRig rig;
  rig.server->slower = 20;
  for (int i = 0; i < 2; ++i) EXPECT_GT(rig.ask(20), rig.longest);
  rig.server->slower = 1;
  rig.server->time += 5s;
  EXPECT_EQ(rig.ask(20), 2s);
  EXPECT_EQ(rig.ask(20), 2s);
}

/// Large passes do not show what few queries take.
TEST(Batcher, NowAndThenAPassIsOfFewQueries) {
  ClockRig rig(100ms);
  rig.batcher.measure(*rig.server);
  const auto ten_ask = [&] {
    for (int i = 0; i < 10; ++i) ASSERT_TRUE(rig.submit(rig.batcher, 1, {std::to_string(i)}));
  };
  const auto expect_a_pass_of = [&](std::chrono::milliseconds time) {
    EXPECT_TRUE(rig.pass());
    EXPECT_EQ(rig.took(), time);
  };
  for (int i = 0; i < 3; ++i) {
    ten_ask();
    expect_a_pass_of(1s);
    rig.server->time += 20s;
  }
  ten_ask();
  expect_a_pass_of(300ms);
  expect_a_pass_of(700ms);
  for (int i = 0; i < 2; ++i) {  // twice as long, as it took what was predicted
    ten_ask();
    expect_a_pass_of(1s);
    rig.server->time += 1min;
  }
  ten_ask();
  expect_a_pass_of(300ms);
  expect_a_pass_of(700ms);
}

/// Or one slow pass would refuse its users for good, where another database always has something to do.
TEST(Batcher, WhatOnePassTookIsDoubtedAfterAMinuteWhateverOthersWant) {
  ClockRig rig(12s);
  Batcher other(patient(1ms, 256, 100), {}, rig.metrics, rig.compute);
  const auto wanted_elsewhere = [&] { return rig.submit(other, 1, {"a", rig.server->time + 60s}); };
  const auto taken = [&](std::size_t queries) {
    return rig.submit(rig.batcher, queries, {"a", rig.server->time + 10s});
  };
  ASSERT_TRUE(wanted_elsewhere());
  EXPECT_TRUE(rig.pass());
  ASSERT_TRUE(taken(1));
  EXPECT_TRUE(rig.pass());
  ASSERT_TRUE(wanted_elsewhere());
  EXPECT_FALSE(taken(1));
  rig.server->time += 1min;
  ASSERT_TRUE(wanted_elsewhere());
  EXPECT_TRUE(taken(1));
}

/// Passes are cut to the longest wait, so many requests of few queries each wait for several of them.
TEST(Batcher, ManySmallRequestsWaitNoLongerAndKeepNobodyOut) {
  auto limits = patient(1ms, 256, 100);
  limits.max_queue_time = 900ms;
  Rig rig(limits);
  rig.teach(300ms);
  rig.fake->delay = 900ms;
  ASSERT_TRUE(rig.submit("three", 3));
  ASSERT_TRUE(rig.answers.wait_for(2));
  rig.fake->delay = 0ms;
  rig.hold_with_one();
  int taken = 0;
  for (int i = 0; i < 60; ++i) taken += rig.submit("a" + std::to_string(i), 1, {"a"}).has_value();
  EXPECT_GE(taken, 1);
  EXPECT_LE(taken, 20);
  EXPECT_TRUE(rig.submit("b", 1, {"b", Clock::now() + 4s}));
  rig.fake->release();
}

// Others come into its pass: who is admitted as if it were alone there is answered too late.
TEST(Batcher, WhoseDeadlineIsBeforeTheEndOfAFullPassIsRefused) {
  auto limits = patient(1ms, 256, 100);
  limits.max_queue_time = 2s;
  Rig rig(limits);
  rig.fake->delay_of_each = 100ms;
  std::size_t submitted = 0;
  for (const int count : {1, 4}) {  // so that it is known what each adds
    rig.hold_with_one();
    ++submitted;
    for (int i = 0; i < count; ++i) ASSERT_TRUE(rig.submit("x" + std::to_string(i)));
    submitted += static_cast<std::size_t>(count);
    rig.fake->release();
    ASSERT_TRUE(rig.answers.wait_for(submitted));
  }
  rig.hold_with_one();
  for (int i = 0; i < 12; ++i) ASSERT_TRUE(rig.submit("x" + std::to_string(i), 1, {std::to_string(i)}));
  expect_error(rig.submit("hurried", 1, {"b", Clock::now() + 725ms}), ErrorCode::kResourceExhausted,
               "your deadline");
  EXPECT_TRUE(rig.submit("patient", 1, {"b", Clock::now() + 60s}));
  rig.fake->release();
}

// Or all who come meanwhile would be told so late that it takes long.
TEST(Batcher, APassThatIsOverdueMayTakeAsLongAgain) {
  Rig rig(patient(1ms, 1, 100));
  rig.teach(20ms);
  rig.hold_with_one();
  EXPECT_TRUE(rig.submit("soon", 1, {"a", Clock::now() + 1s}));
  std::this_thread::sleep_for(1s);
  expect_error(rig.submit("late", 1, {"b", Clock::now() + 1s}), ErrorCode::kResourceExhausted, "deadline");
  EXPECT_TRUE(rig.submit("patient", 1, {"b", Clock::now() + 60s}));
  rig.fake->release();
}

/// Databases of a server, each of which has had a pass of that time and where one request waits until the
/// test ends, each of another client or all of one.
struct Others {
  Others(Rig& rig, std::size_t count, std::chrono::milliseconds delay, bool of_one_client = false,
         std::size_t answered = 0) {
    auto limits = patient(1h, 2, 10);
    for (std::size_t i = 0; i < count; ++i) {
      const auto fake = std::make_shared<FakeServer>();
      fake->delay = delay;
      auto& other =
          batchers.emplace_back(std::make_unique<Batcher>(limits, rig.log.sink(), rig.metrics, rig.compute));
      const auto submit = [&](const std::string& text) {
        EXPECT_TRUE(other->submit(fake, pages_of(text), 1, ByteLease(rig.budget), rig.answers.keep(text),
                                  {of_one_client ? "other" : text}));
      };
      submit("a" + std::to_string(i));
      submit("b" + std::to_string(i));
      EXPECT_TRUE(rig.answers.wait_for(answered + 2 * i + 2));
      submit("c" + std::to_string(i));
    }
  }
  std::vector<std::unique_ptr<Batcher>> batchers;
};

TEST(Batcher, PassesAreShorterTheMoreDatabasesWait) {
  ClockRig rig(500ms);
  rig.batcher.measure(*rig.server);
  std::deque<Batcher> others;
  int clients = 0;
  const auto longest_of = [&](int passes) {
    Clock::duration longest{};
    for (int i = 0; i < passes; ++i) {
      for (int k = 0; k < 8; ++k) rig.submit(rig.batcher, 1, {std::to_string(++clients)});
      for (auto& other : others) rig.submit(other, 3, {std::to_string(++clients)});
      EXPECT_TRUE(rig.pass());
      longest = std::max(longest, rig.took());
    }
    return longest;
  };
  EXPECT_EQ(longest_of(5), 2500ms) << "a quarter of max_queue_time";
  for (int i = 0; i < 4; ++i) {
    others.emplace_back(rig.limits, LogSink(), rig.metrics, rig.compute).measure(*rig.server);
  }
  EXPECT_EQ(longest_of(20), 1500ms) << "three queries are always allowed";
}

// Or tiny requests at many small databases would keep all large ones from another one.
TEST(Batcher, ShortPassesOfOtherDatabasesLeaveTimeForLongOnes) {
  auto limits = patient(1ms, 256, 100);
  limits.max_queue_time = 6s;
  Rig rig(limits);
  rig.teach(100ms);
  const Others others(rig, 10, 1ms);
  ASSERT_TRUE(eventually([&] { return rig.batcher.backlog().count() < 0.1; }));
  rig.fake->delay = 700ms;
  const auto before = rig.answers.count();
  ASSERT_TRUE(rig.submit("eight", 8));
  ASSERT_TRUE(rig.answers.wait_for(before + 1));
  EXPECT_EQ(rig.answers.of("eight"), "thgie") << "a third of 4 s is allowed";
}

// Or one client that asks for much at each of many databases would keep all others from the last of them.
TEST(Batcher, PassesOfWhichNothingIsKnownCountAsLong) {
  auto limits = patient(1ms, 256, 100);
  limits.max_queue_time = 6s;
  Rig rig(limits);
  std::vector<std::unique_ptr<Batcher>> others;
  auto wait = limits;
  wait.batch_window = 1h;
  for (int i = 0; i < 4; ++i) {
    others.push_back(std::make_unique<Batcher>(wait, rig.log.sink(), rig.metrics, rig.compute));
    ASSERT_TRUE(
        others.back()->submit(rig.fake, pages_of("x"), 100, ByteLease(rig.budget), rig.answers.keep("x")));
  }
  ASSERT_TRUE(rig.submit("many", 100));
  ASSERT_TRUE(rig.answers.wait_for(1));
  EXPECT_LE(rig.fake->allowed(), 0.8) << "as many as are left for each of those that wait, and another one";
}

TEST(Batcher, APassOfEachDatabaseThatWaitsCounts) {
  Rig rig(patient(1ms, 256, 100));
  rig.teach(400ms);
  const Others others(rig, 4, 100ms);  // they have had less time
  expect_error(rig.submit("soon", 1, {"a", Clock::now() + 600ms}), ErrorCode::kResourceExhausted,
               "your deadline");
  EXPECT_TRUE(rig.submit("patient", 1, {"a", Clock::now() + 60s}));
}

TEST(Batcher, WhatOneClientWantsElsewhereCountsOnceButForItself) {
  Rig rig(patient(1ms, 256, 100));
  rig.teach(400ms);
  const Others others(rig, 4, 100ms, true);
  EXPECT_TRUE(rig.submit("soon", 1, {"a", Clock::now() + 700ms}));
  ASSERT_TRUE(rig.answers.wait_for(10));
  expect_error(rig.submit("its own", 1, {"other", Clock::now() + 700ms}), ErrorCode::kResourceExhausted,
               "your deadline");
}

/// Databases that share what computes. Passes have as many queries as given, and the last database has had
/// the most time.
struct Databases {
  ~Databases() { rig.fake->release(); }
  Databases(std::size_t count, std::chrono::milliseconds delay,
            const QueueOptions& queue = patient(1ms, 1, 100))
      : limits(queue) {
    rig.fake->delay = delay;
    for (std::size_t i = 0; i <= count; ++i) {
      if (i < count)
        batchers.push_back(std::make_unique<Batcher>(limits, rig.log.sink(), rig.metrics, rig.compute));
      EXPECT_TRUE(submit(std::min(i, count - 1), "teach" + std::to_string(i), {"teacher"}));
      EXPECT_TRUE(rig.answers.wait_for(i + 1));
    }
    taught = static_cast<std::ptrdiff_t>(rig.fake->seen().size());
  }
  Result<Batcher::Ticket> submit(std::size_t at, const std::string& text, Caller caller,
                                 std::size_t queries = 1) {
    return batchers[at]->submit(rig.fake, pages_of(text), queries, ByteLease(rig.budget),
                                rig.answers.keep(text), std::move(caller));
  }
  /// A pass begins that waits for run().
  void hold_with_one(const std::string& client) {
    rig.fake->hold();
    ASSERT_TRUE(submit(0, "first", {client}));
    ASSERT_TRUE(eventually([&] { return rig.fake->seen().back() == "first"; }));
  }
  /// After how many others each of these was answered.
  std::vector<std::ptrdiff_t> run(const std::vector<std::string>& texts) {
    rig.fake->release();
    for (const auto& batcher : batchers) EXPECT_TRUE(eventually([&] { return batcher->queued() == 0; }));
    const auto seen = rig.fake->seen();
    std::vector<std::ptrdiff_t> at;
    for (const auto& text : texts)
      at.push_back(std::find(seen.begin(), seen.end(), text) - seen.begin() - taught);
    return at;
  }
  const QueueOptions limits;
  Rig rig;
  std::vector<std::unique_ptr<Batcher>> batchers;
  std::ptrdiff_t taught = 0;
};

TEST(Batcher, AClientAtManyDatabasesHasNoMoreThanAnotherAtOne) {
  Databases databases(10, 30ms);
  databases.hold_with_one("many");
  for (std::size_t i = 0; i < 10; ++i) {
    for (int k = 0; k < 3; ++k) ASSERT_TRUE(databases.submit(i, "m" + std::to_string(3 * i + k), {"many"}));
  }
  for (int k = 0; k < 2; ++k) ASSERT_TRUE(databases.submit(9, "f" + std::to_string(k), {"few"}));
  const auto at = databases.run({"f0", "f1"});
  EXPECT_LE(at[0], 5) << "passes of its own database may come first";
  EXPECT_LE(at[1], 10);
}

// Or one would pay for the passes of the other.
TEST(Batcher, TwoClientsAtManyDatabasesHaveNoMoreThanAnotherAtOne) {
  Databases databases(10, 30ms, patient(1ms, 3, 100));
  databases.hold_with_one("a");
  for (std::size_t i = 0; i < 10; ++i) {
    ASSERT_TRUE(databases.submit(i, "a" + std::to_string(i), {"a"}));
    ASSERT_TRUE(databases.submit(i, "b" + std::to_string(i), {"b"}, 2));
  }
  ASSERT_TRUE(databases.submit(9, "few", {"few"}));
  EXPECT_LE(databases.run({"few"})[0], 6);
}

TEST(Batcher, ACrowdAtOneDatabaseDoesNotHoldUpAnother) {
  Databases databases(2, 30ms);
  databases.hold_with_one("first");
  for (int i = 0; i < 16; ++i) ASSERT_TRUE(databases.submit(0, "c" + std::to_string(i), {std::to_string(i)}));
  // As through a relay.
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(databases.submit(1, "r" + std::to_string(i), {"relay"}));
  const auto at = databases.run({"r0", "r1", "r2"});
  EXPECT_LE(at[0], 4);
  EXPECT_LE(at[1], 8) << "a quarter is for those that have had more";
  EXPECT_LE(at[2], 13);
}

TEST(Batcher, ADatabaseThatStandsBackDoesNotSaveUp) {
  Databases databases(2, 30ms);
  databases.hold_with_one("relay");
  for (int i = 0; i < 9; ++i) ASSERT_TRUE(databases.submit(0, "r" + std::to_string(i), {"relay"}));
  for (int i = 0; i < 24; ++i) ASSERT_TRUE(databases.submit(1, "c" + std::to_string(i), {std::to_string(i)}));
  databases.rig.fake->release();
  ASSERT_TRUE(eventually([&] { return databases.batchers[1]->queued() <= 12; }));
  databases.rig.fake->hold();
  for (int i = 0; i < 6; ++i)
    ASSERT_TRUE(databases.submit(0, "n" + std::to_string(i), {"new" + std::to_string(i)}));
  databases.run({});
  const auto seen = databases.rig.fake->seen();
  const auto first = std::find(seen.begin(), seen.end(), "n0"), last = std::find(first, seen.end(), "n5");
  EXPECT_GE(std::count_if(first, last, [](const auto& text) { return text[0] == 'c'; }), 3)
      << "passes of the other database come in between";
}

// Or whoever comes to a database that nobody asks would wait for what those have had that stand back.
TEST(Batcher, ADatabaseThatStandsBackDoesNotMakeIdleOnesLate) {
  Databases databases(8, 20ms);
  databases.hold_with_one("relay");
  for (int i = 0; i < 30; ++i) ASSERT_TRUE(databases.submit(0, "r" + std::to_string(i), {"relay"}));
  for (std::size_t i = 1; i < 7; ++i) {
    for (int k = 0; k < 12; ++k) {
      const auto text = "c" + std::to_string(i) + "." + std::to_string(k);
      ASSERT_TRUE(databases.submit(i, text, {text}));
    }
  }
  databases.rig.fake->release();
  ASSERT_TRUE(eventually([&] { return databases.batchers[6]->queued() <= 2; }));
  databases.rig.fake->hold();
  ASSERT_TRUE(databases.submit(7, "idle", {"idle"}));
  const auto before = static_cast<std::ptrdiff_t>(databases.rig.fake->seen().size()) - databases.taught;
  EXPECT_LE(databases.run({"idle"})[0] - before, 9) << "after one of each of those that are busy, at most";
}

TEST(Batcher, OfThoseThatHaveHadMoreEachClientHasTheSame) {
  Databases databases(6, 30ms);
  databases.hold_with_one("many");
  for (std::size_t i = 1; i < 5; ++i) {
    for (int k = 0; k < 4; ++k) ASSERT_TRUE(databases.submit(i, "m" + std::to_string(4 * i + k), {"many"}));
  }
  for (int i = 0; i < 40; ++i) ASSERT_TRUE(databases.submit(0, "c" + std::to_string(i), {std::to_string(i)}));
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(databases.submit(5, "r" + std::to_string(i), {"relay"}));
  EXPECT_LE(databases.run({"r2"})[0], 24) << "every other one of a quarter";
}

TEST(Batcher, WhoHasHadMoreIsToldOfThoseThatGoFirst) {
  Databases databases(2, 100ms);
  databases.hold_with_one("relay");
  for (const char* text : {"r0", "r1"}) ASSERT_TRUE(databases.submit(0, text, {"relay"}));
  const auto submit = [&](const char* text) {
    return databases.submit(0, text, {"relay", Clock::now() + 1s});
  };
  const auto ticket = submit("r2");
  ASSERT_TRUE(ticket);
  databases.batchers[0]->cancel(*ticket);
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(databases.submit(1, "c" + std::to_string(i), {std::to_string(i)}));
  expect_error(submit("r3"), ErrorCode::kResourceExhausted, "your deadline");
}

// Or one client with requests at many databases would have all others refused.
TEST(Batcher, WhoHasHadNoMoreThanItsShareIsNotToldToWaitForThoseThatHave) {
  Databases databases(10, 100ms);
  databases.hold_with_one("many");
  for (std::size_t i = 0; i < 9; ++i) ASSERT_TRUE(databases.submit(i, "m" + std::to_string(i), {"many"}));
  const auto soon = Clock::now() + 1s;
  expect_error(databases.submit(9, "late", {"many", soon - 300ms}), ErrorCode::kResourceExhausted,
               "deadline");
  EXPECT_TRUE(databases.submit(9, "few", {"few", soon}));
}

TEST(Batcher, WhoHasHadMoreWaitsForOthersThatHaveAsForOneClient) {
  Databases databases(10, 100ms);
  databases.hold_with_one("many");
  for (std::size_t i = 1; i < 9; ++i) ASSERT_TRUE(databases.submit(i, "m" + std::to_string(i), {"many"}));
  ASSERT_TRUE(databases.submit(9, "r0", {"relay"}));
  databases.rig.fake->release();
  std::this_thread::sleep_for(30ms);
  databases.rig.fake->hold();  // the next one
  ASSERT_TRUE(eventually([&] { return databases.rig.fake->seen().back() != "first"; }));
  EXPECT_EQ(databases.rig.fake->seen().back(), "r0");
  EXPECT_TRUE(databases.submit(9, "r1", {"relay", Clock::now() + 1s}));
}

// Or one client with requests at many databases would have all larger requests of others stopped.
TEST(Batcher, OfDatabasesThatStandBackOnePassCounts) {
  auto limits = patient(1ms, 4, 100);
  limits.max_queue_time = 1s;
  Databases databases(10, 50ms, limits);
  databases.hold_with_one("many");
  for (std::size_t i = 0; i < 9; ++i) ASSERT_TRUE(databases.submit(i, "m" + std::to_string(i), {"many"}));
  ASSERT_TRUE(databases.submit(9, "four", {"few"}, 4));
  databases.rig.fake->release();
  ASSERT_TRUE(eventually([&] { return databases.rig.fake->seen().back() == "four"; }));
  EXPECT_GE(databases.rig.fake->allowed(), 0.15) << "a third of 0.67 s; a ninth of what is left otherwise";
}

TEST(Batcher, WhoseTurnIsNextDoesNotWaitForWhoComputes) {
  Rig rig(patient(1ms, 256, 100));
  rig.teach(1ms);
  const auto slow = std::make_shared<FakeServer>();
  Batcher other(patient(1ms, 1, 10), rig.log.sink(), rig.metrics, rig.compute);
  const auto submit = [&](const std::string& text) {
    ASSERT_TRUE(other.submit(slow, pages_of(text), 1, ByteLease(rig.budget), rig.answers.keep(text)));
  };
  slow->delay = 500ms;
  submit("first");
  ASSERT_TRUE(rig.answers.wait_for(2));
  slow->hold();
  submit("runs");
  ASSERT_TRUE(eventually([&] { return slow->batches().size() == 2; }));
  submit("waits");
  std::this_thread::sleep_for(520ms);  // it is predicted to end
  EXPECT_TRUE(rig.submit("soon", 1, {"a", Clock::now() + 400ms}));
  slow->release();
}

TEST(Batcher, WhoIsLateIsToldAlsoWhereAnotherDatabaseComputes) {
  Rig rig(patient(1h, 2, 10));
  Batcher other(patient(1ms, 1, 10), rig.log.sink(), rig.metrics, rig.compute);
  ASSERT_TRUE(rig.submit("late", 1, {"a", Clock::now() + 100ms}));
  std::this_thread::sleep_for(120ms);
  ASSERT_TRUE(other.submit(rig.fake, pages_of("ab"), 1, ByteLease(rig.budget), rig.answers.keep("ab")));
  ASSERT_TRUE(rig.answers.wait_for(2));
  EXPECT_EQ(rig.answers.of("late"), "Unavailable");
}

TEST(Batcher, WhoWantsLittleIsNotRefusedForWhatOthersWant) {
  auto limits = patient(1ms, 4, 100);
  limits.max_queue_time = 1s;
  Rig rig(limits);
  rig.teach(200ms);
  ASSERT_TRUE(rig.submit("teach that four take no longer", 4));
  ASSERT_TRUE(rig.answers.wait_for(2));
  rig.hold_with_one();
  // Taken when the held pass should be over.
  const auto is_taken = [&](const char* text, const char* client) {
    return eventually([&] { return rig.submit(text, 1, {client}).has_value(); });
  };
  ASSERT_TRUE(is_taken("a", "a"));
  int taken = 1;
  while (taken < 100 && rig.submit("a" + std::to_string(taken), 1, {"a"})) ++taken;
  EXPECT_LT(taken, 100) << "it would wait for passes of the others of this client";
  EXPECT_TRUE(is_taken("b1", "b")) << "it is in the first pass";
  rig.fake->release();
}

TEST(Batcher, RefusedQueriesDoNotMakeOthersLookCheap) {
  Rig rig(patient(1ms, 1, 30));
  rig.teach(1s);
  rig.fake->delay = 0ms;
  for (std::size_t i = 1; i <= 30; ++i) {
    ASSERT_TRUE(rig.submit("a7"));  // the protocol refuses it at once
    ASSERT_TRUE(rig.answers.wait_for(1 + i));
  }
  EXPECT_EQ(rig.answers.of("a7"), "StaleEpoch");
  expect_error(rig.submit("ab", 1, {"a", Clock::now() + 500ms}), ErrorCode::kResourceExhausted);
}

// Requests for masks and keys count as a query each, but no pass computes their replies. That many of them
// take no time must not let many queries into one pass.
TEST(Batcher, RepliesThatTakeNoPassDoNotMakeQueriesLookCheap) {
  auto limits = patient(1ms, 256, 100);
  limits.max_queue_time = 2s;
  Rig rig(limits);
  rig.teach(100ms);
  rig.fake->delay = 0ms;
  std::string masks{"PIRX\1\0\5\11 masks", 14};
  std::reverse(masks.begin(), masks.end());
  for (std::size_t i = 1; i <= 30; ++i) {
    ASSERT_TRUE(rig.submit(masks, 8));
    ASSERT_TRUE(rig.answers.wait_for(1 + i));
  }
  rig.expect_a_hundred_to_take(200ms);
}

TEST(Batcher, QueriesThatAreRefusedAfterTheWorkCountAsWork) {
  auto limits = patient(1ms, 256, 100);
  limits.max_queue_time = 2s;
  Rig rig(limits);
  rig.fake->delay = 1s;
  ASSERT_TRUE(rig.submit("a7", 3));  // the protocol refuses it in the end
  ASSERT_TRUE(rig.answers.wait_for(1));
  rig.expect_a_hundred_to_take(500ms);
  EXPECT_TRUE(rig.submit("one"));

  limits.max_queue_time = 1s;
  Rig other(limits);
  other.teach(10ms);
  other.fake->delay = 1200ms;
  ASSERT_TRUE(other.submit("a7", 3));
  ASSERT_TRUE(other.answers.wait_for(2));
  other.expect_a_hundred_to_take(300ms);
}

TEST(Batcher, OneSlowPassDoesNotRefuseEveryoneForEver) {
  Rig rig(patient(1ms, 1, 10));
  rig.teach(1s);
  rig.fake->delay = 0ms;
  // Refused at first, whatever the clock says: what is known is one pass of a second.
  int refused = 0;
  EXPECT_TRUE(eventually([&] {
    if (rig.submit("ab", 1, {"a", Clock::now() + 900ms})) return true;
    ++refused;
    return false;
  }));
  EXPECT_GE(refused, 3);
}

// It shows whether the prediction is wrong, at the cost of nobody.
TEST(Batcher, SomeOfWhatIsHopelessIsTriedWhereNobodyElseWaits) {
  Rig rig(patient(1ms, 256, 10));
  rig.teach(300ms);
  const auto taken = [&] {
    int count = 0;
    for (int i = 0; i < 4; ++i) count += rig.submit("x", 1, {"a", Clock::now() + 100ms}).has_value();
    return count;
  };
  {
    const Others others(rig, 1, 1ms, false, 1);
    EXPECT_EQ(taken(), 0);
  }
  EXPECT_EQ(taken(), 1);
}

TEST(Batcher, APassOfMoreThanTheLongestWaitIsRefusedToWhoWouldWait) {
  auto limits = patient(1ms, 1, 10);
  limits.max_queue_time = 1ms;
  Rig rig(limits);
  rig.teach(100ms);
  // An idle server takes a request however long its pass is; who comes behind it would wait.
  rig.fake->hold();
  ASSERT_TRUE(rig.submit("ab"));
  ASSERT_TRUE(eventually([&] { return rig.fake->batches().size() == 2; }));
  const auto behind = rig.submit("cd");
  // The pass may look finished by now on a very slow machine, and then nothing is known against waiting.
  if (!behind) {
    EXPECT_EQ(behind.error().code(), ErrorCode::kResourceExhausted);
  }
  rig.fake->release();
}

TEST(Batcher, CountsWhatItDoes) {
  Rig rig(patient(1ms, 256, 10));
  rig.hold_with_one();
  ASSERT_TRUE(rig.submit("ab", 3));
  ASSERT_TRUE(rig.submit("cd", 2));
  rig.fake->release();
  ASSERT_TRUE(rig.answers.wait_for(3));
  MetricsPage counted;
  counted.begin("pirx_pass_queries", "", "histogram");
  counted.histogram("", rig.metrics.pass_queries);
  counted.begin("pirx_pass_seconds", "", "histogram");
  counted.histogram("", rig.metrics.pass_seconds);
  counted.begin("pirx_queue_seconds", "", "histogram");
  counted.histogram("{database=\"a\"}", rig.metrics.queue_seconds);
  const auto page = std::move(counted).take();
  for (const char* line :
       {"pirx_pass_queries_bucket{le=\"1\"} 1\n", "pirx_pass_queries_bucket{le=\"4\"} 1\n",
        "pirx_pass_queries_bucket{le=\"8\"} 2\n", "pirx_pass_queries_bucket{le=\"+Inf\"} 2\n",
        "pirx_pass_queries_sum 6\n", "pirx_pass_queries_count 2\n", "pirx_pass_seconds_count 2\n",
        "pirx_queue_seconds_bucket{database=\"a\",le=\"+Inf\"} 3\n",
        "pirx_queue_seconds_count{database=\"a\"} 3\n"}) {
    EXPECT_NE(page.find(line), std::string::npos) << line << page;
  }
}

TEST(PassCost, IsALineThroughWhatWasSeen) {
  PassCost cost;
  EXPECT_EQ(cost.predict(7), 0);
  for (const std::size_t q : {1u, 16u, 256u, 64u}) cost.learn(q, 0.1 + 0.002 * static_cast<double>(q));
  for (const std::size_t q : {1u, 100u, 1000u}) {
    EXPECT_NEAR(cost.predict(q), 0.1 + 0.002 * static_cast<double>(q), 1e-9);
  }
}

TEST(PassCost, RemembersWhatAQueryAdds) {
  PassCost cost;
  for (const std::size_t q : {1u, 256u}) cost.learn(q, 0.1 + 0.002 * static_cast<double>(q));
  for (int i = 0; i < 1000; ++i) cost.learn(1, 0.102);  // a quiet night
  EXPECT_NEAR(cost.predict(256), 0.612, 0.01);
  for (int i = 0; i < 100; ++i) cost.learn(1, 0.051);  // a machine that is twice as fast
  EXPECT_NEAR(cost.predict(256), 0.306, 0.01);
}

// On a busy machine, passes of nearly one size take any time; then what a query adds looked like what it
// takes alone, and passes stayed small.
TEST(PassCost, TimesOfEqualPassesDoNotSayWhatAQueryAdds) {
  PassCost cost;
  for (const std::size_t q : {1u, 40u, 1u, 40u}) cost.learn(q, 0.1 + 0.01 * static_cast<double>(q));
  for (int i = 0; i < 100; ++i) cost.learn(i % 2 ? 8 : 9, i % 2 ? 0.2 : 0.6);
  EXPECT_NEAR(cost.predict(9) / cost.predict(1), 0.19 / 0.11, 0.4);
}

// Differences between passes of one and of two queries are mostly noise. Where they were believed, one client
// with such requests made passes over a slow database small, or too large.
TEST(PassCost, SmallPassesHardlyChangeWhatAQueryAdds) {
  PassCost cost;
  for (const std::size_t q : {1u, 3u, 12u, 48u}) cost.learn(q, 2 + 0.02 * static_cast<double>(q));
  std::mt19937_64 coins(1);
  for (std::size_t i = 0; i < 400; ++i) {
    cost.learn(1 + i % 2, 1.8 + 0.001 * static_cast<double>(coins() % 400));
    EXPECT_LT(cost.predict(33), 4.5) << "of 2.66";
  }
}

// Or one slow pass at the start, and passes that are cut for it, would leave a crowd without answers for
// ever.
TEST(PassCost, WhatIsNeverTriedIsBelievedLessAndLess) {
  PassCost cost;
  EXPECT_EQ(cost.predict_hopefully(3), 0);
  cost.learn(1, 2.2);
  cost.learn(3, 3.4);  // was slow
  for (int i = 0; i < 20; ++i) cost.learn(3, 2.26);
  EXPECT_GT(cost.predict_hopefully(6), 2.6);
  for (int i = 0; i < 180; ++i) cost.learn(3, 2.26);
  EXPECT_LT(cost.predict_hopefully(6), 2.4);
  EXPECT_GT(cost.predict(6), 2.6) << "prices do not change";
  EXPECT_GT(cost.predict_hopefully(12), cost.predict_hopefully(6) + 0.5) << "for up to twice as many";
  cost.note_stopped(6, 1);
  EXPECT_EQ(cost.predict_hopefully(6), cost.predict(6));
}

TEST(PassCost, StoppedPassesMakeOthersSmallerUntilSomeAreNot) {
  PassCost cost;
  for (const std::size_t q : {1u, 64u}) cost.learn(q, 0.1 + 0.01 * static_cast<double>(q));
  EXPECT_GT(cost.room(), 65536u);
  cost.note_stopped(64, 0.5);
  EXPECT_GT(cost.room(), 65536u) << "less than was predicted says nothing";
  cost.note_stopped(64, 1);
  EXPECT_EQ(cost.room(), 32u);
  EXPECT_GT(cost.room_of_one(), 65536u) << "the machine may have stood still";
  cost.note_stopped(64, 1);
  EXPECT_EQ(cost.room_of_one(), 32u);
  EXPECT_NEAR(cost.predict(64), 0.74, 1e-9);
  cost.learn(32, 0.42);
  EXPECT_EQ(cost.room(), 48u);
  cost.learn(8, 0.18);
  EXPECT_EQ(cost.room(), 50u);
}

TEST(PassCost, AStoppedPassDoesNotSayWhatOthersTake) {
  PassCost cost;
  cost.note_stopped(256, 4);
  EXPECT_EQ(cost.predict(3), 0);
  EXPECT_EQ(cost.room(), 128u);
  EXPECT_EQ(cost.room_of_one(), 128u);
  for (const std::size_t q : {10u, 8u}) cost.learn(q, 1 + 0.7 * static_cast<double>(q));
  EXPECT_LT(cost.predict(3), 5) << "of 3.1";
}

/// After a slow time the passes before it, which were slow, say nothing any more.
TEST(PassCost, AFasterMachineIsSeenAtOnce) {
  PassCost cost;
  for (int i = 0; i < 50; ++i) cost.learn(1, 11);
  cost.learn(1, 1.1);
  EXPECT_LT(cost.predict(1), 1.2);
  for (int i = 0; i < 5; ++i) cost.learn(1, 0.5);
  EXPECT_GT(cost.predict(1), 0.55) << "cheap queries take half the time";
  cost.learn(50, 0.8);
  EXPECT_GT(cost.predict(50), cost.predict(1) + 0.05) << "a line explains that";
}

TEST(PassCost, OnePassInWhichTheMachineStoodStillSaysNothing) {
  PassCost cost;
  for (int i = 0; i < 5; ++i) cost.learn(2, 0.06);
  cost.learn(2, 120);
  EXPECT_NEAR(cost.predict(2), 0.06, 1e-9);
  cost.learn(2, 0.06);
  cost.learn(1, 60);
  EXPECT_NEAR(cost.predict(2), 0.06, 1e-9);
  cost.learn(2, 60);  // two in a row: so it is now
  EXPECT_GT(cost.predict(2), 5);
}

TEST(PassCost, IsCarefulAboutWhatItHasNotSeen) {
  PassCost cost;
  for (int i = 0; i < 5; ++i) cost.learn(10, 0.5);
  EXPECT_NEAR(cost.predict(1), 0.05, 1e-9) << "hopefully";
  EXPECT_NEAR(cost.predict(90), 1.0, 1e-9);
  cost.learn(1, 5);  // a hiccup: more queries never look cheaper, and nothing is below zero
  for (std::size_t q = 1; q < 100; ++q) {
    EXPECT_GT(cost.predict(q), 0);
    EXPECT_GE(cost.predict(q + 1), cost.predict(q));
  }
  for (int i = 0; i < 200; ++i) cost.learn(static_cast<std::size_t>(1 + i % 3), 0.01);
  EXPECT_NEAR(cost.predict(2), 0.01, 1e-3);  // forgotten
}

TEST(ComputeThread, WhatVirtualTimeHasPaidForIsNotGivenBack) {
  ComputeThread::Clock::time_point time{};
  ComputeThread compute([&] { return time; });
  const auto client = compute.client("one");
  const auto due = [&] { return compute.next_tags("one").due; };
  const auto first = compute.enter(*client, 1), second = compute.enter(*client, 1);
  EXPECT_DOUBLE_EQ(second.due, 1);
  time += 3s;  // of virtual time, half as many
  compute.enter(*client, 1);
  EXPECT_DOUBLE_EQ(due(), 3);
  compute.settle(*client, first, 1, 0);
  EXPECT_DOUBLE_EQ(due(), 3);
  compute.settle(*client, second, 1, 0);  // half of it is paid for
  EXPECT_DOUBLE_EQ(due(), 2.5);
}

TEST(ComputeThread, ARequestIsSoonerByWhatIsGivenBackBeforeIt) {
  ComputeThread::Clock::time_point time{};
  ComputeThread compute([&] { return time; });
  const auto client = compute.client("one");
  // The first makes the second one's time late, and is gone.
  const auto first = compute.enter(*client, 8), second = compute.enter(*client, 1);
  compute.settle(*client, first, 8, 0);
  EXPECT_DOUBLE_EQ(compute.next_tags("one").due, 1);
  time += 4s;
  const auto third = compute.enter(*client, 1);  // from 2 to 3, and computed
  compute.settle(*client, third, 1, 1);
  compute.settle(*client, second, 1, 0);  // that time was over when the third came
  EXPECT_DOUBLE_EQ(compute.next_tags("one").due, 3);
}

TEST(ComputeThread, WhoHasHadMoreThanItsShareHasOneThoughItDoesNotWait) {
  ComputeThread::Clock::time_point time{};
  ComputeThread compute([&] { return time; });
  {
    const auto had = compute.client("had");
    compute.settle(*had, compute.enter(*had, 9), 9, 9);
  }
  const auto waits = compute.client("waits");
  time += 1s;
  std::optional<ComputeThread::Clock::time_point> next;
  compute.step(next);
  time += 4s;
  EXPECT_DOUBLE_EQ(compute.virtual_time(), 1.5);
}

TEST(ComputeThread, QueuesWithEarlyRequestsOnlyCountAsOne) {
  Answers answers;
  Metrics metrics;
  ComputeThread compute([] { return ComputeThread::Clock::time_point{}; });
  std::vector<std::unique_ptr<Batcher>> batchers;
  for (int i = 0; i < 4; ++i) {
    auto& batcher = *batchers.emplace_back(
        std::make_unique<Batcher>(patient(1ms, 256, 100), LogSink(), metrics, compute));
    if (i == 3) break;
    // The first one is due. For the others their client has paid nothing yet.
    ASSERT_TRUE(batcher.submit(std::make_shared<FakeServer>(), pages_of("x"), 5, {},
                               answers.keep(std::to_string(i)), {"a"}));
  }
  const auto seat = compute.add(*batchers.back());
  EXPECT_EQ(compute.others_that_compute(*seat).wait, 2u);
  compute.set_queued(*seat, {.seconds = 1, .least_early = 1});
  EXPECT_EQ(compute.others_that_compute(*seat).wait, 3u);
  EXPECT_EQ(compute.others_that_compute(*seat, true).wait, 2u) << "a due request goes before early ones";
  compute.set_queued(*seat, {.seconds = 1, .least_early = -1});
  EXPECT_EQ(compute.others_that_compute(*seat).wait, 2u) << "its turn is before theirs";
  compute.remove(seat);
}

TEST(Batcher, StoppingRefusesWhatIsQueued) {
  Answers answers;
  auto fake = std::make_shared<FakeServer>();
  fake->hold();
  Metrics metrics;
  ComputeThread compute;
  auto batcher = std::make_unique<Batcher>(patient(1ms, 1, 100), LogSink(), metrics, compute);
  for (const char* text : {"first", "second", "third"}) {
    ASSERT_TRUE(batcher->submit(fake, pages_of(text), 1, {}, answers.keep(text)));
  }
  ASSERT_TRUE(eventually([&] { return fake->batches().size() == 1; }));
  std::thread release([&] {
    std::this_thread::sleep_for(500ms);  // time for the batcher to learn that it ends
    fake->release();
  });
  batcher.reset();
  release.join();
  EXPECT_EQ(answers.of("first"), "tsrif");
  EXPECT_EQ(answers.of("second"), "Unavailable");
  EXPECT_EQ(answers.of("third"), "Unavailable");
}

TEST(Batcher, ManyThreadsEachGetTheirOwnReply) {
  Rig rig(patient(200us, 16, 10'000));
  rig.teach(0ms);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&rig, t] {
      auto random = pirx::testing::seeded_engine(static_cast<std::uint64_t>(t));
      for (int i = 0; i < 200; ++i) {
        const auto ticket =
            rig.submit(std::to_string(1000 + t) + "-" + std::to_string(1000 + i), 1 + random() % 20);
        ASSERT_TRUE(ticket);
        if (random() % 8 == 0 && rig.batcher.cancel(*ticket)) rig.answers.keep("gone")(Bytes(), {});
      }
    });
  }
  for (auto& thread : threads) thread.join();
  ASSERT_TRUE(rig.answers.wait_for(801));
  for (int t = 0; t < 4; ++t) {
    for (int i = 0; i < 200; ++i) {
      const auto text = std::to_string(1000 + t) + "-" + std::to_string(1000 + i);
      const auto answer = rig.answers.of(text);
      if (answer != "none") {
        EXPECT_EQ(answer, std::string(text.rbegin(), text.rend()));
      }
    }
  }
  rig.answers.drop_leases();
  EXPECT_EQ(rig.budget.used(), 0u);
}

TEST(Batcher, WhatWaitsAgainAfterStoppedPassesIsAnsweredOnce) {
  auto limits = patient(2ms, 64, 10'000);
  limits.max_queue_time = 12ms;
  Rig rig(limits);
  rig.fake->delay_of_each = 1ms;
  std::atomic<std::size_t> taken{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 100; ++i) {
        const auto ticket = rig.submit(std::to_string(1000 + t) + "-" + std::to_string(1000 + i), 1,
                                       {std::string(1, static_cast<char>('a' + t))});
        if (!ticket) std::this_thread::sleep_for(1ms);
        if (ticket && (i % 8 != 0 || !rig.batcher.cancel(*ticket))) ++taken;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  rig.settle(taken);
  EXPECT_EQ(rig.answers.count(), taken);
  for (int t = 0; t < 4; ++t) {
    for (int i = 0; i < 100; ++i) {
      const auto text = std::to_string(1000 + t) + "-" + std::to_string(1000 + i);
      const auto answer = rig.answers.of(text);
      if (answer != "none" && i % 8 != 0) {  // those were cancelled, perhaps in a pass
        EXPECT_EQ(answer, std::string(text.rbegin(), text.rend()));
      }
    }
  }
  EXPECT_EQ(rig.batcher.queued(), 0u);
  rig.answers.drop_leases();
  EXPECT_EQ(rig.budget.used(), 0u);
}

}  // namespace
}  // namespace pirx::http
