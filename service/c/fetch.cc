// SPDX-License-Identifier: Apache-2.0
// Whole look-ups of the C interface, over HTTP.
#include "pirx/client/fetch.h"

#include <atomic>
#include <mutex>
#include <optional>
#include <thread>

#include "objects.h"

namespace pirx::c {

class ClientObject::Http {
 public:
  std::timed_mutex mutex;                      ///< of `fetcher`
  std::atomic<std::thread::id> fetching = {};  ///< the thread that holds it
  std::optional<client::Fetcher> fetcher;      ///< made at the first look-up
};

std::shared_ptr<ClientObject::Http> ClientObject::make_http() { return std::make_shared<Http>(); }

namespace {

/// Notes which thread is in a look-up.
class Fetching {
 public:
  explicit Fetching(std::atomic<std::thread::id>& mark) : mark_(mark) { mark_ = std::this_thread::get_id(); }
  Fetching(const Fetching&) = delete;
  Fetching& operator=(const Fetching&) = delete;
  ~Fetching() { mark_ = std::thread::id(); }

 private:
  std::atomic<std::thread::id>& mark_;
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
  if (http.fetching.load() == std::this_thread::get_id()) {
    return invalid("a function that a look-up of this client calls has begun another: use another client");
  }
  std::unique_lock lock(http.mutex, std::defer_lock);
  while (!lock.try_lock_for(std::chrono::milliseconds(50))) {
    if (stop && stop()) return fail(ErrorCode::kUnavailable, "the look-up was ended by its caller");
  }
  const Fetching mark(http.fetching);
  if (!http.fetcher) {
    PIRX_ASSIGN(http.fetcher, client::Fetcher::create(object->deployment, object->options));
  }
  PIRX_ASSIGN(auto report, look(*http.fetcher, fetch_options));
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
                 [&](auto& fetcher, const auto& chosen) { return fetcher.fetch(wishes, chosen); });
  });
}

pirx_status pirx_client_fetch_keys(const pirx_client* client, const pirx_bytes* keys, size_t count,
                                   const pirx_options* options, pirx_answer** answer) {
  return guarded([&]() -> Result<void> {
    PIRX_ASSIGN(const auto wishes, Keys::create(keys, count));
    return fetch(client, options, answer,
                 [&](auto& fetcher, const auto& chosen) { return fetcher.fetch_keys(wishes.get(), chosen); });
  });
}
