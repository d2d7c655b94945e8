// SPDX-License-Identifier: Apache-2.0
// Whole look-ups of the C interface, over HTTP.
#include "pirx/client/fetch.h"

#include <chrono>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "objects.h"

namespace pirx::c {

/// A fetcher for each look-up that has messages under way. A single server knows a client by its keys, so
/// there is one, for which look-ups wait.
class ClientObject::Http {
 public:
  std::optional<client::Fetcher> take() {
    const std::lock_guard lock(mutex_);
    if (idle_.empty()) return std::nullopt;
    auto fetcher = std::move(idle_.back());
    idle_.pop_back();
    return fetcher;
  }
  void put_back(client::Fetcher fetcher) {
    const std::lock_guard lock(mutex_);
    if (idle_.size() < kMostIdle) idle_.push_back(std::move(fetcher));
  }
  std::timed_mutex turn;  ///< with a single server

 private:
  static constexpr std::size_t kMostIdle = 8;
  std::mutex mutex_;
  std::vector<client::Fetcher> idle_;
};

std::shared_ptr<ClientObject::Http> ClientObject::make_http() { return std::make_shared<Http>(); }

namespace {

/// Notes that this thread is in a look-up of a client, perhaps inside of those of others.
class Fetching {
 public:
  explicit Fetching(const void* client) : client_(client), outer_(std::exchange(inner, this)) {}
  Fetching(const Fetching&) = delete;
  Fetching& operator=(const Fetching&) = delete;
  ~Fetching() { inner = outer_; }
  static bool inside(const void* client) {
    const auto* at = inner;
    while (at != nullptr && at->client_ != client) at = at->outer_;
    return at != nullptr;
  }

 private:
  static inline thread_local const Fetching* inner = nullptr;
  const void* const client_;
  const Fetching* const outer_;
};

template <class Look>
Result<void> fetch(const pirx_client* handle, const pirx_options* options, pirx_answer** answer,
                   const Look& look) {
  PIRX_ASSIGN(const auto object, object_of<const ClientObject>(handle));
  PIRX_TRY(check_not_null(answer));
  PIRX_ASSIGN(auto look_up, read_options(options));
  PIRX_TRY(object->check_process());
  const Stop stop = look_up.retrieve.stop;
  const client::FetchOptions fetch_options{.deadline = look_up.deadline,
                                           .liars = look_up.retrieve.liars,
                                           .wait_for_all = look_up.retrieve.wait_for_all,
                                           .rounds = look_up.retrieve.rounds,
                                           .believe = std::move(look_up.retrieve.believe),
                                           .stop = stop,
                                           .limits = look_up.limits};
  auto& http = *object->http;
  if (Fetching::inside(&http)) {
    return invalid("a function that a look-up of this client calls has begun another: use another client");
  }
  const Fetching mark(&http);
  const auto& plan = *object->deployment.plan;
  std::unique_lock turn(http.turn, std::defer_lock);
  const auto end = std::chrono::steady_clock::now() + client::deadline_of(plan, fetch_options);
  while (!plan.protocol().several && !turn.try_lock_for(std::chrono::milliseconds(50))) {
    if (stop && stop()) return fail(ErrorCode::kUnavailable, "the look-up was ended by its caller");
    if (std::chrono::steady_clock::now() >= end) {
      return fail(ErrorCode::kUnavailable,
                  "messages of other look-ups of this client took all of the deadline: nothing was sent");
    }
  }
  auto fetcher = http.take();
  if (!fetcher) {
    PIRX_ASSIGN(fetcher, client::Fetcher::create(object->deployment, object->options));
  }
  auto asked = look(*fetcher, fetch_options);
  http.put_back(std::move(*fetcher));
  if (turn) turn.unlock();
  if (!asked) return tl::unexpected(std::move(asked).error());
  PIRX_ASSIGN(auto report, asked->finish());
  give(std::make_shared<AnswerObject>(std::move(report.answer)), answer);
  return {};
}

}  // namespace
}  // namespace pirx::c

using namespace pirx::c;
using pirx::Result;

int pirx_has_http(void) { return 1; }

pirx_status pirx_client_fetch_positions(const pirx_client* client, const uint64_t* positions, size_t count,
                                        const pirx_options* options, pirx_answer** answer) {
  return guarded([&]() -> Result<void> {
    PIRX_ASSIGN(const auto wishes, read_positions(positions, count));
    return fetch(client, options, answer,
                 [&](auto& fetcher, const auto& chosen) { return fetcher.ask(wishes, chosen); });
  });
}

pirx_status pirx_client_fetch_keys(const pirx_client* client, const pirx_bytes* keys, size_t count,
                                   const pirx_options* options, pirx_answer** answer) {
  return guarded([&]() -> Result<void> {
    PIRX_ASSIGN(const auto wishes, read_keys(keys, count));
    return fetch(client, options, answer, [&](auto& fetcher, const auto& chosen) {
      return fetcher.ask_keys(wishes.expose(), chosen);
    });
  });
}
